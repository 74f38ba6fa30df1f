//! The points of a sweep, which run in parallel and are written to a file that a later run can continue.

mod chunk;
mod journal;
pub mod provenance;

use std::ops::Deref;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use lanemark_schema::result::{Provenance, Sweep as SweepResult, SweepPoint};
use lanemark_schema::text::shown;
use lanemark_study::sweep::{PointRunner, rows};
use lanemark_study::{Library, Sweep};

use crate::error::LabError;
use crate::event::{Event, EventObserver};
use crate::lab::Lab;
pub use chunk::ChunkRunner;
use journal::Journal;

/// The file of a sweep, together with the remaining points. It is locked against other writers.
pub struct SweepFile<S> {
    sweep: S,
    journal: Journal<S>,
    pending: Vec<u64>,
}

impl<S: Deref<Target = Sweep> + Clone> SweepFile<S> {
    /// Opens or creates the file of a sweep. Records the provenance next to the file.
    ///
    /// # Errors
    /// Returns an error if the file has other contents, or if it cannot be written.
    pub fn open(path: &Path, sweep: S, provenance: Provenance) -> Result<Self, LabError> {
        let journal = Journal::open(path, sweep.clone())?;
        provenance::note(path, sweep.inputs(), sweep.points(), sweep.axes(), provenance)?;
        let pending = journal.pending();
        Ok(Self { sweep, journal, pending })
    }

    /// Returns the number of points that an earlier run completed.
    pub fn before(&self) -> u64 {
        self.total() - self.pending.len() as u64
    }

    /// Returns the number of points.
    pub fn total(&self) -> u64 {
        self.sweep.points()
    }

    /// Returns the points without a row at the time of opening.
    pub fn pending(&self) -> &[u64] {
        &self.pending
    }

    /// Appends the rows that [`ChunkRunner::run`] returned. A row of a point that already has a row is dropped.
    ///
    /// # Errors
    /// Returns an error if a row belongs to another sweep, or if the file cannot be written.
    pub fn append(&mut self, rows: &str) -> Result<(), LabError> {
        self.journal.append(rows)
    }

    /// Sorts the rows of a complete sweep, and returns the points.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn finish(self) -> Result<SweepResult, LabError> {
        let path = self.journal.path().display().to_string();
        let text = self.journal.finish()?;
        rows::read(&text)
            .map_err(|line| LabError::run(format!("{path}:{line}: not a row of a sweep")))
    }
}

/// Returns the row of a point, without characters that a terminal would interpret.
fn row(sweep: &Sweep, point: &SweepPoint) -> String {
    let row = rows::row(point, &sweep.key(point.number));
    shown(row.trim_end_matches('\n')).into_owned() + "\n"
}

impl Lab {
    /// Runs the points that `file` does not contain yet. Returns the contents of the file, in order, when all points
    /// have ended. Returns `None` if the run is cancelled; in that case the file contains the points that have ended.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn sweep(
        &self,
        library: Library,
        mut file: SweepFile<&Sweep>,
        watch: &mut EventObserver<'_>,
    ) -> Result<Option<SweepResult>, LabError> {
        let mut ended = file.before();
        let total = file.total();
        let sweep = file.sweep;
        let pending = &file.pending;
        // A library records the files that it read, so it belongs to one thread.
        let libraries = Mutex::new(vec![library; self.pool.threads().min(pending.len())]);
        let memory = self.memory_of_each(pending.len());
        let start = || {
            let own_library = libraries.lock().unwrap_or_else(PoisonError::into_inner).pop();
            PointRunner::new(sweep, own_library.unwrap_or_default(), memory)
        };
        let mut saved = Ok(());
        self.pool.run_pieces(
            pending.len(),
            start,
            |runner, place, tell| {
                let is_wanted = || !self.cancel.is_cancelled();
                if is_wanted()
                    && let Some(point) = runner.run(pending[place], &mut |_| is_wanted())
                {
                    tell(point);
                }
            },
            |_, point| {
                saved = file.journal.append(&row(sweep, &point));
                if saved.is_ok() {
                    ended += 1;
                    watch(Event::Point { point: &point, ended, total });
                }
                saved.is_ok()
            },
        );
        saved?;
        if ended < total {
            return Ok(None);
        }
        file.finish().map(Some)
    }
}
