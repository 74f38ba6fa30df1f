//! The server that backs a measured target: its readings around each sample, and its verdict in the result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lanemark_lab::LabError;
use lanemark_schema::result::{
    LiveDelivery, RunResult, Sample, ServedTarget, Target, TestResult, Warning,
};
use lanemark_serve::reading::SystemReading;
use lanemark_serve::registry;

use crate::server::not_delivered;

/// A measurement whose target is a served system.
pub struct ServedMeasurement {
    socket: PathBuf,
    /// The reading before the current sample.
    before: SystemReading,
    target: ServedTarget,
    /// The delivery during each sample. The key is the test, and each list is in the order of the samples.
    taken: BTreeMap<String, Vec<Option<LiveDelivery>>>,
}

impl ServedMeasurement {
    /// Finds the server that backs the system at `path`, or connects to the control socket `named` by the user; returns
    /// `None` if no server is known. A remark describes the server, or reports that it does not answer.
    ///
    /// # Errors
    /// Returns an error if the server at `named` does not answer.
    pub fn find(
        path: &Path,
        named: Option<&Path>,
        remarks: &mut Vec<String>,
    ) -> Result<Option<Self>, LabError> {
        if let Some(socket) = named {
            let reading = registry::read(socket).map_err(|error| {
                LabError::input(format!("--served {}: {error}", socket.display()))
                    .hint("use the socket from the server's option --control")
            })?;
            return Ok(Some(Self::new(socket.to_owned(), reading, remarks)));
        }
        let sockets = registry::servers_below(path).unwrap_or_default();
        let [socket] = sockets.as_slice() else {
            if sockets.len() > 1 {
                remarks.push(format!(
                    "{} uses {} servers of modelled drives; the result does not name them",
                    path.display(),
                    sockets.len()
                ));
            }
            return Ok(None);
        };
        match registry::read(socket) {
            Ok(reading) => Ok(Some(Self::new(socket.clone(), reading, remarks))),
            Err(error) => {
                remarks.push(format!(
                    "{} is a modelled drive whose server does not answer ({}: {error})",
                    path.display(),
                    socket.display()
                ));
                Ok(None)
            }
        }
    }

    fn new(socket: PathBuf, reading: SystemReading, remarks: &mut Vec<String>) -> Self {
        let target = ServedTarget {
            system: reading.system.clone(),
            drive: reading.drive.clone(),
            time_scale: reading.counters.time_scale,
            faults: reading.faults.clone(),
        };
        remarks.push(format!(
            "the target is a modelled drive: {}, served at a time scale of {}",
            target.system, target.time_scale
        ));
        Self { socket, before: reading, target, taken: BTreeMap::new() }
    }

    /// Records the beginning of a sample.
    pub fn begin(&mut self) {
        if let Ok(reading) = registry::read(&self.socket) {
            self.before = reading;
        }
    }

    /// Records the end of a sample: the delivery since the beginning is assigned to every new sample in `tests`.
    pub fn end(&mut self, tests: &[TestResult]) {
        let live = registry::read(&self.socket).ok().map(|reading| {
            self.target.faults.clone_from(&reading.faults);
            let live = reading.counters.since(&self.before.counters).live();
            self.before = reading;
            live
        });
        for test in tests {
            let taken = self.taken.entry(test.test.name.clone()).or_default();
            taken.resize(test.samples.len().max(taken.len()), live.clone());
        }
    }

    /// Adds the server and its verdicts to the result.
    pub fn complete(&self, result: &mut RunResult) {
        let served = Some(self.target.clone());
        match &mut result.target {
            Target::Measured(target) => target.served = served,
            Target::Database(target) => target.served = served,
            Target::Simulated(_) => {}
        }
        // The model determines the latency of a read, regardless of whether the data was ever written.
        result.warnings.retain(|warning| !matches!(warning, Warning::Holes { .. }));
        for test in &mut result.tests {
            let taken = self.taken.get(&test.test.name).into_iter().flatten();
            for (sample, live) in test.samples.iter_mut().zip(taken) {
                sample.live.clone_from(live);
            }
            let late = test.samples.iter().filter(|sample| !sample.is_served_in_time());
            let late = late.filter_map(|sample: &Sample| sample.live.as_ref()).next();
            let warning = late.and_then(|live| not_delivered(&test.test.name, live));
            result.warnings.extend(warning);
        }
    }
}
