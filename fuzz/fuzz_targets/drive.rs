//! A drive file is read or refused, and each drive that fits a port makes a system that passes its check.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("drive", bytes));
