//! The files of an earlier server next to its data: the journal and, after a zero byte, the map of the blocks over an
//! image. A refusal changes no file; files that are used give data of the full length, which is read as it is written.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("served_file", bytes));
