//! A study file is read or rejected. Its systems pass the check of systems.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("study", bytes));
