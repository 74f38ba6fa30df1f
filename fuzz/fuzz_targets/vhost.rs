//! Messages of a guest's machine. Every accepted message is bounded, and every request is within the device.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("vhost", bytes));
