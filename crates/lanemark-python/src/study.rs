//! Studies: systems, tests, and the published figures that are compared with the simulation.

use std::path::PathBuf;

use lanemark_lab::results::{self, ResultFile, SavedResult};
use lanemark_lab::study::AdditionalResults as StudyExtras;
use lanemark_lab::{Event, Lab, LabRun, RunLength, columns, default_folder};
use lanemark_report::{html, study_table};
use lanemark_schema::result::StudyOutcome;
use pyo3::prelude::*;

use crate::failure::{Failure, input};
use crate::library::Library;
use crate::run::{Run, RunParts, STYLE, json_line, pool, provenance};
use crate::table::Table;
use crate::watch::{Progress, watched};

/// A study that is ready to run.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct Study {
    study: lanemark_study::Study,
    library: Py<Library>,
    inputs: std::collections::BTreeMap<String, String>,
}

/// The outcome of a study.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct StudyRun(pub(crate) StudyOutcome);

/// Reads a saved result of a run or of a study; `FILE#SYSTEM` is one system of a study.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
    let saved = py.detach(|| results::load_named(name));
    match saved.map_err(Failure::from)? {
        SavedResult::Run(run) => Ok(Py::new(py, Run(*run))?.into_any()),
        SavedResult::Study(study) => Ok(Py::new(py, StudyRun(*study))?.into_any()),
    }
}

/// Returns the folder of results, used if no path is given.
#[pyfunction]
pub(crate) fn results_folder() -> Result<PathBuf, Failure> {
    Ok(default_folder::of_results()?)
}

#[pymethods]
impl Study {
    #[new]
    fn new(path: PathBuf, library: Py<Library>) -> Result<Self, Failure> {
        let opened_library = library.get().own();
        let study = lanemark_study::Study::find(&opened_library, &path)?;
        let inputs = opened_library.used();
        Ok(Self { study, library, inputs })
    }

    #[getter]
    fn id(&self) -> &str {
        self.study.id()
    }

    /// The name of each system, and the names of its tests.
    fn systems(&self) -> Vec<(String, Vec<String>)> {
        let systems = self.study.systems().map(|(name, _, workload)| {
            let tests = workload.tests.iter().map(|test| test.name.clone());
            (name.to_owned(), tests.collect())
        });
        systems.collect()
    }

    #[pyo3(signature = (seed, threads, extras, command, on_progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        seed: u64,
        threads: Option<usize>,
        extras: RunParts,
        command: Vec<String>,
        on_progress: Option<Py<PyAny>>,
    ) -> PyResult<StudyRun> {
        let length = RunLength::from_full(extras.full);
        let lab = Lab { pool: pool(threads)?, length, ..Lab::default() };
        let library = self.library.get().own();
        let mut provenance = provenance(command, seed);
        provenance.inputs.clone_from(&self.inputs);
        let repeats = self
            .study
            .systems()
            .map(|(_, system, workload)| lab.samples(&LabRun { system, workload }));
        let progress = Progress::with_total(repeats.sum());
        let study = &self.study;
        let at_work = &lab;
        let reporter = &progress;
        let run = move || {
            let intervals = extras.interval.then_some(&library);
            let requested = StudyExtras { bottleneck: extras.bottleneck, intervals };
            let watch = &mut |event: Event<'_>| reporter.note(&event);
            let mut outcome = at_work.study(study, &provenance, requested, watch)?;
            outcome.provenance.finished_at = results::now();
            Ok::<_, lanemark_lab::LabError>(outcome)
        };
        let outcome = watched(py, &lab.cancel, &progress, on_progress.as_ref(), run)?;
        Ok(StudyRun(outcome.map_err(Failure::from)?))
    }
}

#[pymethods]
impl StudyRun {
    /// The runs of the systems, by name.
    fn systems(&self) -> Vec<(String, Run)> {
        self.0.systems.iter().map(|system| (system.name.clone(), Run(system.run.clone()))).collect()
    }

    fn json(&self) -> Result<String, Failure> {
        json_line(&self.0)
    }

    /// Reads the outcome that [`StudyRun::json`] wrote.
    #[staticmethod]
    fn of_json(text: &str) -> Result<Self, Failure> {
        let study = serde_json::from_str(text);
        Ok(Self(
            study.map_err(|error| input(format!("this is not an outcome of a study: {error}")))?,
        ))
    }

    /// The figures, each with the simulated value.
    fn figures(&self) -> Result<Table, Failure> {
        Table::new(columns::figures(&self.0))
    }

    fn html(&self) -> String {
        html(Some(&self.0), &[])
    }

    fn text(&self) -> String {
        study_table(&self.0, None, true, &STYLE)
    }

    /// Saves the outcome like the command, and returns its path.
    fn save(&self, py: Python<'_>, out: PathBuf) -> Result<PathBuf, Failure> {
        if self.0.systems.is_empty() {
            return Err(input("no test was complete; nothing is saved"));
        }
        py.detach(|| {
            let what = format!("study-{}", self.0.id);
            let file = ResultFile::new(&out, &what, &self.0.provenance.started_at)?;
            file.save(&self.0)?;
            Ok(file.path().to_owned())
        })
    }
}
