//! Chunks of a sweep, for programs that distribute its points over machines. A chunk is a range of points that run in
//! sequence.

use std::ops::RangeInclusive;

use lanemark_sim::MEMORY;
use lanemark_study::sweep::PointRunner;
use lanemark_study::{Library, Sweep};

use super::row;
use crate::cancel::CancelFlag;
use crate::error::LabError;

/// Runs chunks of one sweep on the calling thread.
pub struct ChunkRunner<'s> {
    sweep: &'s Sweep,
    runner: PointRunner<'s>,
}

impl<'s> ChunkRunner<'s> {
    /// Creates a runner of chunks of `sweep`.
    pub fn new(sweep: &'s Sweep, library: Library) -> Self {
        Self { sweep, runner: PointRunner::new(sweep, library, MEMORY) }
    }

    /// Runs the points of a chunk, and returns their rows in the file of the sweep. Returns `None` if the run is
    /// cancelled.
    ///
    /// # Errors
    /// Returns an error if the sweep does not have all of the points.
    pub fn run(
        &mut self,
        points: RangeInclusive<u64>,
        cancel: &CancelFlag,
    ) -> Result<Option<String>, LabError> {
        let last = self.sweep.points() - 1;
        if *points.end() > last {
            let message =
                format!("point {}: the points of the sweep are 0 to {last}", points.end());
            return Err(LabError::input(message));
        }
        let mut rows = String::new();
        for number in points {
            let Some(point) = self.runner.run(number, &mut |_| !cancel.is_cancelled()) else {
                return Ok(None);
            };
            rows += &row(self.sweep, &point);
        }
        Ok(Some(rows))
    }
}
