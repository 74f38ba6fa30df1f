//! A saved run that passes the check can be drawn in every view, and is unchanged after it is written and read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("result", bytes));
