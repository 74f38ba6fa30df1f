//! A capture of a machine, or an lspci text, with arbitrary bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("capture", bytes));
