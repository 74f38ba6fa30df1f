//! The bytes of a client, from its flags to its last request. The length of every reply is limited, and every accepted
//! command is within the export.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("nbd", bytes));
