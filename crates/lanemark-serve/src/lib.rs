//! A modelled system as a block device with real data, the model's timing, and its faults.
//!
//! | file | what it does |
//! |---|---|
//! | [`clock`] | ties simulated time to the wall clock |
//! | [`engine`] | owns the simulated system, and hands completions out at their instants |
//! | [`data`] | holds the data: in memory, a sparse file, or over an image |
//! | [`delivered`] | counts how late they were |
//! | [`nbd`] | the protocol, as pure functions of bytes |
//!
//! Nothing here prints, reads arguments or catches signals.

pub mod clock;
pub mod data;
pub mod delivered;
pub mod engine;
pub mod nbd;
