//! The content of a disk image is recognised without reading past its end, a container is rejected, and every other
//! image is served unchanged, followed by zeros.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("image", bytes));
