//! The events of a run for its caller, and its outcome.

use lanemark_core::result::{DeviceUse, LatencyHistogram, MeasuredTarget, TestResult, Warning};
use lanemark_core::units::{Bytes, Duration};
use lanemark_core::workload::Test;

use crate::error::MeasureError;

/// An event of a run for its caller.
#[derive(Debug)]
pub enum Event<'a> {
    /// The file is being written full.
    LayingOut {
        /// Bytes written so far.
        done: Bytes,
        /// Bytes to write.
        total: Bytes,
    },
    /// A sample is being taken.
    Running(&'a Running<'a>),
    /// A sample was taken, or cut short.
    SampleEnded {
        /// The outcome so far.
        outcome: &'a Outcome,
    },
}

/// The progress of a sample.
#[derive(Debug)]
pub struct Running<'a> {
    /// The first of the tests that run side by side.
    pub test: &'a Test,
    /// Index of the test, from 0.
    pub index: usize,
    /// The repeat, from 0; one more than there are where a deeper queue is tried.
    pub repeat: u32,
    /// Samples that ended, and how many there will be.
    pub samples: (usize, usize),
    /// Time in which requests have been counted; zero during the ramp.
    pub elapsed: Duration,
    /// Data moved by the requests counted.
    pub bytes: Bytes,
    /// Requests counted.
    pub requests: u64,
    /// Latencies of the requests, where [`Settings::watched`](crate::Settings::watched).
    pub latency: Option<LatencyHistogram>,
    /// The device since the sample began, where [`Settings::watched`](crate::Settings::watched) and known.
    pub device: Option<DeviceUse>,
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Target that was measured.
    pub target: MeasuredTarget,
    /// The tests with the samples that were taken, and the one that was cut short if it counted anything.
    pub tests: Vec<TestResult>,
    /// False while the run goes on, and for good when it was cut short.
    pub complete: bool,
    /// Doubts about the data.
    pub warnings: Vec<Warning>,
    /// The failed request that ended the run early, where one did.
    pub failure: Option<MeasureError>,
}
