//! Sweeps: chunks of points for callers that distribute them, and the files of sweeps.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use lanemark_lab::scale::{WorkloadScale, scaled_workload};
use lanemark_lab::sweep::provenance::{hash_of, read_if_present};
use lanemark_lab::{ChunkRunner, RunLength, SweepFile, columns, opened, results, settings};
use lanemark_report::{sweep_html, sweep_text};
use lanemark_schema::result::{Provenance, Sweep as Points};
use lanemark_study::Location;
use lanemark_study::sweep::{Axis, SweepDefinition};
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::library::Library;
use crate::run::{STYLE, provenance};
use crate::table::Table;
use crate::watch::Cancel;
use crate::workload::{Workload, quantity};

/// A sweep whose names are checked and whose points are numbered.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct Sweep {
    sweep: Arc<lanemark_study::Sweep>,
    library: Py<Library>,
    seed: u64,
    /// SHA-256 of each library file that determines the sweep.
    inputs: BTreeMap<String, String>,
    /// The call as the provenance records it: the system, the workload and the changes.
    command: Vec<String>,
}

/// The file of a sweep while it grows; `None` after it is closed.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct SweepJournal(Mutex<Option<SweepFile<Arc<lanemark_study::Sweep>>>>);

/// A workload name, or a workload that was already read.
#[derive(FromPyObject)]
enum WorkloadArgument<'py> {
    Named(String),
    Read(Bound<'py, Workload>),
}

/// The system, workload, axes as text and settings of a file.
type SweepFileParts = (String, String, Vec<(String, Vec<String>)>, Vec<String>);

#[pymethods]
impl Sweep {
    /// Creates the sweep of a named workload, with changes, or of a workload that was already read.
    #[new]
    fn new(
        py: Python<'_>,
        system: String,
        workload: WorkloadArgument<'_>,
        scale: (Option<String>, Option<String>, Option<u32>),
        axes: Vec<(String, Vec<String>)>,
        set: Vec<String>,
        seed: u64,
        full: bool,
        library: Py<Library>,
    ) -> Result<Self, Failure> {
        let opened_library = library.get().own();
        let mut command =
            vec!["python".to_owned(), "lanemark.Sweep.run".to_owned(), system.clone()];
        let changes = [("size", &scale.0), ("duration", &scale.1)]
            .map(|(name, given)| given.as_ref().map(|given| format!("{name}={given}")));
        let size = quantity("size", scale.0.as_deref())?;
        let scale = WorkloadScale {
            size,
            duration: quantity("duration", scale.1.as_deref())?,
            repeats: Some(scale.2.unwrap_or(1)),
        };
        // The library records the files that it reads, which determine the sweep's hash.
        let (named, workload) = match workload {
            WorkloadArgument::Named(name) => {
                let mut opened = opened::open(&opened_library, &name, size)?;
                opened.simulate();
                (name, opened.workload)
            }
            WorkloadArgument::Read(read) => (String::new(), read.get().workload.clone()),
        };
        let workload = scaled_workload(workload, &scale)?;
        let test = if named.is_empty() { workload.name.clone() } else { named.clone() };
        command.push(format!("workload={test}"));
        command.extend(changes.into_iter().flatten());
        command.extend(axes.iter().map(|(name, texts)| format!("axis {name}={}", texts.join(","))));
        command.extend(set.iter().map(|setting| format!("set {setting}")));
        command.push(format!("seed={seed}"));
        let axis = |(name, texts): &(String, Vec<String>)| {
            Axis::new(name, texts, Location::file(format!("axis {name}")))
        };
        let axes = axes.iter().map(axis).collect::<Result<_, _>>()?;
        let definition =
            SweepDefinition { system, workload: named, axes, settings: settings(&set)? };
        let length = RunLength::from_full(full);
        let (sweep, inputs) = py.detach(move || {
            let sweep =
                lanemark_study::Sweep::new(&opened_library, definition, workload, seed, length);
            (sweep, opened_library.used())
        });
        Ok(Self { sweep: Arc::new(sweep?), library, seed, inputs, command })
    }

    /// Reads a sweep's file: the system, the workload, the axes and the settings.
    #[staticmethod]
    fn read(path: PathBuf) -> Result<SweepFileParts, Failure> {
        let SweepDefinition { system, workload, axes, settings } = SweepDefinition::open(&path)?;
        let axes = axes.into_iter().map(|axis| (axis.name, axis.values)).collect();
        let set =
            settings.iter().map(|(setting, _)| format!("{}={}", setting.parameter, setting.value));
        Ok((system, workload, axes, set.collect()))
    }

    #[getter]
    fn points(&self) -> u64 {
        self.sweep.points()
    }

    /// The hash of the parts that all points share.
    #[getter]
    fn key(&self) -> &str {
        self.sweep.inputs()
    }

    /// Each axis with its values.
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        let values = self.sweep.axis_values().map(<[String]>::to_vec);
        self.sweep.axes().into_iter().zip(values).collect()
    }

    /// The values of a point.
    fn values(&self, point: u64) -> Result<Vec<String>, Failure> {
        if point < self.sweep.points() {
            Ok(self.sweep.values(point))
        } else {
            Err(crate::failure::input(format!("the sweep does not have a point {point}")))
        }
    }

    /// Runs the points from the first to the last in the calling thread, and returns their rows in the file of the
    /// sweep; returns `None` if the run is cancelled.
    fn run(
        &self,
        py: Python<'_>,
        first: u64,
        last: u64,
        cancel: &Bound<'_, Cancel>,
    ) -> Result<Option<String>, Failure> {
        let opened_library = self.library.get().own();
        let cancel = &cancel.get().0;
        let sweep = &self.sweep;
        let run = move || ChunkRunner::new(sweep, opened_library).run(first..=last, cancel);
        Ok(py.detach(run)?)
    }

    /// Opens or creates the file of the sweep, and locks it against other writers.
    fn open(&self, py: Python<'_>, path: PathBuf) -> Result<SweepJournal, Failure> {
        let provenance = Provenance {
            inputs: self.inputs.clone(),
            ..provenance(self.command.clone(), self.seed)
        };
        let sweep = Arc::clone(&self.sweep);
        let file = py.detach(move || SweepFile::open(&path, sweep, provenance))?;
        Ok(SweepJournal(Mutex::new(Some(file))))
    }
}

#[pymethods]
impl SweepJournal {
    /// The points without a row at the time of opening.
    fn pending(&self) -> Vec<u64> {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.as_ref().map_or_else(Vec::new, |file| file.pending().to_vec())
    }

    /// Appends rows; a row of a point that already has a row is dropped.
    fn append(&self, py: Python<'_>, rows: &str) -> Result<(), Failure> {
        py.detach(|| {
            let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(file.as_mut().map_or(Ok(()), |file| file.append(rows))?)
        })
    }

    /// Sorts the rows of a complete sweep, and closes the file.
    fn finish(&self, py: Python<'_>) -> Result<(), Failure> {
        py.detach(|| {
            let file = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            Ok(file.map_or(Ok(()), |file| file.finish().map(drop))?)
        })
    }

    /// Closes the file. A forked process must close its copy, so that the lock ends with the process that holds it. If
    /// another thread was writing at the time of the fork, the copy stays open.
    fn close(&self) {
        if let Ok(mut file) = self.0.try_lock() {
            *file = None;
        }
    }
}

/// Reads the file of a complete or partial sweep. Returns its points, also as text and as a page.
#[pyfunction]
pub(crate) fn load_sweep(
    py: Python<'_>,
    path: PathBuf,
) -> Result<(Table, String, String), Failure> {
    py.detach(|| {
        let points = results::load_sweep(&path)?;
        let html = sweep_html(&points, read_if_present(&path).as_ref());
        views(&points, hash_of(&path).as_deref(), html)
    })
}

fn views(
    points: &Points,
    inputs: Option<&str>,
    html: String,
) -> Result<(Table, String, String), Failure> {
    Ok((Table::new(columns::sweep(points, inputs))?, sweep_text(points, None, &STYLE), html))
}
