//! Numbers the devices or files of a trace.

use crate::field::{FieldError, shown_text};

/// Maximum number of devices in a trace.
const DEVICES_MAX: usize = 4096;

/// Numbers devices by their first appearance, or only the chosen devices, in the order in which they were chosen.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceNumbers {
    names: Vec<Vec<u8>>,
    chosen: bool,
    last: usize,
    /// Some devices that were not chosen, for error messages.
    others: Vec<Vec<u8>>,
}

/// Maximum number of devices in that list.
const OTHERS_MAX: usize = 8;

impl DeviceNumbers {
    /// Creates the numbering; an empty `chosen` means all devices.
    pub(crate) fn new(chosen: &[String]) -> Self {
        let names = chosen.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self { names, chosen: !chosen.is_empty(), last: 0, others: Vec::new() }
    }

    /// Returns the number of the device `name`; `None` if it was not chosen.
    pub(crate) fn number(&mut self, name: &[u8]) -> Result<Option<u32>, FieldError> {
        if self.names.get(self.last).is_some_and(|last| last == name) {
            return Ok(Some(self.last as u32));
        }
        if let Some(found) = self.names.iter().position(|known| known == name) {
            self.last = found;
            return Ok(Some(found as u32));
        }
        if self.chosen {
            if self.others.len() < OTHERS_MAX && !self.others.iter().any(|known| known == name) {
                self.others.push(name.to_vec());
            }
            return Ok(None);
        }
        if self.names.len() == DEVICES_MAX {
            let message = format!("`{}` is the {}th device", shown_text(name), DEVICES_MAX + 1);
            return Err(FieldError::line(message).hint("choose some with --device"));
        }
        self.last = self.names.len();
        self.names.push(name.to_vec());
        Ok(Some(self.last as u32))
    }

    /// Returns the names of the devices in the order of their numbers.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.iter().map(|name| shown_text(name)).collect()
    }

    /// Returns some devices in the trace that were not chosen.
    pub(crate) fn others(&self) -> Vec<String> {
        self.others.iter().map(|name| shown_text(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_numbered_as_they_come_or_as_they_were_chosen() {
        let mut all = DeviceNumbers::new(&[]);
        let numbers = ["b", "a", "b", "c"].map(|name| all.number(name.as_bytes()).unwrap());
        assert_eq!(numbers, [Some(0), Some(1), Some(0), Some(2)]);
        let mut some = DeviceNumbers::new(&["a".to_owned()]);
        let numbers = ["b", "a", "b"].map(|name| some.number(name.as_bytes()).unwrap());
        assert_eq!(numbers, [None, Some(0), None]);
        assert_eq!(some.others(), ["b"]);
    }
}
