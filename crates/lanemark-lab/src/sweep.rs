//! The points of a sweep, which run in parallel and are written to a file that a later run can continue.

mod chunk;
mod journal;
pub mod provenance;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use lanemark_schema::result::{Provenance, Sweep as SweepResult};
use lanemark_study::sweep::{PointRunner, rows};
use lanemark_study::{Library, Sweep};

use crate::error::LabError;
use crate::event::{Event, EventObserver};
use crate::lab::Lab;
pub use chunk::{ChunkRunner, table};
use journal::Journal;

/// The file of a sweep, together with the remaining points. It is locked against other writers.
pub struct SweepFile<'s> {
    sweep: &'s Sweep,
    journal: Journal<'s>,
    pending: Vec<u64>,
}

impl<'s> SweepFile<'s> {
    /// Opens or creates the file of a sweep. Records the provenance next to the file.
    ///
    /// # Errors
    /// Returns an error if the file has other contents, or if it cannot be written.
    pub fn open(path: &Path, sweep: &'s Sweep, provenance: Provenance) -> Result<Self, LabError> {
        let journal = Journal::open(path, sweep)?;
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
        mut file: SweepFile<'_>,
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
                saved = file.journal.append(&point);
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
        let path = file.journal.path().display().to_string();
        let text = file.journal.finish()?;
        let outcome = rows::read(&text);
        outcome
            .map(Some)
            .map_err(|line| LabError::run(format!("{path}:{line}: not a row of a sweep")))
    }
}
