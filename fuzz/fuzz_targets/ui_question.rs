//! A question of a page is refused, or has a valid system and test. A saved page is a valid study file. A result file
//! is shown in numbers, or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("ui_question", bytes));
