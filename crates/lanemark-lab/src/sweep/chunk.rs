//! Chunks of a sweep, for programs that distribute its points over machines. A chunk is a range of points that run in
//! sequence.
//!
//! The figures of a chunk are rounded like the figures in the file of a sweep, so a point is the same on every machine.

use std::ops::RangeInclusive;

use lanemark_schema::result::Sweep as SweepResult;
use lanemark_sim::MEMORY;
use lanemark_study::sweep::{PointRunner, key, rows};
use lanemark_study::{Library, Sweep};

use crate::cancel::CancelFlag;
use crate::columns::{self, AxisKind, Column};
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

    /// Runs the points of a chunk. Returns `None` if the run is cancelled.
    ///
    /// # Errors
    /// Returns an error if the sweep does not have all of the points.
    pub fn run(
        &mut self,
        points: RangeInclusive<u64>,
        cancel: &CancelFlag,
    ) -> Result<Option<SweepResult>, LabError> {
        let last = self.sweep.points() - 1;
        if *points.end() > last {
            let (from, to) = points.into_inner();
            let message = format!("--points {from}..{to}: the points of the sweep are 0 to {last}");
            return Err(
                LabError::input(message).hint(format!("use, for example, --points 0..{last}"))
            );
        }
        let mut text = rows::header(&self.sweep.axes());
        for number in points {
            let Some(point) = self.runner.run(number, &mut |_| !cancel.is_cancelled()) else {
                return Ok(None);
            };
            text += &rows::row(&point, &self.sweep.key(number));
        }
        let unread =
            |line| LabError::run(format!("line {line} of a chunk is not a row of a sweep"));
        rows::read(&text).map(Some).map_err(unread)
    }
}

/// Returns the columns for points of a sweep. `inputs` is the hash that its points share. The axes have the types in
/// `kinds`; without it, the types are determined from the values of these points.
pub fn table(sweep: &SweepResult, inputs: Option<&str>, kinds: Option<&[AxisKind]>) -> Vec<Column> {
    let values: Vec<Vec<String>> = (0..sweep.axes.len())
        .map(|axis| sweep.points.iter().map(|point| point.values[axis].clone()).collect())
        .collect();
    let kinds_of_values = || columns::axis_kinds(values.iter().map(Vec::as_slice));
    let kinds = kinds.map_or_else(kinds_of_values, <[AxisKind]>::to_vec);
    columns::sweep(sweep, &kinds, |point| Some(key(inputs?, point.number, &point.values)))
}
