//! A reading from the server of a measured drive, the list of mounts, and the head of an HTTP query. Figures can be
//! computed from every accepted reading, and the answer to every query is short.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("served", bytes));
