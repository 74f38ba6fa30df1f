//! Messages in the kernel's protocol to a served file. Every reply is well-formed and short, and no request changes the
//! length of the export.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("fuse", bytes));
