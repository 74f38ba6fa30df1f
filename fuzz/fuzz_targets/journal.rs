//! A journal of written data, compared with a target of zeros.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("journal", bytes));
