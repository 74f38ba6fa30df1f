//! An fio job file is read as valid tests or rejected.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("fio_job", bytes));
