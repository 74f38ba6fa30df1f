//! Reads a journal of written data, and compares it with a target of zeros.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("journal", bytes));
