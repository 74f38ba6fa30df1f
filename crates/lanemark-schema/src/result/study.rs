//! The result of a study: systems and tests, compared with published figures.

use serde::{Deserialize, Serialize};

use super::{
    FigureUncertainty, HopId, Provenance, RatioEstimate, RunResult, SCHEMA_VERSION, Sample,
    Statistic, Target, TestResult, Warning,
};
use crate::named_enum;
use crate::text::saved_as_text;
use crate::workload::AverageMethod;

/// The result of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyOutcome {
    /// [`SCHEMA_VERSION`] of the program that wrote it.
    pub schema_version: u32,
    /// Program, machine and time that produced the result.
    pub provenance: Provenance,
    /// Name of the study's file, such as `sata-vs-nvme-crystaldiskmark`.
    pub id: String,
    /// Display name.
    pub title: String,
    /// Question of the study.
    pub question: String,
    /// Publication with which the study is compared.
    pub document: Publication,
    /// The systems, in the order of the columns.
    pub systems: Vec<StudySystem>,
    /// The published figures, each with the simulated value.
    pub figures: Vec<FigureCheck>,
    /// The comparison that answers the question.
    pub comparison: Option<SystemComparison>,
    /// The written answer to the question, filled with the simulated figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<StudyAnswer>,
    /// Published figures of the document that the study does not simulate, each with the reason.
    #[serde(default)]
    pub not_modelled: Vec<UnmodelledFigures>,
    /// Notes for the reader, such as contradictions in the document, and large errors with their likely causes.
    pub notes: Vec<String>,
}

/// The written answer of a study, and the claims on which it rests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyAnswer {
    /// The answer in one or two sentences.
    pub text: String,
    /// The claims, checked with the simulated figures.
    pub claims: Vec<StudyClaim>,
}

/// A claim about simulated figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyClaim {
    /// The bounded figure, ratio or difference, as the study writes it.
    pub claim: String,
    /// Simulated value of the figure, ratio or difference.
    pub value: f64,
    /// Minimum that the claim states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// Maximum that the claim states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// Whether the value is within the bounds.
    pub holds: bool,
}

impl StudyAnswer {
    /// Returns whether all claims hold, so that the text is true.
    pub fn holds(&self) -> bool {
        self.claims.iter().all(|claim| claim.holds)
    }
}

/// A publication.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Publication {
    /// File name of the document among the references.
    pub file: String,
    /// Author, title, year.
    pub citation: String,
}

/// A system of the study: one column of its table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudySystem {
    /// Name that the study's figures use for the system.
    pub name: String,
    /// Display name.
    pub label: String,
    /// Result of the simulation.
    pub run: RunResult,
}

/// A published number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedFigure {
    /// Id of the figure in the references, such as `NV001`.
    pub id: String,
    /// Name of the figure's system in the study.
    pub system: String,
    /// Name of the test in the workload.
    pub test: String,
    /// Quantity of the figure.
    pub metric: FigureMetric,
    /// The value in the metric's unit.
    pub published: f64,
    /// Meaning of the value: exact, or a bound.
    #[serde(default)]
    pub bound: BoundKind,
    /// The system to which a gain is relative, as named in the study.
    #[serde(default)]
    pub over: Option<String>,
    /// Location of the figure in the document, such as `Table 1`.
    pub place: String,
    /// Role of the figure: whether a model value was set from it.
    pub role: FigureRole,
}

/// Published figures that the study does not simulate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnmodelledFigures {
    /// Ids of the figures in the references.
    pub figures: Vec<String>,
    /// Reason why the figures are not modelled.
    pub reason: String,
}

/// The meaning of a published value: exact, or a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundKind {
    /// The published value is exact or approximate.
    #[default]
    Exactly,
    /// The published value is a minimum: only a smaller simulated value is an error.
    AtLeast,
    /// The published value is a maximum: only a larger simulated value is an error.
    AtMost,
}

named_enum! {
    /// The quantity of a published figure.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(try_from = "String", into = "String")]
    pub enum FigureMetric {
        /// MB/s, 10^6 bytes a second.
        Throughput = "throughput",
        /// Requests a second.
        Iops = "iops",
        /// Mean latency in microseconds.
        Latency = "latency",
        /// The share of a request's latency that is spent in the processor or controller, in per cent.
        ProcessorShare = "processor-share",
        /// Throughput divided by the throughput of another system, minus one, in per cent.
        Gain = "gain",
        /// Mean power of the drives in watts.
        Power = "power",
        /// Battery life of the platform, in hours.
        BatteryLife = "battery-life",
        /// Transactions a minute.
        Transactions = "transactions",
        /// Mean latency of reads in microseconds.
        ReadLatency = "read-latency",
        /// Mean latency of writes in microseconds.
        WriteLatency = "write-latency",
        /// The share of the database server's processors that is busy, in per cent.
        ProcessorUse = "processor-use",
    }
}
saved_as_text!(FigureMetric);

/// Whether a model value was set from a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureRole {
    /// The model was calibrated with the figure. The model must therefore reproduce the figure, and doing so proves
    /// nothing.
    Calibrated,
    /// The figure was not used for the model, so its error tests the model.
    Predicted,
}

/// A published figure and the simulated value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureCheck {
    /// The figure.
    #[serde(flatten)]
    pub figure: PublishedFigure,
    /// Value of the model, in the figure's unit.
    pub simulated: Statistic,
    /// Relative error of the model: simulated divided by published, minus one.
    pub error: f64,
}

/// A comparison of two systems test by test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemComparison {
    /// The system in the numerator.
    pub system: String,
    /// The system in the denominator.
    pub base: String,
    /// The ratios, by test.
    pub ratios: Vec<TestRatio>,
}

/// The ratio of two systems in a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestRatio {
    /// Name of the test.
    pub test: String,
    /// The simulated ratio.
    #[serde(flatten)]
    pub simulated: RatioEstimate,
    /// The published ratio, if both figures are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
}

impl PublishedFigure {
    /// Returns whether the figure is the throughput, or the rate of transactions, of a test on a system.
    pub fn is_rate_of(&self, system: &str, test: &str) -> bool {
        self.system == system
            && self.test == test
            && matches!(self.metric, FigureMetric::Throughput | FigureMetric::Transactions)
    }
}

impl FigureMetric {
    /// Returns the unit of the metric.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Throughput => "MB/s",
            Self::Iops => "IOPS",
            Self::Latency | Self::ReadLatency | Self::WriteLatency => "µs",
            Self::ProcessorShare | Self::Gain | Self::ProcessorUse => "%",
            Self::Power => "W",
            Self::BatteryLife => "h",
            Self::Transactions => "tpm",
        }
    }

    /// Returns the metric's value in `result`, in [`FigureMetric::unit`]. The statistic is empty for a gain, which
    /// requires two results (see [`FigureMetric::gain`]), and for unknown power.
    pub fn value_in(self, result: &TestResult) -> Statistic {
        let (statistic, steps) = match self {
            Self::Throughput => (result.throughput_bytes_per_second, 1e6),
            Self::Iops => (result.iops, 1.0),
            Self::Latency => (result.latency_mean_ns, 1e3),
            Self::ProcessorShare => (processor_share(result), 0.01),
            Self::Gain => (Statistic::default(), 1.0),
            Self::Power => (result.power_mean_watts().unwrap_or_default(), 1.0),
            Self::BatteryLife => (result.battery_hours().unwrap_or_default(), 1.0),
            Self::Transactions => (result.transactions_per_minute().unwrap_or_default(), 1.0),
            Self::ReadLatency => (result.read_latency_ns().unwrap_or_default(), 1e3),
            Self::WriteLatency => (result.write_latency_ns().unwrap_or_default(), 1e3),
            Self::ProcessorUse => {
                (result.of_transactions(|all| all.processor_busy).unwrap_or_default(), 0.01)
            }
        };
        Statistic {
            value: statistic.value / steps,
            min: statistic.min / steps,
            max: statistic.max / steps,
            deviation: statistic.deviation.map(|deviation| deviation / steps),
            count: statistic.count,
            interval_95: statistic.interval_95.map(|(low, high)| (low / steps, high / steps)),
        }
    }
}

impl FigureMetric {
    /// Returns the bounds of the metric's 80% interval in `result`, in [`FigureMetric::unit`]. Only rates and the mean
    /// latency have an interval.
    pub fn interval(self, result: &TestResult) -> Option<(f64, f64)> {
        let interval = result.interval.as_ref()?;
        let (low, high) = match self {
            Self::Throughput | Self::Iops => (interval.low_ratio, interval.high_ratio),
            Self::Latency => (1.0 / interval.high_ratio, 1.0 / interval.low_ratio),
            Self::ProcessorShare
            | Self::Gain
            | Self::Power
            | Self::BatteryLife
            | Self::Transactions
            | Self::ReadLatency
            | Self::WriteLatency
            | Self::ProcessorUse => return None,
        };
        let value = self.value_in(result).value;
        Some((value * low, value * high))
    }

    /// Returns the uncertainty of `figure`, which is this metric of `result`: of its repeats, and of the prediction if
    /// the run is simulated. `None` if one of them is not known.
    pub fn uncertainty(
        self,
        figure: &Statistic,
        result: &TestResult,
        is_simulated: bool,
    ) -> Option<FigureUncertainty> {
        let of_repeats = FigureUncertainty::of_repeats(figure)?;
        if !is_simulated {
            return Some(of_repeats);
        }
        // The mix of requests in a transaction does not change, so both rates have the same uncertainty.
        let metric = if self == Self::Transactions { Self::Iops } else { self };
        let predicted = metric.value_in(result).value;
        let (low, high) = metric.interval(result)?;
        Some(of_repeats.and(FigureUncertainty::of_interval(predicted, low, high)?))
    }

    /// Returns the gain in throughput of `result` over `base`, in per cent.
    pub fn gain(result: &TestResult, base: &TestResult) -> Statistic {
        let above = result.throughput_bytes_per_second;
        let below = base.throughput_bytes_per_second;
        let per_cent = |ratio: f64| (ratio - 1.0) * 100.0;
        let (low, high) = above.ratio_range(&below);
        Statistic {
            value: per_cent(above.value / below.value),
            min: per_cent(low),
            max: per_cent(high),
            deviation: None,
            count: above.count.min(below.count),
            interval_95: None,
        }
    }
}

/// Returns the share of a request's latency that is spent in the processor.
fn processor_share(result: &TestResult) -> Statistic {
    let share = |sample: &Sample| {
        let Some(path) = &sample.path else { return 0.0 };
        let total: f64 = path.hops.iter().map(|hop| hop.wait_ns + hop.service_ns).sum();
        path.hop(HopId::Cpu).map_or(0.0, |hop| (hop.wait_ns + hop.service_ns) / total)
    };
    let shares: Vec<f64> = result.samples.iter().map(share).collect();
    Statistic::from_values(&shares, AverageMethod::Mean)
}

/// Figures of one drive and one test that differ by no more than this share are treated as the same fact.
const NEAR: f64 = 0.02;
/// Figures of one system at several request lengths that differ by no more than this share are treated as the same
/// fact.
const NEAR_LENGTH: f64 = 0.05;

impl FigureCheck {
    /// Compares `figure` with the simulated value.
    pub fn new(figure: PublishedFigure, simulated: Statistic) -> Self {
        // A gain is a ratio minus one; its error is the error of the ratio.
        let off = if figure.metric == FigureMetric::Gain {
            (100.0 + simulated.value) / (100.0 + figure.published) - 1.0
        } else {
            simulated.value / figure.published - 1.0
        };
        let error = match figure.bound {
            BoundKind::Exactly => off,
            BoundKind::AtLeast => off.min(0.0),
            BoundKind::AtMost => off.max(0.0),
        };
        Self { figure, simulated, error }
    }
}

impl StudyOutcome {
    /// The schema version that this program writes.
    pub const SCHEMA_VERSION: u32 = SCHEMA_VERSION;

    /// Returns the figures whose role is `role`.
    pub fn figures_of(&self, role: FigureRole) -> impl Iterator<Item = &FigureCheck> {
        self.figures.iter().filter(move |check| check.figure.role == role)
    }

    /// Returns the figures of this role that are independent evidence: exact values, without repeats. Bounds are
    /// omitted, because every value on the correct side satisfies them. Near repeats are omitted, because they state
    /// the same fact again. A near repeat is within 2% of an earlier figure for the same drive and test, or within 5%
    /// of an earlier figure for the same system and kind of request at a different length. Both the published and the
    /// simulated values must be that close.
    pub fn distinct(&self, role: FigureRole) -> Vec<&FigureCheck> {
        let drive = |check: &FigureCheck| {
            let system =
                self.systems.iter().find(|candidate| candidate.name == check.figure.system)?;
            if let Target::Simulated(target) = &system.run.target {
                Some(target.drive.as_str())
            } else {
                None
            }
        };
        let test = |check: &FigureCheck| {
            let system =
                self.systems.iter().find(|candidate| candidate.name == check.figure.system)?;
            Some(&system.run.test(&check.figure.test)?.test)
        };
        let are_same_test = |check: &FigureCheck, other: &FigureCheck| {
            let (Some(own), Some(before)) = (test(check), test(other)) else { return false };
            own.pattern() == before.pattern()
                && own.read_share() == before.read_share()
                && own.population() == before.population()
        };
        let are_near = |check: &FigureCheck, other: &FigureCheck, share: f64| {
            let within = |a: f64, b: f64| (a - b).abs() <= share * b.abs();
            within(check.figure.published, other.figure.published)
                && within(check.simulated.value, other.simulated.value)
        };
        let repeats = |check: &FigureCheck, other: &FigureCheck| {
            let own = &check.figure;
            let before = &other.figure;
            let same_drive = drive(check).is_some() && drive(check) == drive(other);
            own.metric == before.metric
                && (own.test == before.test && same_drive && are_near(check, other, NEAR)
                    || own.system == before.system
                        && are_same_test(check, other)
                        && are_near(check, other, NEAR_LENGTH))
        };
        // A calibrated figure takes precedence, regardless of its position in the study.
        let mut order: Vec<&FigureCheck> = self.figures.iter().collect();
        order.sort_by_key(|check| check.figure.role == FigureRole::Predicted);
        let mut kept: Vec<&FigureCheck> = Vec::new();
        for check in order {
            let exact = check.figure.bound == BoundKind::Exactly && check.error.is_finite();
            if exact && !kept.iter().any(|other| repeats(check, other)) {
                kept.push(check);
            }
        }
        kept.retain(|check| check.figure.role == role);
        kept
    }

    /// Returns the median width of the 80% intervals for one role's figures. A width is the upper divided by the lower
    /// bound.
    pub fn interval_width(&self, role: FigureRole) -> Option<f64> {
        let ends = self.figures_of(role).filter_map(|check| self.interval(&check.figure));
        let widths: Vec<f64> =
            ends.map(|(low, high)| high / low).filter(|width| !width.is_nan()).collect();
        (!widths.is_empty()).then(|| Statistic::from_values(&widths, AverageMethod::Median).value)
    }

    /// Returns the 80% interval of the simulated value of a figure, in its unit, if there is one.
    pub fn interval(&self, figure: &PublishedFigure) -> Option<(f64, f64)> {
        let system = self.systems.iter().find(|system| system.name == figure.system)?;
        figure.metric.interval(system.run.test(&figure.test)?)
    }

    /// Returns the number of figures of this role for which an interval is known, and the number of these figures that
    /// are inside their interval.
    pub fn within(&self, role: FigureRole) -> (usize, usize) {
        let mut counts = (0, 0);
        for check in self.figures_of(role) {
            let Some((low, high)) = self.interval(&check.figure) else { continue };
            let published = check.figure.published;
            let inside = match check.figure.bound {
                BoundKind::Exactly => low <= published && published <= high,
                BoundKind::AtLeast => published <= high,
                BoundKind::AtMost => low <= published,
            };
            counts = (counts.0 + 1, counts.1 + usize::from(inside));
        }
        counts
    }

    /// Returns the figure published for a test of a system.
    pub fn figure(&self, system: &str, test: &str) -> Option<&FigureCheck> {
        self.figures.iter().find(|check| check.figure.system == system && check.figure.test == test)
    }

    /// Returns the warnings of all systems, without repeats.
    pub fn warnings(&self) -> Vec<&Warning> {
        let mut seen: Vec<&Warning> = Vec::new();
        for warning in self.systems.iter().flat_map(|system| &system.run.warnings) {
            if !seen.contains(&warning) {
                seen.push(warning);
            }
        }
        seen
    }
}

#[cfg(test)]
#[path = "study_tests.rs"]
mod tests;
