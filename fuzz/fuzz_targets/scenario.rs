//! The faults of `serve --scenario`: each accepted fault can be written as on a command line, and the system that a
//! server builds with the faults is valid or rejected.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("scenario", bytes));
