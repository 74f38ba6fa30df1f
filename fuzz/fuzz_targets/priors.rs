//! A priors file of each kind is read or refused, and drives completed by it make systems that pass their check.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("priors", bytes));
