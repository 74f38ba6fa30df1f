//! Iometer.
