//! A drive file is read or rejected, and a drive that fits a port forms a system that passes the check of systems.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("drive", bytes));
