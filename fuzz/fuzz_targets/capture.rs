//! Reads arbitrary bytes as a capture of a machine, or as output of lspci.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("capture", bytes));
