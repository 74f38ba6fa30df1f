//! Reads a sweep file with axes and ranges, and the rows of a saved sweep.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("sweep", bytes));
