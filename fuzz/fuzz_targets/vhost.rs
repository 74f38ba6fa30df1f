//! Messages from a virtual machine. The size of every accepted message is limited, and every accepted request is within
//! the device.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanemark_fuzz::run("vhost", bytes));
