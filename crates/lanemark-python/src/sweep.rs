//! Sweeps: chunks of points for callers that distribute them, and the files of complete sweeps.

use std::path::PathBuf;

use lanemark_lab::columns::AxisKind;
use lanemark_lab::scale::{WorkloadScale, scaled_workload};
use lanemark_lab::sweep::provenance::{hash_of, of as provenance_of};
use lanemark_lab::sweep::table;
use lanemark_lab::{ChunkRunner, RunLength, columns, opened, results, settings};
use lanemark_report::{sweep_html, sweep_text};
use lanemark_schema::result::Sweep as Points;
use lanemark_study::Location;
use lanemark_study::sweep::{Axis, SweepDefinition};
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::library::Library;
use crate::run::STYLE;
use crate::table::Table;
use crate::watch::Cancel;
use crate::workload::{Workload, quantity};

/// A sweep whose names are checked and whose points are numbered.
#[pyclass(frozen, module = "lanemark._lanemark")]
pub(crate) struct Sweep {
    sweep: lanemark_study::Sweep,
    library: Py<Library>,
    kinds: Vec<AxisKind>,
}

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
        let axis = |(name, texts): &(String, Vec<String>)| {
            Axis::new(name, texts, Location::file(format!("axis {name}")))
        };
        let axes = axes.iter().map(axis).collect::<Result<_, _>>()?;
        let definition =
            SweepDefinition { system, workload: named, axes, settings: settings(&set)? };
        let sweep = py.detach(move || {
            lanemark_study::Sweep::new(
                &opened_library,
                definition,
                workload,
                seed,
                RunLength::from_full(full),
            )
        })?;
        let kinds = columns::axis_kinds(sweep.axis_values());
        Ok(Self { sweep, library, kinds })
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

    /// The key of a point.
    fn point_key(&self, point: u64) -> Result<String, Failure> {
        self.values(point).map(|_| self.sweep.key(point))
    }

    /// Runs the points from the first to the last in the calling thread; returns `None` if the run is cancelled.
    fn run(
        &self,
        py: Python<'_>,
        first: u64,
        last: u64,
        cancel: &Bound<'_, Cancel>,
    ) -> Result<Option<Table>, Failure> {
        let opened_library = self.library.get().own();
        let cancel = &cancel.get().0;
        let sweep = &self.sweep;
        let points =
            py.detach(move || ChunkRunner::new(sweep, opened_library).run(first..=last, cancel))?;
        let table = |points| table(&points, Some(sweep.inputs()), Some(&self.kinds));
        points.map(|points| Table::new(table(points))).transpose()
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
        let html = sweep_html(&points, provenance_of(&path).as_ref());
        views(&points, hash_of(&path).as_deref(), html)
    })
}

fn views(
    points: &Points,
    inputs: Option<&str>,
    html: String,
) -> Result<(Table, String, String), Failure> {
    Ok((Table::new(table(points, inputs, None))?, sweep_text(points, None, &STYLE), html))
}
