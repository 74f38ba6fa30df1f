//! A priors file of each kind is read or rejected, and drives that are completed with it form systems that pass the
//! check of systems.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("priors", bytes));
