//! The CSV file with the time of each request of a replayed trace. The file is a trace itself, with latencies.

use std::fmt::Write;
use std::path::Path;

use lanemark_lab::results::OutputFile;
use lanemark_schema::workload::Operation;
use lanemark_sim::replay::ReplayedRequest;

use crate::output::failure::Failure;
use crate::output::messages::tell;
use crate::output::outlets::REQUESTS;

/// Maximum number of rows, which are in memory until the end of the replay.
const ROWS_MAX: u64 = 10_000_000;

/// The rows of a file, in the order in which the requests ended; no rows are kept without a file.
pub(crate) struct RequestRows {
    outlet: Option<OutputFile>,
    text: String,
    rows: u64,
}

impl RequestRows {
    /// Reserves the file.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let outlet = OutputFile::open_if_given(path, &REQUESTS)?;
        let text = format!("{}\n", REQUESTS.mark);
        Ok(Self { outlet, text, rows: 0 })
    }

    /// Adds a row. The latency of a failed request is empty.
    pub(crate) fn add(&mut self, request: &ReplayedRequest) {
        if self.outlet.is_none() {
            return;
        }
        self.rows += 1;
        if self.rows > ROWS_MAX {
            return;
        }
        let ReplayedRequest { at, access, latency } = request;
        let microseconds = |picoseconds: u64| picoseconds as f64 / 1e6;
        let latency = latency
            .map_or_else(String::new, |time| format!("{:.3}", microseconds(time.picoseconds())));
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.text,
            "{:.3},{},{},{},{latency}",
            microseconds(at.picoseconds()),
            name(access.operation),
            access.offset.get(),
            access.length.get(),
        );
    }

    /// Writes the file.
    pub(crate) fn write(&self) -> Result<(), Failure> {
        let Some(outlet) = &self.outlet else { return Ok(()) };
        outlet.write(&self.text)?;
        if self.rows > ROWS_MAX {
            tell!("note: the file contains the first {ROWS_MAX} of {} requests", self.rows);
        }
        tell!("wrote {}", outlet.path().display());
        Ok(())
    }
}

fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Flush => "flush",
        Operation::Trim => "trim",
    }
}
