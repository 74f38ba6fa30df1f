//! A command for a control socket. A fault that is added or changed has a text that can be read back.

use lanemark_schema::workload::Fault;
use lanemark_serve::control::{ControlCommand, changed_fault};

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match ControlCommand::parse(text) {
        Ok(ControlCommand::AddFault(fault)) => {
            assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault);
        }
        Ok(ControlCommand::ChangeFault(_, keys)) => {
            let fault: Fault = "latency extra=2ms share=10% at=5s for=10s".parse().unwrap();
            if let Ok(changed) = changed_fault(&fault, &keys).parse::<Fault>() {
                assert_eq!(changed.to_string().parse::<Fault>().unwrap(), changed);
            }
        }
        Ok(_) => {}
        Err(message) => assert!(!message.is_empty()),
    }
}
