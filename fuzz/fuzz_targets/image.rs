//! A disk image: its content is recognised within its bounds, a container is refused, and every other image is served
//! as it is, followed by zeros.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("image", bytes));
