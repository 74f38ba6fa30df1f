//! The files that an earlier server left next to its data: the journal and, after a zero byte, the map of the blocks
//! over an image. If the files are rejected, no file changes. If they are used, the data has the full length, and reads
//! return the data that was written.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("served_file", bytes));
