//! Runs, either simulated here or read from a file.

use std::path::PathBuf;
use std::sync::OnceLock;

use lanemark_lab::columns::RunTable;
use lanemark_lab::interval::DrawnSystem;
use lanemark_lab::results::{self, ResultFile};
use lanemark_lab::{Lab, LabError, LabRun, Pool, RunLength, json};
use lanemark_report::{Style, bottlenecks, html, run_table, test_details};
use lanemark_schema::result::{Machine, Provenance, RunResult};
use lanemark_study::Location;
use pyo3::prelude::*;

use crate::failure::{Failure, input};
use crate::system::System;
use crate::table::Table;
use crate::watch::{Progress, SignalWatch, watched};
use crate::workload::Workload;

/// The style of all text, which is the command's style without a terminal.
pub(crate) const STYLE: Style = Style { width: 100, colour: false };

/// A run.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct Run(pub(crate) RunResult);

/// Returns the provenance of a run that the call `command` starts now.
pub(crate) fn provenance(command: Vec<String>, seed: u64) -> Provenance {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    let started_at = results::now();
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        seed,
        finished_at: started_at.clone(),
        started_at,
        machine: Some(MACHINE.get_or_init(lanemark_measure::machine).clone()),
        inputs: Default::default(),
        name: None,
    }
}

/// Creates a pool of `threads` threads, or of one thread per core.
pub(crate) fn pool(threads: Option<usize>) -> Result<Pool, Failure> {
    let Some(threads) = threads else { return Ok(Pool::default()) };
    let known = std::num::NonZeroUsize::new(threads).filter(|threads| threads.get() <= 1024);
    let known = known
        .ok_or_else(|| input(format!("threads = {threads}: expected a number from 1 to 1024")))?;
    Ok(Pool::new(known))
}

/// Formats a value as the command prints it with `--json`, in one line.
pub(crate) fn json_line<T: serde::Serialize>(value: &T) -> Result<String, Failure> {
    let to_error = |error| LabError::run(format!("the result can't be written as JSON: {error}"));
    Ok(serde_json::to_string(value).map_err(to_error)?)
}

/// The parts of a run that are computed in addition to its figures.
#[derive(Clone, Copy, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RunParts {
    pub(crate) bottleneck: bool,
    pub(crate) interval: bool,
    pub(crate) full: bool,
}

/// Runs all tests of `workload` on `system`.
#[pyfunction]
#[pyo3(signature = (system, workload, seed, threads, extras, command, on_progress=None))]
pub(crate) fn simulate(
    py: Python<'_>,
    system: &Bound<'_, System>,
    workload: &Bound<'_, Workload>,
    seed: u64,
    threads: Option<usize>,
    extras: RunParts,
    command: Vec<String>,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<Run> {
    let system = system.get();
    let workload = workload.get();
    let length = RunLength::from_full(extras.full);
    let lab = Lab { pool: pool(threads)?, length, ..Lab::default() };
    let requested = &workload.workload;
    let library = system.library.get().own();
    let checked = system.system.with_faults(&requested.faults, &Location::file("--fault"));
    checked.map_err(Failure::from)?;
    let mut provenance = provenance(command, seed);
    provenance.inputs.clone_from(&system.inputs);
    provenance.inputs.extend(workload.inputs.clone());
    let progress =
        Progress::with_total(lab.samples(&LabRun { system: &system.system, workload: requested }));
    let on_progress = on_progress.as_ref();
    let mut result = py.detach(|| {
        let mut look = SignalWatch::new(&lab.cancel, &progress, on_progress);
        let result = lab.run(&system.system, requested, &provenance, &mut |event| {
            progress.note(&event);
            look.look();
        });
        look.finish(result)
    })?;
    if (extras.bottleneck || extras.interval) && result.as_ref().is_ok_and(|run| run.complete) {
        let lab = &lab;
        let reporter = &progress;
        let add_extras = move || {
            let mut run = result?;
            if extras.bottleneck {
                lab.add_sensitivity(&system.system.spec, &mut run, &mut |event| {
                    reporter.note(&event);
                })?;
            }
            if extras.interval {
                let subject = DrawnSystem {
                    library: &library,
                    name: system.name.as_str(),
                    settings: system.settings.as_slice(),
                    ranges: &[],
                };
                lab.add_intervals(&subject, &mut run, &mut |event| reporter.note(&event))?;
            }
            Ok::<_, LabError>(run)
        };
        result = watched(py, &lab.cancel, &progress, on_progress, add_extras)?;
    }
    let mut run = result.map_err(Failure::from)?;
    run.provenance.finished_at = results::now();
    Ok(Run(run))
}

#[pymethods]
impl Run {
    #[getter]
    fn complete(&self) -> bool {
        self.0.complete
    }

    fn json(&self) -> Result<String, Failure> {
        json_line(&self.0)
    }

    /// Reads the run that [`Run::json`] wrote.
    #[staticmethod]
    fn of_json(text: &str) -> Result<Self, Failure> {
        let run = serde_json::from_str(text);
        Ok(Self(run.map_err(|error| input(format!("this is not a result of a run: {error}")))?))
    }

    /// Returns the result as the command prints it with `--json`.
    fn json_text(&self) -> Result<String, Failure> {
        Ok(json::text(&self.0)?)
    }

    fn table(&self, name: &str) -> Result<Table, Failure> {
        let table = name.parse::<RunTable>().map_err(|known| {
            input(format!("`{name}` is not a table of a run: expected {known}"))
        })?;
        Table::new(table.columns(&self.0))
    }

    fn html(&self) -> String {
        html(None, &[&self.0])
    }

    /// Returns the run as a text table. If requested, the details of its tests or their limits follow the table.
    fn text(&self, detail: bool) -> String {
        let mut text = run_table(&self.0, &STYLE);
        if detail {
            text += "\n";
            text += &test_details(&self.0, &STYLE);
        }
        if self.0.tests.iter().any(|test| test.sensitivity.is_some()) {
            text += "\n";
            text += &bottlenecks(&[("", &self.0)], &STYLE);
        }
        text
    }

    /// Saves the run like the command, to the given file or to a new file in the given folder, and returns its path.
    fn save(&self, py: Python<'_>, out: PathBuf) -> Result<PathBuf, Failure> {
        py.detach(|| {
            let what = format!("run-{}", self.0.workload.id);
            let file = ResultFile::new(&out, &what, &self.0.provenance.started_at)?;
            file.save_run(&self.0)?;
            Ok(file.path().to_owned())
        })
    }
}
