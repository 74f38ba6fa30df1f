//! A served system: its checks, its start, its result, and its control socket.

pub mod control;
pub mod start;

use std::path::Path;
use std::sync::Arc;

use lanemark_lab::LabError;
use lanemark_schema::result::{LiveDelivery, RunResult, Sample, SimulatedTarget, Warning};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Fault, Test, Workload};
use lanemark_serve::data::SECTOR;
use lanemark_serve::reading::SystemReading;
use lanemark_serve::registry::Registration;
use lanemark_serve::session::Session;
use lanemark_study::System;

/// Rejects systems that consist of several block devices.
///
/// # Errors
/// Returns an error that states the number of devices.
pub fn one_target(system: &System, name: &str) -> Result<(), LabError> {
    match system.spec.targets().len() {
        1 => Ok(()),
        targets => Err(LabError::input(format!("{name}: expected one block device, found {targets}"))
            .hint("write stripe:… or mirror:… for one volume of several drives, or start one server per drive")),
    }
}

/// Returns the length of the data: the requested size; without a request, the size of the image; without an image, the
/// capacity.
///
/// # Errors
/// Returns an error if the drive is too small, or if the length is not a number of whole sectors.
pub fn size(
    requested: Option<Bytes>,
    over: Option<&Path>,
    system: &System,
) -> Result<u64, LabError> {
    let image = over.and_then(|over| std::fs::metadata(over).ok());
    let image = image.map(|there| Bytes(there.len().next_multiple_of(SECTOR)));
    let capacity = system.capacity();
    let size = requested.or(image).unwrap_or(capacity);
    let size_error = |why: String| Err(LabError::input(format!("--size {size}: {why}")));
    if size > capacity {
        return size_error(format!("the drive holds only {capacity}"));
    }
    if size == Bytes::ZERO || !size.get().is_multiple_of(SECTOR) {
        return size_error(format!("expected a multiple of {SECTOR} bytes, above 0"));
    }
    Ok(size.get())
}

/// Registers the server of `system`, so that measurements on its file and disk can find it; returns `None` if there is
/// no file, no disk or no model.
///
/// # Errors
/// Returns the kernel's error. In that case, measurements do not find the server.
pub fn register(
    system: &System,
    session: &Arc<Session>,
) -> Result<Option<Registration>, std::io::Error> {
    let paths: Vec<&Path> = [session.file(), session.disk()].into_iter().flatten().collect();
    if paths.is_empty() || session.reading().is_none() {
        return Ok(None);
    }
    let system = system.clone();
    let of_session = Arc::downgrade(session);
    let answer = move || match of_session.upgrade() {
        Some(session) => reading(&system, &session),
        None => "error: the server ends\n".to_owned(),
    };
    Registration::open(&paths, answer).map(Some)
}

/// Returns the figures of a session as a line of JSON.
fn reading(system: &System, session: &Session) -> String {
    let Some((counters, faults)) = session.reading() else {
        return "error: the system is served without latency\n".to_owned();
    };
    let SimulatedTarget { system, drive, .. } = system.target.clone();
    match serde_json::to_string(&SystemReading { system, drive, faults, counters }) {
        Ok(text) => text + "\n",
        Err(error) => format!("error: {error}\n"),
    }
}

/// Returns the result of a server's requests.
pub fn result(system: &System, test: Test, sample: Sample, faults: Vec<Fault>) -> RunResult {
    let served = test.name.clone();
    let workload = Workload { faults, ..Workload::of_test("served", "served to programs", test) };
    let late = sample.live.as_ref().and_then(|live| not_delivered(&served, live));
    let errors = sample.errors.clone();
    let mut result = system.result(&workload, Default::default(), [Some(vec![sample])]);
    result.warnings.extend(late);
    if !errors.is_empty() {
        result.warnings.push(Warning::Failed { test: served, errors });
    }
    result
}

/// Returns the warning about a run whose client did not receive its answers at the modelled times.
pub(crate) fn not_delivered(test: &str, live: &LiveDelivery) -> Option<Warning> {
    let lateness_at = |percentile| {
        let ns = live.lateness.percentile_ns(percentile).unwrap_or(0);
        Duration::from_nanoseconds(ns)
    };
    let warning = Warning::NotDelivered {
        test: test.to_owned(),
        lateness: (lateness_at(50.0), lateness_at(99.0)),
        verdict: live.verdict(),
    };
    (!live.holds()).then_some(warning)
}
