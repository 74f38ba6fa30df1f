//! The value of `--fault`: a valid fault is the same after it is written and read again.

use lanemark_schema::workload::Fault;

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(fault) = text.parse::<Fault>() {
        assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault);
    }
}
