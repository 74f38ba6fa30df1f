//! Reads arbitrary bytes as a recorded trace, compressed or not.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("trace", bytes));
