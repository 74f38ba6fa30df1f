//! Queries other than simulations: a real drive's speed and path, a model of the drive, and the effect of a different
//! path.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lanemark_inspect::Sysfs;
use lanemark_lab::scale::{WorkloadScale, real_without_faults};
use lanemark_lab::whatif::WhatIfQuestion;
use lanemark_lab::{CancelFlag, Lab, LabError, RunLength, measured, results, settings};
use lanemark_measure::{Bench, EngineKind, Event, MeasureSettings, PurgeMethod};
use lanemark_predict::{FitInput, REQUESTS, WORK_MAX};
use lanemark_report::{fit_table, inspection_svg, inspection_text, whatif_text};
use lanemark_schema::result::{FittedDrive, Inspection, WhatIf};
use lanemark_schema::workload::bound::QUEUE_DEPTH;
use pyo3::prelude::*;

use crate::failure::{Failure, input};
use crate::library::Library;
use crate::run::{Run, STYLE, json_line, pool, provenance};
use crate::watch::{Progress, watched};
use crate::workload::{Workload, quantity};

/// An answer, in all formats that the command can print.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct Answer {
    json: String,
    text: String,
    svg: Option<String>,
}

#[pymethods]
impl Answer {
    fn json(&self) -> &str {
        &self.json
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn svg(&self) -> Option<&str> {
        self.svg.as_deref()
    }
}

impl Answer {
    fn of_what_if(whatif: &WhatIf) -> Result<Self, Failure> {
        Ok(Self { json: json_line(whatif)?, text: whatif_text(whatif, &STYLE), svg: None })
    }

    fn of_inspection(inspection: &Inspection) -> Result<Self, Failure> {
        let text = inspection_text(inspection, &STYLE);
        Ok(Self { json: json_line(inspection)?, text, svg: Some(inspection_svg(inspection)) })
    }
}

/// Inspects the path of a device, or all paths of the machine, in a sysfs tree.
#[pyfunction]
pub(crate) fn inspect(
    py: Python<'_>,
    target: Option<&str>,
    sysfs: PathBuf,
) -> Result<Answer, Failure> {
    let inspection = py
        .detach(|| Sysfs::open(&sysfs).and_then(|sysfs| lanemark_inspect::inspect(&sysfs, target)));
    Answer::of_inspection(&inspection?)
}

/// The options of a what-if, with the parameter names of the package's function.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CompareOptions {
    model: Option<String>,
    second: Option<String>,
    queue_depth: Option<u32>,
    set: Vec<String>,
    fit: Option<PathBuf>,
    workload: Option<String>,
    interval: bool,
    force: bool,
    full: bool,
    size: Option<String>,
    duration: Option<String>,
    seed: u64,
}

/// Compares the same work on two systems.
#[pyfunction]
#[pyo3(signature = (first, options, library, threads, on_progress=None))]
pub(crate) fn compare(
    py: Python<'_>,
    first: &str,
    options: CompareOptions,
    library: &Bound<'_, Library>,
    threads: Option<usize>,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<Answer> {
    let length = RunLength::from_full(options.full);
    let lab = Lab { pool: pool(threads)?, length, ..Lab::default() };
    let opened_library = library.get().own();
    if let Some(depth) = options.queue_depth.filter(|depth| !QUEUE_DEPTH.contains(depth)) {
        return Err(input(format!("queue_depth = {depth}: expected {QUEUE_DEPTH}")).into());
    }
    let scale = WorkloadScale {
        size: quantity("size", options.size.as_deref())?,
        duration: quantity("duration", options.duration.as_deref())?,
        repeats: None,
    };
    let progress = Progress::default();
    let at_work = &lab;
    let reporter = &progress;
    let run = move || {
        let question = WhatIfQuestion {
            from: first,
            model: options.model.as_deref(),
            to: options.second.as_deref(),
            queue_depth: options.queue_depth,
            set: &options.set,
            fit: options.fit.as_deref(),
            workload: options.workload.as_deref(),
            intervals: options.interval,
            is_forced: options.force,
            scale,
            seed: options.seed,
        };
        let begun = &mut |cells| reporter.set(0, cells);
        at_work
            .answer_what_if(&opened_library, &question, begun, &mut |event| reporter.note(&event))
    };
    let outcome = watched(py, &lab.cancel, &progress, on_progress.as_ref(), run)?;
    let stopped_error = || LabError::run("the run was stopped before its end");
    let outcome = outcome.and_then(|outcome| outcome.ok_or_else(stopped_error));
    Ok(Answer::of_what_if(&outcome.map_err(Failure::from)?)?)
}

/// A fitted drive.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct Fit(lanemark_predict::Fit);

#[pymethods]
impl Fit {
    fn json(&self) -> Result<String, Failure> {
        json_line::<FittedDrive>(&self.0.drive)
    }

    fn text(&self) -> String {
        fit_table(&self.0.drive, &STYLE)
    }

    /// Returns the text of a library file for this drive, with the display name `name`.
    fn file(&self, name: &str) -> Result<String, Failure> {
        Ok(self.0.file(name)?)
    }
}

/// Fits a drive's model to measured results, each with its name.
#[pyfunction]
#[pyo3(signature = (runs, platform, port, like, set, seed, threads, library, command))]
pub(crate) fn fit(
    py: Python<'_>,
    runs: Vec<(String, Py<Run>)>,
    platform: &str,
    port: &str,
    like: Option<&str>,
    set: Vec<String>,
    seed: u64,
    threads: Option<usize>,
    library: &Bound<'_, Library>,
    command: Vec<String>,
) -> PyResult<Fit> {
    let runs: Vec<_> = runs.iter().map(|(name, run)| (name.clone(), run.get().0.clone())).collect();
    let opened_library = library.get().own();
    let pool = pool(threads)?;
    let settings = settings(&set).map_err(Failure::from)?;
    let cancel = CancelFlag::default();
    let runs = &runs;
    let wish = cancel.clone();
    let work = move || {
        let job = FitInput {
            results: runs,
            platform,
            port,
            like,
            settings: &settings,
            requests: REQUESTS,
            work_max: WORK_MAX,
            pool,
            provenance: provenance(command, seed),
            cancel: wish,
        };
        lanemark_predict::fit(&opened_library, &job, &mut |_| {}).map(|mut fitted| {
            fitted.drive.provenance.finished_at = results::now();
            fitted
        })
    };
    let fitted = watched(py, &cancel, &Progress::default(), None, work)?;
    Ok(Fit(fitted.map_err(Failure::from)?))
}

/// The settings of a measurement, with the parameter names of the package's function.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MeasureOptions {
    overwrite: Option<PathBuf>,
    i_will_lose_all_data_on: Option<PathBuf>,
    purge: Option<String>,
    precondition: Option<String>,
    explain: bool,
    engine: Option<String>,
    buffered: bool,
    pin: bool,
    seed: u64,
}

/// Measures a workload on a real target.
#[pyfunction]
#[pyo3(signature = (path, workload, options, command, on_progress=None))]
pub(crate) fn bench(
    py: Python<'_>,
    path: PathBuf,
    workload: &Bound<'_, Workload>,
    options: MeasureOptions,
    command: Vec<String>,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<Run> {
    let opened = workload.get();
    let engine = options.engine.as_deref().map(|name| {
        name.parse::<EngineKind>().map_err(|error| input(format!("engine = {name}: {error}")))
    });
    let of_file = opened.opened.as_ref();
    let engine = engine.transpose()?.or(of_file.and_then(|opened| opened.engine()));
    let workload = &opened.workload;
    real_without_faults(workload).map_err(Failure::from)?;
    let precondition = options
        .precondition
        .as_deref()
        .map(|name| name.parse().map_err(|error| input(format!("precondition = {name}: {error}"))));
    let settings = MeasureSettings {
        engine: engine.unwrap_or_default(),
        buffered: options.buffered || of_file.is_some_and(|opened| opened.is_buffered()),
        precondition: precondition.transpose()?,
        probe: options.explain,
        pinned: options.pin,
        on_error: of_file.map_or_else(Default::default, |opened| opened.on_error()),
        ..MeasureSettings::default()
    };
    let mut provenance = provenance(command, options.seed);
    provenance.inputs.clone_from(&opened.inputs);
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let cancel = CancelFlag::from(std::sync::Arc::clone(&stop));
    let progress = Progress::default();
    let run = || {
        let bench = Bench {
            path: Path::new(&path),
            workload,
            seed: options.seed,
            overwrite: options.overwrite.as_deref(),
            offered: options.i_will_lose_all_data_on.as_deref(),
            purge: options.purge.as_deref().map(PurgeMethod::named),
            settings,
            stop: &stop,
        };
        bench.run(&mut |event| {
            if let Event::Running(running) = event {
                progress.set(running.samples.0, running.samples.1);
            }
        })
    };
    let outcome =
        watched(py, &cancel, &progress, on_progress.as_ref(), run)?.map_err(Failure::from)?;
    let mut result = measured::explained_result(&outcome, workload, &provenance);
    result.provenance.finished_at = results::now();
    match outcome.failure {
        Some(failure) => Err(Failure::from(failure).into()),
        None => Ok(Run(result)),
    }
}
