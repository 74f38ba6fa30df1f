//! A drive's model fitted to measurements: its values, their uncertainty, and the remaining error.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ParameterOverride, Provenance};

/// A drive whose model was fitted to the results of runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedDrive {
    /// [`super::SCHEMA_VERSION`] of the program that wrote it.
    pub schema_version: u32,
    /// Program, machine and time that produced the result.
    pub provenance: Provenance,
    /// Name of the measured target in the results.
    pub measured: String,
    /// Names of the results.
    pub results: Vec<String>,
    /// The drive that supplies the values that the measurements do not determine.
    pub template: String,
    /// Platform on which the drive was measured.
    pub platform: String,
    /// Name of the port.
    pub port: String,
    /// Values that the fit could change, each with its outcome.
    pub parameters: Vec<FittedParameter>,
    /// Host values that are computed from the processor time of the runs.
    pub host: Vec<ParameterOverride>,
    /// Every measured figure with the value of the fitted model.
    pub figures: Vec<FittedFigure>,
    /// Values that these workloads cannot determine. The fit keeps the template's values.
    pub unseen: Vec<UndeterminedValue>,
    /// Warnings about the fit.
    pub warnings: Vec<FitWarning>,
    /// Number of simulations that the fit ran.
    pub simulations: u64,
}

/// A value that the fit could change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedParameter {
    /// Path of the value, such as `drive.flash.read`.
    pub parameter: String,
    /// The value in the notation of a drive file, such as `52.1 us`; `None` if the model does not have this limit.
    pub value: Option<String>,
    /// 95% confidence interval of the value: minimum and maximum.
    pub interval_95: Option<(String, String)>,
    /// The range that contains the true value in four of five cases, even if the measurements only bound the value.
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
    /// The measurements only bound the value on one side, or hardly determine it. The test in `needs` would determine
    /// it.
    Open {
        /// Whether the template's value is kept. A template value that contradicts the measurements is replaced by the
        /// nearest value that is consistent with them.
        kept_template: bool,
        /// Path of another value with which this value correlates, if there is one.
        with: Option<String>,
        /// The test that would determine the value.
        needs: String,
    },
}

/// A value that measurements of this kind cannot determine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndeterminedValue {
    /// Path of the value.
    pub parameter: String,
    /// Reason why the measurements do not determine the value, and the test that would.
    pub needs: String,
}

/// A figure of a test, as measured and as modelled.
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
    /// Returns the relative error of the model: modelled divided by measured, minus one.
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
    /// Individual reads completed faster than flash can be sensed. Tests that read the same offsets were skipped.
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
    /// A grid of tests is so large that only some of the tests are used.
    Thinned {
        /// Number of used tests.
        used: u32,
        /// Number of tests in the results.
        all: u32,
    },
    /// The search reached its maximum amount of work.
    Ended {
        /// Number of simulated requests.
        requests: u64,
    },
    /// The model's error for a test exceeds a tenth.
    Misses {
        /// Name of the test.
        test: String,
        /// Relative error.
        error: f64,
    },
    /// The figures differ more from the model than from each other.
    Scatter {
        /// Ratio of the two differences.
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
                "a fit to simulated figures only tests the fit; use `lanemark bench` to measure a real drive"
            }
            Self::NoWrites => {
                "measure the workload `fit`, which contains tests that write, on a file that may be overwritten"
            }
            Self::LeftOut { .. } => {
                "the other tests are used; the workload `fit` contains all required tests"
            }
            Self::WithoutFlash { .. } => {
                "blocks that were never written or are trimmed are not read from flash, and caches \
                 answer without reading the flash: write the whole span first, or use a larger span"
            }
            Self::Thinned { .. } => {
                "the tests that are used cover all kinds, lengths and depths; the workload `fit` is sufficient"
            }
            Self::Ended { .. } => {
                "the values are the best until then; fewer tests or lower queue depths shorten the search"
            }
            Self::Misses { .. } => {
                "the model does not represent this behaviour, or the template is a different kind of \
                 drive: try a different --like"
            }
            Self::Scatter { .. } => {
                "the intervals are widened by this factor; a template that is more similar to the drive may fit better"
            }
            Self::Warned { .. } => "use `lanemark report` to read the warnings and the advice",
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
                write!(f, "no test writes: all values for writes come from the template")
            }
            Self::LeftOut { test, reason } => write!(f, "{test}: skipped, because {reason}"),
            Self::WithoutFlash { test, read_ns, least_ns, left_out } => write!(
                f,
                "{test}: reads took {:.0} µs, but flash takes at least {:.0} µs; {left_out} tests that read the \
                 same offsets are skipped",
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
                    "the figures differ from the model {times:.1} times as much as from each other"
                )
            }
            Self::Warned { warnings: 1 } => write!(f, "the runs reported a warning"),
            Self::Warned { warnings } => write!(f, "the runs reported {warnings} warnings"),
        }
    }
}
