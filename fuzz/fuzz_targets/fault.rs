//! The value of `--fault`: a valid fault, once written, is read as the same fault.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("fault", bytes));
