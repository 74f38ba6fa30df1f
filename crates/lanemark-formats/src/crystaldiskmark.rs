//! CDM.
