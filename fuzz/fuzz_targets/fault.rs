//! The value of `--fault`: a valid fault is the same after it is written and read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("fault", bytes));
