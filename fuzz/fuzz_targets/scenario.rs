//! The faults of `serve --scenario`: each fault that is read is written as on a command line, and the system that a
//! server builds with them is valid or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("scenario", bytes));
