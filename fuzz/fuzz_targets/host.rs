//! A host file is read or refused, and a valid host on a platform makes a system that passes its check.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("host", bytes));
