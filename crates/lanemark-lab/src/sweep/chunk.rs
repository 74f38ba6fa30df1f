//! Chunks of a sweep for whoever spreads its points over machines: ranges of points, run one after the other.
//!
//! A chunk's figures are those of the file of a sweep, rounded as there, so that a point is the same whoever ran it.

use std::ops::RangeInclusive;

use lanemark_core::result::Sweep as SweepResult;
use lanemark_study::sweep::{Runner, key, rows};
use lanemark_study::{Library, Sweep};

use crate::cancel::Cancel;
use crate::columns::{self, Column};
use crate::error::LabError;

/// Runs chunks of one sweep in the calling thread.
pub struct Chunks<'s> {
    sweep: &'s Sweep,
    runner: Runner<'s>,
}

impl<'s> Chunks<'s> {
    /// A runner of chunks of `sweep`.
    pub fn new(sweep: &'s Sweep, library: Library) -> Self {
        Self { sweep, runner: Runner::new(sweep, library) }
    }

    /// Runs the points of a chunk; none where that is cancelled.
    ///
    /// # Errors
    /// Where the sweep does not have all of the points.
    pub fn run(
        &mut self,
        points: RangeInclusive<u64>,
        cancel: &Cancel,
    ) -> Result<Option<SweepResult>, LabError> {
        let last = self.sweep.points() - 1;
        if *points.end() > last {
            let (from, to) = points.into_inner();
            let message = format!("--points {from}..{to}: the sweep has the points 0 to {last}");
            return Err(LabError::input(message).hint(format!("for example --points 0..{last}")));
        }
        let mut text = rows::header(&self.sweep.axes());
        for number in points {
            let Some(point) = self.runner.run(number, &mut |_| !cancel.is_cancelled()) else {
                return Ok(None);
            };
            text += &rows::row(&point, &self.sweep.key(number));
        }
        let unread = |line| LabError::run(format!("line {line} of a chunk is no row of a sweep"));
        rows::read(&text).map(Some).map_err(unread)
    }
}

/// The columns of points of the sweep whose points have the hash `inputs` in common, axes that are `numeric` as numbers;
/// without it those whose values are all plain numbers here.
pub fn table(sweep: &SweepResult, inputs: Option<&str>, numeric: Option<&[bool]>) -> Vec<Column> {
    let values: Vec<Vec<String>> = (0..sweep.axes.len())
        .map(|axis| sweep.points.iter().map(|point| point.values[axis].clone()).collect())
        .collect();
    let own = || columns::numeric(values.iter().map(Vec::as_slice));
    let numeric = numeric.map_or_else(own, <[bool]>::to_vec);
    columns::sweep(sweep, &numeric, |point| Some(key(inputs?, point.number, &point.values)))
}
