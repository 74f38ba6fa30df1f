//! The errors in the input of a fit.

use lanemark_lab::{ErrorCause, LabError};
use lanemark_sim::SimError;
use lanemark_study::StudyError;

/// The reason why a fit is not possible.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// A library file or a system is invalid.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// No result was given.
    #[error("no result was given")]
    NoResults,
    /// A run was cut short.
    #[error("{result}: the run was cut short after {tests} of {all} tests")]
    CutShort {
        result: String,
        tests: usize,
        /// Number of tests in the workload.
        all: usize,
    },
    /// The runs measured different drives.
    #[error("{one_result} is a result for {one}, but {other_result} is for {other}")]
    SeveralDrives {
        one_result: String,
        /// Drive of that result.
        one: String,
        /// Name of another result.
        other_result: String,
        /// Drive of the other result.
        other: String,
    },
    /// A test has an impossible figure.
    #[error("{result}: test `{test}`: {figure} is {value}")]
    Figure { result: String, test: String, figure: &'static str, value: f64 },
    /// A test does not state a setting that its simulation needs.
    #[error("{result}: test `{test}`: {what} is not stated")]
    NotStated {
        result: String,
        test: String,
        /// The setting.
        what: &'static str,
        /// Option of `lanemark report` that supplies the setting.
        option: &'static str,
    },
    /// The results lack tests that every fit needs.
    #[error("the results lack {}", .missing.join(", and "))]
    Missing {
        /// The missing tests, each as text.
        missing: Vec<&'static str>,
    },
    /// Every read was too fast for flash.
    #[error(
        "test `{test}`: reads took {read_us:.0} µs, but flash takes at least {least_us:.0} µs, and there is no other test of small random requests"
    )]
    WithoutFlash {
        test: String,
        /// Mean latency of its reads, in microseconds.
        read_us: f64,
        /// The minimum time of a read from flash over this path, in microseconds.
        least_us: f64,
    },
    /// Either the template or the drive is a hard disk, but not both.
    #[error(
        "test `{test}`: reads took {read_ms:.2} ms at queue depth 1, like reads from a {}, but {template} is a {}",
        if *.is_disk { "solid-state drive" } else { "hard disk" },
        if *.is_disk { "hard disk" } else { "solid-state drive" }
    )]
    OtherMedia {
        test: String,
        /// Mean latency of its reads, in milliseconds.
        read_ms: f64,
        template: String,
        /// Whether the template is a hard disk.
        is_disk: bool,
    },
    /// The template is a cloud volume, whose limits are already known.
    #[error(
        "{template} is a cloud volume, whose limits are stated by the provider and cannot be fitted"
    )]
    CloudTemplate { template: String },
    /// The search reached a system or a test that is not valid.
    #[error("the search reached a system that cannot be simulated: {0}")]
    Unfit(String),
    /// The simulator rejected a test.
    #[error("test `{test}`: {error}")]
    Refused {
        test: String,
        /// Error of the simulation.
        error: SimError,
    },
}

impl PredictError {
    /// Returns advice on how to continue.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Study(error) => return error.hint.clone(),
            Self::NoResults | Self::Missing { .. } => {
                "`lanemark bench PATH fit` measures all required tests"
            }
            Self::NotStated { option, .. } => {
                return Some(format!(
                    "save the result with `lanemark report FILE {option} --out NEW.json`"
                ));
            }
            Self::CutShort { .. } => "run the workload again to its end",
            Self::SeveralDrives { .. } => "fit each drive to its own results",
            Self::Figure { .. } => "run that test again, because it did not transfer data",
            Self::WithoutFlash { .. } => {
                "write the whole span before it is measured (`lanemark bench --precondition snia`), or state the kind of drive with --like"
            }
            Self::OtherMedia { is_disk: true, .. } => "use a solid-state drive with --like",
            Self::OtherMedia { .. } => {
                "use a hard disk of the same speed with --like, such as seagate-barracuda-1tb or a file created by `lanemark drive --rpm`"
            }
            Self::CloudTemplate { .. } => "write the limits into [cloud] of a drive file",
            Self::Unfit(_) => "use a template that is more similar to the drive with --like",
            Self::Refused { .. } => {
                "use a smaller span, or a template with the capacity of the drive"
            }
        };
        Some(hint.to_owned())
    }
}

impl From<PredictError> for LabError {
    fn from(error: PredictError) -> Self {
        Self { cause: ErrorCause::Input, message: error.to_string(), hint: error.hint() }
    }
}
