//! A modelled system as a block device with real data, the model's timing, and its faults.
//!
//! | file | what it does |
//! |---|---|
//! | [`clock`] | ties simulated time to the wall clock |
//! | [`engine`] | owns the simulated system, and hands completions out at their instants |
//! | [`delivered`] | counts how late they were |
//!
//! Nothing here prints, reads arguments or catches signals.

pub mod clock;
pub mod delivered;
pub mod engine;
