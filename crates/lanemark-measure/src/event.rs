//! The events of a run for its caller, and its outcome.

use lanemark_schema::result::{MeasuredTarget, TestResult, Warning};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Test;

use crate::error::MeasureError;

#[derive(Debug)]
pub enum Event<'a> {
    /// The file is being written in full.
    LayingOut {
        /// Bytes written so far.
        done: Bytes,
        /// Bytes to write.
        total: Bytes,
    },
    /// A sample is being taken.
    Running(&'a SampleInProgress<'a>),
    /// The processor times of the machine are being measured.
    MeasuringHost,
    /// A sample was completed or interrupted.
    SampleEnded {
        /// The outcome so far.
        outcome: &'a MeasureOutcome,
    },
}

#[derive(Debug)]
pub struct SampleInProgress<'a> {
    /// The first of the concurrent tests.
    pub test: &'a Test,
    /// Index of the test, from 0.
    pub index: usize,
    /// Index of the repeat, from 0; equal to the number of repeats while a deeper queue is tried.
    pub repeat: u32,
    /// Number of finished samples, and the total.
    pub samples: (usize, usize),
    /// Time for which requests have been counted; zero during the ramp.
    pub elapsed: Duration,
    /// Number of bytes that the counted requests moved.
    pub bytes: Bytes,
    pub requests: u64,
}

#[derive(Debug)]
pub struct MeasureOutcome {
    pub target: MeasuredTarget,
    /// The tests with their samples, including an interrupted sample that counted requests.
    pub tests: Vec<TestResult>,
    /// Whether the run is complete; false during the run and after an interruption.
    pub complete: bool,
    /// Warnings about the data.
    pub warnings: Vec<Warning>,
    /// The failed request that ended the run early, if there was one.
    pub failure: Option<MeasureError>,
}
