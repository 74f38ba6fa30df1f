//! Results from other programs, and lists of drives: every accepted result passes the check of results.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("foreign", bytes));
