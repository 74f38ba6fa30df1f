//! A recorded trace, whatever its first line makes of it.
#![no_main]

use lanemark_trace::{Options, Reader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(reader) = Reader::new("trace", bytes, &Options::default()) else { return };
    for request in reader {
        if request.is_err() {
            return;
        }
    }
});
