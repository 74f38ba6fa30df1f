//! A command for a control socket. A fault that is added or changed has a text that can be read back.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("control", bytes));
