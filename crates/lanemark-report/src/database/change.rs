//! Comparison of two runs: the change of each figure, whether the repeats show a change, and how many servers the
//! faster run saves.
//!
//! The first rows have the order of the chart in the paper that compares two kinds of drives: tpm, latency of reads, of
//! writes and of both, and processors. The overall latency covers all requests, reads and writes weighted by their
//! number.
//!
//! The verdict follows from the 80% interval of the ratio of the two means, as in every comparison. The interval is
//! based on Student's t-distribution; with two or three repeats it is wide, because few repeats give little evidence. A
//! single repeat does not have a spread, so it cannot show a change. A change is also not shown if other programs on
//! the processors could have caused it: that is, if other programs used more processor time during the run with the
//! worse figure.

use lanemark_plan::{Costs, Fleet, Node, Plan, PlanError};
use lanemark_schema::result::{
    FigureUncertainty, RatioEstimate, RatioVerdict, RunResult, Sample, Statistic, TestResult,
    UncertainFigure,
};
use lanemark_schema::workload::TransactionKind;

use super::figures::FIGURES;
use super::text::parts;

/// The share of the machine's processors from which the use by other programs is reported. If this share differs by the
/// same amount between two runs, other programs may explain the worse figure.
const OTHERS: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeVerdict {
    /// The interval of the ratio excludes 1.
    Distinct,
    /// The interval of the ratio contains 1, or is within 3% of 1.
    Indistinct,
    /// A run has a single repeat.
    NoSpread,
    /// Other programs on the processors may have caused the change.
    Others,
}

impl ChangeVerdict {
    /// Returns the word for the verdict in a table.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::Distinct => "yes",
            Self::Indistinct => "no",
            Self::NoSpread => "1 repeat",
            Self::Others => "others",
        }
    }

    /// Returns the verdict as text; `None` if the repeats show the change.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Distinct => None,
            Self::Indistinct => Some("no difference shown"),
            Self::NoSpread => Some("one repeat cannot show a difference"),
            Self::Others => Some("not shown: other programs used the processors"),
        }
    }
}

/// A figure with its values in two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureChange {
    /// Name of the figure, with its unit.
    pub name: String,
    /// Figure of the first run.
    pub from: Statistic,
    /// Figure of the second run.
    pub to: Statistic,
    /// Change in per cent of the first figure; `None` if that figure is 0.
    pub per_cent: Option<f64>,
    /// The second figure divided by the first.
    pub ratio: RatioEstimate,
    /// Whether the repeats show a difference.
    pub verdict: ChangeVerdict,
}

fn samples(run: &RunResult) -> &[Sample] {
    run.tests.first().map_or(&[], |test| &test.samples)
}

/// Returns the mean of a figure over the repeats; `None` if a repeat does not have the figure.
fn statistic(run: &RunResult, figure: &dyn Fn(&Sample) -> Option<f64>) -> Option<Statistic> {
    let known = samples(run).iter().all(|sample| figure(sample).is_some());
    run.tests.first().filter(|_| known)?.over_samples(figure)
}

fn per_minute(run: &RunResult) -> Option<Statistic> {
    statistic(run, &|sample| Some(sample.transactions.as_ref()?.per_minute))
}

/// Returns the maximum share of all processors that other programs used in a repeat.
fn other_processes_share(run: &RunResult) -> Option<f64> {
    let share = |sample: &Sample| sample.transactions.as_ref()?.processor_others;
    let shares: Option<Vec<f64>> = samples(run).iter().map(share).collect();
    shares?.into_iter().reduce(f64::max)
}

/// Describes the processor time of other programs, if it is so high that the figures are uncertain.
fn disturbance_sentence(run: &RunResult) -> Option<String> {
    let share = other_processes_share(run).filter(|&share| share > OTHERS)?;
    Some(format!("other programs used up to {:.0}% of the processors", 100.0 * share))
}

/// Returns whether other programs could have caused the difference between `a` and `b`; `more` is true if a larger
/// figure is better.
fn made_by_others(
    from: &RunResult,
    to: &RunResult,
    a: &Statistic,
    b: &Statistic,
    more: bool,
) -> bool {
    let Some((of_a, of_b)) = other_processes_share(from).zip(other_processes_share(to)) else {
        return false;
    };
    let b_is_worse = (b.value < a.value) == more;
    let (worse, better) = if b_is_worse { (of_b, of_a) } else { (of_a, of_b) };
    worse > OTHERS && worse - better > OTHERS
}

fn verdict(
    from: &RunResult,
    to: &RunResult,
    a: &Statistic,
    b: &Statistic,
    more: bool,
) -> ChangeVerdict {
    let ratio = ratio_of_repeats(a, b);
    if a.count.min(b.count) < 2 && ratio.interval_80().is_none() {
        return ChangeVerdict::NoSpread;
    }
    match ratio.verdict() {
        RatioVerdict::Same | RatioVerdict::NotShown => ChangeVerdict::Indistinct,
        RatioVerdict::Higher | RatioVerdict::Lower if made_by_others(from, to, a, b, more) => {
            ChangeVerdict::Others
        }
        RatioVerdict::Higher | RatioVerdict::Lower => ChangeVerdict::Distinct,
    }
}

/// Returns `b / a` with the interval from the repeats.
fn ratio_of_repeats(a: &Statistic, b: &Statistic) -> RatioEstimate {
    let [one, two] = [a, b].map(|figure| UncertainFigure {
        value: figure.value,
        uncertainty: FigureUncertainty::of_repeats(figure),
    });
    RatioEstimate::of_figures(one, two)
}

/// Compares the figures that both runs contain.
pub fn compare(from: &RunResult, to: &RunResult) -> Vec<FigureChange> {
    let mut changes = Vec::new();
    let mut add = |name: String, more: bool, figure: &dyn Fn(&Sample) -> Option<f64>| {
        if let Some((a, b)) = statistic(from, figure).zip(statistic(to, figure))
            && (a.value > 0.0 || b.value > 0.0)
        {
            let per_cent = (a.value > 0.0).then(|| 100.0 * (b.value / a.value - 1.0));
            let verdict = verdict(from, to, &a, &b, more);
            let ratio = ratio_of_repeats(&a, &b);
            changes.push(FigureChange { name, from: a, to: b, per_cent, ratio, verdict });
        }
    };
    for figure in FIGURES.iter().filter(|figure| figure.compared) {
        let name = match figure.unit {
            "1/min" => figure.name.to_owned(),
            unit => format!("{}, {unit}", figure.name),
        };
        add(name, figure.more, &figure.of);
    }
    for kind in TransactionKind::ALL {
        let use_of = move |sample: &Sample| {
            let used = sample.transactions.as_ref()?.kinds.get(&kind)?;
            (used.latency.count() > 0).then(|| used.latency.clone())
        };
        add(format!("{}, mean, ms", kind.name()), false, &|sample| {
            use_of(sample).map(|latency| latency.mean_ns() / 1e6)
        });
        add(format!("{}, 95%, ms", kind.name()), false, &|sample| {
            use_of(sample)?.percentile_ns(95.0).map(|ns| ns as f64 / 1e6)
        });
    }
    changes
}

/// Computes how many of `nodes` servers the second run saves compared with the first; `None` if the repeats show no
/// difference in tpm, because then no saving can be derived.
///
/// # Errors
/// Returns an error if a run does not have a repeat.
pub fn nodes_saved(
    from: &RunResult,
    to: &RunResult,
    nodes: u32,
) -> Result<Option<SavedServers>, PlanError> {
    let (Some(a), Some(b)) = (per_minute(from), per_minute(to)) else {
        let bound = "both runs must have at least one repeat";
        return Err(PlanError { input: "repeats", value: "0".to_owned(), bound });
    };
    // The number of servers cannot be determined from a rate below one transaction a minute.
    if verdict(from, to, &a, &b, true) != ChangeVerdict::Distinct || a.min < 1.0 || b.min < 1.0 {
        return Ok(None);
    }
    let saved = |present: f64, other: f64| {
        let present = present.round();
        let other = other.round();
        let node =
            |name: &str, rate| Node { name: name.to_owned(), rate, watts: 0.0, drive_price: 0.0 };
        let fleet = Fleet {
            demand: present * f64::from(nodes),
            unit: "tpm".to_owned(),
            spare_share: 0.0,
            spare_nodes: 0,
            present: node("A", present),
            other: node("B", other),
            costs: Costs::default(),
        };
        fleet.servers()
    };
    let least = saved(a.max, b.min)?;
    let greatest = saved(a.min, b.max)?;
    Ok(Some(SavedServers { plan: saved(a.value, b.value)?, least, greatest }))
}

/// The servers that a faster run saves.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedServers {
    /// The plan based on the mean tpm of both runs.
    pub plan: Plan,
    /// The plan based on the repeats that are the most unfavourable to the second run.
    pub least: Plan,
    /// The plan based on the repeats that favour the second run most.
    pub greatest: Plan,
}

/// Returns the reasons not to compare the two runs, if there are any.
pub fn warnings(from: &RunResult, to: &RunResult) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut differ = |what: &str, a: String, b: String| {
        if a != b {
            warnings.push(format!("{what} differs: {a} and {b}"));
        }
    };
    let (Some((of_a, a, ours)), Some((of_b, b, theirs))) = (parts(from), parts(to)) else {
        return warnings;
    };
    let seconds =
        |test: &TestResult| format!("{} s", test.test.duration.unwrap_or_default().as_seconds());
    differ("the database", of_a.product.clone(), of_b.product.clone());
    differ("warehouses", ours.warehouses.to_string(), theirs.warehouses.to_string());
    differ("scale", ours.divisor.to_string(), theirs.divisor.to_string());
    differ("the profile", ours.profile.name().to_owned(), theirs.profile.name().to_owned());
    differ("users", a.test.threads.to_string(), b.test.threads.to_string());
    differ("think times", ours.think_times.to_string(), theirs.think_times.to_string());
    differ("the pause", ours.pause.to_string(), theirs.pause.to_string());
    differ("the duration", seconds(a), seconds(b));
    for (side, run, test) in [("A", from, a), ("B", to, b)] {
        if test.samples.len() < 3 {
            warnings.push(format!("{side}: fewer than 3 repeats, {}", test.samples.len()));
        }
        match other_processes_share(run) {
            None => {
                warnings.push(format!("{side}: the processor time of other programs is not known"));
            }
            _ => warnings
                .extend(disturbance_sentence(run).map(|warning| format!("{side}: {warning}"))),
        }
    }
    warnings
}
