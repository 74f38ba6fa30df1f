//! Writes fio's iolog, so that fio can replay simulated or converted requests. The module `iolog` describes the format.

use std::io::{self, Write};

use lanemark_schema::workload::{Operation, TraceArrival};

/// A version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IologVersion {
    /// Version 2, without times, which fio 1.17 and later can read.
    Two,
    /// Version 3, with a timestamp in every line, which fio 3.31 and later can read.
    Three,
}

/// Writes an iolog. Times are truncated to whole microseconds, and a request without a time has the time of the
/// previous request.
pub struct IologWriter<W> {
    output: W,
    version: IologVersion,
    files: Vec<String>,
    last_us: u64,
}

impl<W: Write> IologWriter<W> {
    /// Starts an iolog of requests to `files`, one file per device.
    ///
    /// # Errors
    /// Returns an error if the name of a file is empty or contains white space, which the format does not allow, or if
    /// the output fails.
    pub fn new(mut output: W, version: IologVersion, files: Vec<String>) -> io::Result<Self> {
        let bad = |name: &&String| name.is_empty() || name.contains(char::is_whitespace);
        if let Some(name) = files.iter().find(bad) {
            let message = format!("`{name}`: a name in an iolog must be one word");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let stamp = match version {
            IologVersion::Two => {
                writeln!(output, "fio version 2 iolog")?;
                ""
            }
            IologVersion::Three => {
                writeln!(output, "fio version 3 iolog")?;
                "0 "
            }
        };
        for action in ["add", "open"] {
            for name in &files {
                writeln!(output, "{stamp}{name} {action}")?;
            }
        }
        Ok(Self { output, version, files, last_us: 0 })
    }

    /// Writes one request.
    ///
    /// # Errors
    /// Returns an error if there is no file for the device, or if the output fails.
    pub fn write(&mut self, arrival: &TraceArrival) -> io::Result<()> {
        let Some(file) = self.files.get(arrival.device as usize) else {
            let message = format!("there is no file for device {}", arrival.device);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        if let Some(at) = arrival.at {
            self.last_us = at.picoseconds() / 1_000_000;
        }
        let action = match arrival.access.operation {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Flush => "sync",
            Operation::Trim => "trim",
        };
        if self.version == IologVersion::Three {
            write!(self.output, "{} ", self.last_us)?;
        }
        let offset = arrival.access.offset.get();
        let length = arrival.access.length.get();
        writeln!(self.output, "{file} {action} {offset} {length}")
    }

    /// Ends the iolog.
    ///
    /// # Errors
    /// Returns the output's I/O error.
    pub fn finish(mut self) -> io::Result<W> {
        for name in &self.files {
            match self.version {
                IologVersion::Two => writeln!(self.output, "{name} close")?,
                IologVersion::Three => writeln!(self.output, "{} {name} close", self.last_us)?,
            }
        }
        self.output.flush()?;
        Ok(self.output)
    }
}
