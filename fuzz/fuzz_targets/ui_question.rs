//! A request from a page is rejected, or contains a valid system and test. A saved page is a valid study file. A result
//! file is shown as numbers, or rejected.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("ui_question", bytes));
