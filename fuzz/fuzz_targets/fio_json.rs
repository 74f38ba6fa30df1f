//! Output of fio with `--output-format=json`: a result that is read passes the check of results.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("fio_json", bytes));
