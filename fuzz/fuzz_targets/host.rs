//! A host file is read or rejected, and a valid host on a platform forms a system that passes the check of systems.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("host", bytes));
