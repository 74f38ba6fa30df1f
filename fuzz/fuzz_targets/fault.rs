//! The value of `--fault`: a valid fault, once written, is read as the same fault.
#![no_main]

use lanemark_schema::workload::Fault;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(fault) = text.parse::<Fault>() {
        assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault);
    }
});
