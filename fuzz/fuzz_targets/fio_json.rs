//! Output of fio with `--output-format=json`: every accepted result passes the check of results.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("fio_json", bytes));
