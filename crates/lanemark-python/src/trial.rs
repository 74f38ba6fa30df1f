//! Trials of a program on served systems.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lanemark_report::trial_answer;
use lanemark_schema::result::RunResult;
use lanemark_trial::{TrialEvent, TrialOutcome, TrialPlan};
use pyo3::prelude::*;

use crate::failure::{Failure, input};
use crate::library::Library;
use crate::run::{Run, provenance};
use crate::watch::{Progress, watched};
use crate::workload::quantity;

/// The parameters of a trial, as the package's own function names and explains them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TrialOptions {
    fs: String,
    size: Option<String>,
    source: Option<PathBuf>,
    turns: u32,
    time_scale: Option<f64>,
    cuts: u32,
    check: Option<String>,
    set: Vec<String>,
    faults: Vec<String>,
    seed: u64,
    library: Option<PathBuf>,
}

impl TrialOptions {
    fn plan(self, systems: Vec<String>, command: Vec<OsString>) -> Result<TrialPlan, Failure> {
        Ok(TrialPlan {
            systems,
            command,
            file_system: self.fs.parse().map_err(|known: String| {
                input(format!("fs: `{}` is not a file system: expected {known}", self.fs))
            })?,
            mount_options: String::new(),
            from: self.source,
            size: quantity("size", self.size.as_deref())?,
            turns: self.turns,
            time_scale: self.time_scale,
            check: self.check,
            cuts: self.cuts,
            seed: self.seed,
            set: self.set,
            faults: self.faults,
            folder: None,
            library: self.library,
            // The other children of the interpreter are not the trial's.
            owns_process: false,
        })
    }
}

/// Runs a program on several systems. Returns the answer, and the result of each system.
#[pyfunction]
#[pyo3(signature = (systems, command, options, library, called, on_progress=None))]
pub(crate) fn trial(
    py: Python<'_>,
    systems: Vec<String>,
    command: Vec<OsString>,
    options: TrialOptions,
    library: &Bound<'_, Library>,
    called: Vec<String>,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<Run>)> {
    let opened_library = library.get().own();
    let plan = options.plan(systems, command)?;
    let pieces = plan.systems.len() * (plan.turns + plan.cuts) as usize;
    let mut provenance = provenance(called, plan.seed);
    let trial = lanemark_trial::Trial::new(plan, &opened_library).map_err(Failure::from)?;
    provenance.inputs = opened_library.used();
    let stop = Arc::<AtomicBool>::default();
    let progress = Progress::with_total(pieces);
    let reporter = &progress;
    let requested = &stop;
    let run = move || {
        let mut begun: usize = 0;
        trial.run(&provenance, requested, &mut |event| match event {
            TrialEvent::Turn { .. } | TrialEvent::PowerCut { .. } => {
                reporter.set(begun, pieces);
                begun += 1;
            }
            TrialEvent::CleanUp => reporter.set(begun, pieces),
            _ => {}
        })
    };
    let cancel = Arc::clone(&stop).into();
    let outcome = watched(py, &cancel, &progress, on_progress.as_ref(), run)?;
    let TrialOutcome { results, .. } =
        outcome.map_err(Failure::from)?.ok_or_else(|| Failure::from(stopped()))?;
    let runs: Vec<&RunResult> = results.iter().collect();
    let answer = trial_answer(&runs).unwrap_or_default();
    Ok((answer, results.into_iter().map(Run).collect()))
}

fn stopped() -> lanemark_lab::LabError {
    lanemark_lab::LabError::run("the trial was stopped before each system completed a turn")
}
