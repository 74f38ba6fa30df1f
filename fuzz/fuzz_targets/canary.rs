//! A reader that breaks its promise. A fuzzer that does not report it would report nothing.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("canary", bytes));
