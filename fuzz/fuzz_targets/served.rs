//! The reading of a server of a measured drive, the list of mounts, and the head of a query over HTTP: figures follow
//! from every reading that is read, and every query has a short answer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("served", bytes));
