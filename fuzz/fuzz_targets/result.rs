//! A saved run that passes the check is drawn in every view, and is unchanged after being written and read.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("result", bytes));
