//! Reads arbitrary bytes as a recorded trace, compressed or not.

use std::io::BufReader;

use lanemark_trace::{Options, Reader, TraceInput};

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = TraceInput::new(bytes) else { return };
    let Ok(reader) = Reader::new("trace", BufReader::new(text), &Options::default()) else {
        return;
    };
    for request in reader {
        if request.is_err() {
            return;
        }
    }
}
