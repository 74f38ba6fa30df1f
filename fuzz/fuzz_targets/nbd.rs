//! A client's bytes, from its flags to its last request. Every reply is bounded, and every accepted command is within
//! the export.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("nbd", bytes));
