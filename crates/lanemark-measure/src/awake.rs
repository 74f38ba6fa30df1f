//! Keeps processors out of their idle states during a run.
//!
//! A waiting processor becomes idle, and the next interrupt must wake it. On a virtual machine, an idle processor is
//! returned to the host, and waking it takes tens of microseconds, as long as a read from a fast drive. The kernel's
//! latency limit for all processors (`/dev/cpu_dma_latency`, kernel documentation, `pm_qos_interface.rst`) applies
//! until the file is closed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::error::MeasureError;

const PROMISE: &str = "/dev/cpu_dma_latency";

/// Keeps all processors awake until this value is dropped.
#[derive(Debug)]
pub struct AwakeProcessors {
    _promise: File,
}

impl AwakeProcessors {
    /// Sets the kernel's latency limit to zero.
    ///
    /// # Errors
    /// Returns [`MeasureError::NoIdle`] if the kernel does not support this limit, or does not permit this user to set
    /// it.
    pub fn hold() -> Result<Self, MeasureError> {
        let promise = ask(Path::new(PROMISE))
            .map_err(|error| MeasureError::NoIdle { path: PROMISE, reason: error.to_string() })?;
        Ok(Self { _promise: promise })
    }
}

fn ask(promise: &Path) -> io::Result<File> {
    let mut promise = OpenOptions::new().write(true).open(promise)?;
    promise.write_all(&0_i32.to_ne_bytes())?;
    Ok(promise)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_zero_bytes_are_written_and_a_missing_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("promise");
        assert_eq!(ask(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, "").unwrap();
        ask(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [0; 4]);
    }
}
