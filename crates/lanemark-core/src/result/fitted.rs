//! A drive's model fitted to measurements: its values, their uncertainty, and the remaining error.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Calibration, Provenance};

/// A drive whose model was fitted to runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedDrive {
    /// [`super::SCHEMA_VERSION`] of the program that wrote it.
    pub schema_version: u32,
    /// Program, machine and time that the result came from.
    pub provenance: Provenance,
    /// Name of the measured target, as its results have it.
    pub measured: String,
    /// The results' names.
    pub results: Vec<String>,
    /// The drive whose values stand where the measurements say nothing.
    pub template: String,
    /// Platform that the drive was measured on.
    pub platform: String,
    /// Name of the port.
    pub port: String,
    /// Values that were free, and what became of each.
    pub parameters: Vec<FittedParameter>,
    /// Values of the host that the processor time of the runs tells.
    pub host: Vec<Calibration>,
    /// Every figure beside what the fitted model says.
    pub figures: Vec<FittedFigure>,
    /// Values that no such workload can tell, kept as the template has them.
    pub unseen: Vec<Unseen>,
    /// Doubts.
    pub doubts: Vec<FitDoubt>,
    /// Simulations that the fit took.
    pub simulations: u64,
}

/// A value that was free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedParameter {
    /// Path of the value, `drive.flash.read`.
    pub parameter: String,
    /// The value as a drive's file has it, `52.1 us`; none where the model has no such limit.
    pub value: Option<String>,
    /// Interval of the value at 95% confidence: least and greatest.
    pub interval_95: Option<(String, String)>,
    /// The range in which the value lies in four of five such cases, also where the measurements only bound it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_80: Option<(String, String)>,
    /// The template's value.
    pub template: Option<String>,
    /// Degree to which the measurements determine the value.
    pub standing: Standing,
}

/// The degree to which measurements determine a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Standing {
    /// The measurements determine the value.
    Identified,
    /// The measurements say no more than that the value is not beyond this one, or next to nothing; `needs` would
    /// determine it.
    Open {
        /// The template's value is kept, or where that contradicts the measurements the nearest one that does not.
        kept_template: bool,
        /// Path of the other value that it correlates with, where there is one.
        with: Option<String>,
        /// The test that would determine the value.
        needs: String,
    },
}

/// A value that such measurements never tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// Path of the value.
    pub parameter: String,
    /// Reason why the value is not seen, and what would determine it.
    pub needs: String,
}

/// A figure of a test, measured and modelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedFigure {
    /// Name of the test.
    pub test: String,
    /// Kind of the figure.
    pub kind: FigureKind,
    /// Mean length of the test's requests.
    pub request_bytes: f64,
    /// Measured value, in the unit of its kind.
    pub measured: f64,
    /// Value of the fitted model.
    pub modelled: f64,
}

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// Bytes a second.
    Throughput,
    /// Mean latency of reads, in ns.
    ReadMean,
    /// The latency that half of the reads do not exceed, in ns.
    ReadMedian,
    /// The latency that 99% of the reads do not exceed, in ns.
    ReadTail,
    /// Mean latency of writes, in ns.
    WriteMean,
    /// The latency that half of the writes do not exceed, in ns.
    WriteMedian,
    /// The latency that 99% of the writes do not exceed, in ns.
    WriteTail,
}

impl FittedFigure {
    /// Returns the relative error of the model: modelled over measured, less one.
    pub fn error(&self) -> f64 {
        self.modelled / self.measured - 1.0
    }
}

impl FittedDrive {
    /// The absolute errors of throughput, in order of size.
    pub fn errors(&self) -> Vec<f64> {
        let throughput = |figure: &&FittedFigure| figure.kind == FigureKind::Throughput;
        let mut errors: Vec<f64> =
            self.figures.iter().filter(throughput).map(|figure| figure.error().abs()).collect();
        errors.sort_by(f64::total_cmp);
        errors
    }
}

/// A doubt about a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FitDoubt {
    /// The figures are those of a model.
    Simulated {
        /// Name of the simulated system.
        system: String,
    },
    /// The runs wrote nothing.
    NoWrites,
    /// A test was left out.
    LeftOut {
        /// Name of the test.
        test: String,
        /// Reason, in words.
        reason: String,
    },
    /// Single reads were answered sooner than flash is sensed. Tests that read the same places were left out.
    WithoutFlash {
        /// Name of the test.
        test: String,
        /// Mean latency of its reads in nanoseconds.
        read_ns: f64,
        /// The least that flash takes over this path, in nanoseconds.
        least_ns: f64,
        /// Number of tests that were left out.
        left_out: u32,
    },
    /// The model misses a test by more than a tenth.
    Misses {
        /// Name of the test.
        test: String,
        /// Relative error.
        error: f64,
    },
    /// The measurements scatter more around the model than around each other.
    Scatter {
        /// Ratio of both scatters.
        times: f64,
    },
    /// The runs themselves carry doubts.
    Doubtful {
        /// Number of warnings.
        warnings: u32,
    },
}

impl FitDoubt {
    /// Returns the advice for the doubt.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Simulated { .. } => {
                "the fit is a test of itself; `lanemark bench` measures a real drive"
            }
            Self::NoWrites => "on a file that may be written, --workload fit has tests that write",
            Self::LeftOut { .. } => "the other tests stand; the workload `fit` has what is needed",
            Self::WithoutFlash { .. } => {
                "blocks that were never written or are trimmed are read from no flash, and caches answer for it: write the whole span first, or take a larger one"
            }
            Self::Misses { .. } => {
                "the model has no part that does this, or the template is another kind of drive: try another --like"
            }
            Self::Scatter { .. } => {
                "the intervals are widened by as much; a template that is more like the drive may help"
            }
            Self::Doubtful { .. } => "`lanemark report` shows them, each with its advice",
        }
    }
}

impl fmt::Display for FitDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulated { system } => {
                write!(f, "the figures are simulated ({system}), not measured")
            }
            Self::NoWrites => {
                write!(f, "no test writes: all that writing involves is the template's")
            }
            Self::LeftOut { test, reason } => write!(f, "{test}: left out, {reason}"),
            Self::WithoutFlash { test, read_ns, least_ns, left_out } => write!(
                f,
                "{test}: reads took {:.0} us where flash takes {:.0} us at least; {left_out} tests that read there are left out",
                read_ns / 1e3,
                least_ns / 1e3
            ),
            Self::Misses { test, error } => {
                write!(f, "{test}: the model misses it by {:+.0}%", error * 100.0)
            }
            Self::Scatter { times } => {
                write!(f, "figures lie {times:.1} times as far from the model as from each other")
            }
            Self::Doubtful { warnings: 1 } => write!(f, "the runs carry a doubt"),
            Self::Doubtful { warnings } => write!(f, "the runs carry {warnings} doubts"),
        }
    }
}
