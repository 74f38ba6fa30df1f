//! A reading from the server of a measured drive, and the list of mounts.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("served", bytes));
