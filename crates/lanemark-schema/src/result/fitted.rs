//! A drive's model fitted to measurements: its values, their uncertainty, and the remaining error.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Calibration, Provenance};

/// A drive whose model was fitted to runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedDrive {
    /// [`super::SCHEMA_VERSION`] of the program that wrote it.
    pub schema_version: u32,
    /// Program, machine and time from which the result came.
    pub provenance: Provenance,
    /// Name of the measured target in its results.
    pub measured: String,
    /// Names of the results.
    pub results: Vec<String>,
    /// The drive that supplies the values that the measurements do not determine.
    pub template: String,
    /// Platform on which the drive was measured.
    pub platform: String,
    /// Name of the port.
    pub port: String,
    /// Values that the fit could change, and their outcomes.
    pub parameters: Vec<FittedParameter>,
    /// Values of the host that follow from the processor time of the runs.
    pub host: Vec<Calibration>,
    /// Every measured figure with the value of the fitted model.
    pub figures: Vec<FittedFigure>,
    /// Values that such workloads cannot determine. The fit keeps the template's values.
    pub unseen: Vec<UndeterminedValue>,
    /// Warnings about the fit.
    pub warnings: Vec<FitWarning>,
    /// Simulations that the fit took.
    pub simulations: u64,
}

/// A value that the fit could change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedParameter {
    /// Path of the value, `drive.flash.read`.
    pub parameter: String,
    /// The value in the notation of a drive file, `52.1 us`; `None` if the model does not have this limit.
    pub value: Option<String>,
    /// Interval of the value at 95% confidence: minimum and maximum.
    pub interval_95: Option<(String, String)>,
    /// The range that contains the value in four of five such cases, even if the measurements only bound it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_80: Option<(String, String)>,
    /// The template's value.
    pub template: Option<String>,
    /// Degree to which the measurements determine the value.
    pub standing: Determination,
}

/// The degree to which measurements determine a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Determination {
    /// The measurements determine the value.
    Identified,
    /// The measurements only bound the value on one side or hardly determine it; the test in `needs` would determine
    /// it.
    Open {
        /// Whether the template's value is kept. A template value that contradicts the measurements is replaced by the
        /// nearest value that does not.
        kept_template: bool,
        /// Path of the other value with which it correlates, if there is one.
        with: Option<String>,
        /// The test that would determine the value.
        needs: String,
    },
}

/// A value that such measurements cannot determine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndeterminedValue {
    /// Path of the value.
    pub parameter: String,
    /// Reason why the measurements do not determine the value, and the test that would.
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
    /// The median latency of reads, in ns.
    ReadMedian,
    /// The 99th percentile of the latency of reads, in ns.
    ReadTail,
    /// Mean latency of writes, in ns.
    WriteMean,
    /// The median latency of writes, in ns.
    WriteMedian,
    /// The 99th percentile of the latency of writes, in ns.
    WriteTail,
}

impl FittedFigure {
    /// Returns the relative error of the model: modelled over measured, minus one.
    pub fn error(&self) -> f64 {
        self.modelled / self.measured - 1.0
    }
}

impl FittedDrive {
    /// Returns the absolute errors of throughput, in ascending order.
    pub fn errors(&self) -> Vec<f64> {
        let throughput = |figure: &&FittedFigure| figure.kind == FigureKind::Throughput;
        let mut errors: Vec<f64> =
            self.figures.iter().filter(throughput).map(|figure| figure.error().abs()).collect();
        errors.sort_by(f64::total_cmp);
        errors
    }
}

/// A warning about a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FitWarning {
    /// The figures are results of a simulation.
    Simulated {
        /// Name of the simulated system.
        system: String,
    },
    /// The runs wrote nothing.
    NoWrites,
    /// A test was skipped.
    LeftOut {
        /// Name of the test.
        test: String,
        /// Reason as text.
        reason: String,
    },
    /// Single reads completed faster than flash can be sensed. Tests that read the same offsets were skipped.
    WithoutFlash {
        /// Name of the test.
        test: String,
        /// Mean latency of its reads in nanoseconds.
        read_ns: f64,
        /// The minimum latency of flash over this path, in nanoseconds.
        least_ns: f64,
        /// Number of skipped tests.
        left_out: u32,
    },
    /// A grid is so large that only a part of its tests is used.
    Thinned {
        /// Number of used tests.
        used: u32,
        /// Number of tests of the results.
        all: u32,
    },
    /// The search ended at its maximum work.
    Ended {
        /// Number of simulated requests.
        requests: u64,
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
        /// Ratio of the two scatters.
        times: f64,
    },
    /// The runs have warnings.
    Warned {
        /// Number of warnings.
        warnings: u32,
    },
}

impl FitWarning {
    /// Returns the advice for the warning.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Simulated { .. } => {
                "the fit is a test of itself; `lanemark bench` measures a real drive"
            }
            Self::NoWrites => {
                "--workload fit contains tests that write, on a file that may be written"
            }
            Self::LeftOut { .. } => {
                "the other tests are used; the workload `fit` contains all required tests"
            }
            Self::WithoutFlash { .. } => {
                "blocks that were never written or are trimmed are not read from flash, and caches \
                 answer without reading the flash: write the whole span first, or use a larger one"
            }
            Self::Thinned { .. } => {
                "the used tests are spread over kinds, lengths and depths; the workload `fit` is sufficient"
            }
            Self::Ended { .. } => {
                "the values are the best that were found until then; fewer or shallower tests need less work"
            }
            Self::Misses { .. } => {
                "the model does not represent this behaviour, or the template is another kind of drive: try another --like"
            }
            Self::Scatter { .. } => {
                "the intervals are widened by this factor; a template that is closer to the drive may help"
            }
            Self::Warned { .. } => "`lanemark report` shows the warnings, each with its advice",
        }
    }
}

impl fmt::Display for FitWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulated { system } => {
                write!(f, "the figures are simulated ({system}), not measured")
            }
            Self::NoWrites => {
                write!(f, "no test writes: all values of writes are the template's")
            }
            Self::LeftOut { test, reason } => write!(f, "{test}: skipped, because {reason}"),
            Self::WithoutFlash { test, read_ns, least_ns, left_out } => write!(
                f,
                "{test}: reads took {:.0} µs, but flash takes at least {:.0} µs; {left_out} tests that read there are skipped",
                read_ns / 1e3,
                least_ns / 1e3
            ),
            Self::Thinned { used, all } => write!(f, "{used} of {all} tests are used"),
            Self::Ended { requests } => write!(
                f,
                "the search ended after {:.0} million simulated requests",
                *requests as f64 / 1e6
            ),
            Self::Misses { test, error } => {
                write!(f, "{test}: the model's error is {:+.0}%", error * 100.0)
            }
            Self::Scatter { times } => {
                write!(
                    f,
                    "figures differ {times:.1} times as much from the model as from each other"
                )
            }
            Self::Warned { warnings: 1 } => write!(f, "the runs have a warning"),
            Self::Warned { warnings } => write!(f, "the runs have {warnings} warnings"),
        }
    }
}
