//! Two runs side by side: the change of each figure, whether the repeats show one at all, and how many servers the
//! faster run leaves out.
//!
//! The first rows are those of the chart in the paper that compares two kinds of drive in this way (tpm, latency of
//! reads, writes and both, processors); their overall latency is of all requests together, reads and writes by their
//! number.
//!
//! A change is shown where the 95% intervals of both means do not overlap; they are Student's, which with two or three
//! repeats are wide, as what so few repeats tell is. A single repeat tells of no spread and shows no change. Nor does a
//! change show anything that other programs on the processors could have made: where the run that did worse had more
//! of them beside it.

use lanemark_core::plan::{Costs, Fleet, Node, Plan, PlanError};
use lanemark_core::result::Statistic;

use crate::profile::TransactionKind;
use crate::result::{OltpRepeat, OltpResult};

/// The share of the machine's processors from which on other programs are told, and by how much one run must have had
/// more of them than the other to explain that it did worse.
const OTHERS: f64 = 0.05;

/// Two-sided 95% points of Student's distribution for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// What the repeats say of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The intervals do not overlap.
    Shown,
    /// They do.
    NotShown,
    /// A run has a single repeat.
    NoSpread,
    /// Other programs on the processors could have made it.
    Others,
}

impl Verdict {
    /// In words; nothing where the change is shown.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Shown => None,
            Self::NotShown => Some("no difference shown"),
            Self::NoSpread => Some("no difference shown by one repeat"),
            Self::Others => Some("not shown: others were on the processors"),
        }
    }
}

/// One figure of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it is, with its unit.
    pub name: String,
    /// Of the first run.
    pub from: Statistic,
    /// Of the second.
    pub to: Statistic,
    /// In per cent of the first, unless that is nothing.
    pub per_cent: Option<f64>,
    /// Whether there is a difference.
    pub verdict: Verdict,
}

/// Where the mean of repeats lies with 95% confidence, if they are normally spread; nothing for fewer than two.
pub fn interval(statistic: &Statistic) -> Option<(f64, f64)> {
    let freedom = usize::try_from(statistic.count).ok()?.checked_sub(1).filter(|&one| one > 0)?;
    let point = STUDENT.get(freedom - 1).copied().unwrap_or(2.0);
    let half = point * statistic.deviation? / f64::from(statistic.count).sqrt();
    Some((statistic.value - half, statistic.value + half))
}

/// The most that other programs had of the processors in a repeat, as a share of all of them.
fn others(result: &OltpResult) -> Option<f64> {
    let shares: Option<Vec<f64>> =
        result.repeats.iter().map(|repeat| repeat.processor_others).collect();
    shares?.into_iter().reduce(f64::max)
}

/// What other programs had of the processors, where it is enough to doubt the figures.
pub(crate) fn disturbed(result: &OltpResult) -> Option<String> {
    let share = others(result).filter(|&share| share > OTHERS)?;
    Some(format!("others had up to {:.0}% of the processors", 100.0 * share))
}

/// Whether other programs could have made `b` differ from `a`; `more` says whether more of the figure is better.
fn made_by_others(
    (from, to): (&OltpResult, &OltpResult),
    (a, b): (&Statistic, &Statistic),
    more: bool,
) -> bool {
    let Some((of_a, of_b)) = others(from).zip(others(to)) else { return false };
    let b_is_worse = (b.value < a.value) == more;
    let (worse, better) = if b_is_worse { (of_b, of_a) } else { (of_a, of_b) };
    worse > OTHERS && worse - better > OTHERS
}

fn verdict(runs: (&OltpResult, &OltpResult), a: &Statistic, b: &Statistic, more: bool) -> Verdict {
    match interval(a).zip(interval(b)) {
        None => Verdict::NoSpread,
        Some(((a_low, a_high), (b_low, b_high))) if a_low <= b_high && b_low <= a_high => {
            Verdict::NotShown
        }
        Some(_) if made_by_others(runs, (a, b), more) => Verdict::Others,
        Some(_) => Verdict::Shown,
    }
}

/// The figures that both runs have.
pub fn compare(from: &OltpResult, to: &OltpResult) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut add = |name: String, more: bool, figure: &dyn Fn(&OltpRepeat) -> Option<f64>| {
        if let Some((a, b)) = from.statistic(figure).zip(to.statistic(figure))
            && (a.value > 0.0 || b.value > 0.0)
        {
            let per_cent = (a.value > 0.0).then(|| 100.0 * (b.value / a.value - 1.0));
            let verdict = verdict((from, to), &a, &b, more);
            changes.push(Change { name, from: a, to: b, per_cent, verdict });
        }
    };
    add("tpm".to_owned(), true, &|repeat| Some(repeat.tpm));
    add("NOPM".to_owned(), true, &|repeat| Some(repeat.nopm));
    add("device read, us".to_owned(), false, &|repeat| repeat.device.as_ref()?.read_us());
    add("device write, us".to_owned(), false, &|repeat| repeat.device.as_ref()?.write_us());
    add("device overall, us".to_owned(), false, &|repeat| repeat.device.as_ref()?.overall_us());
    add("processors busy, %".to_owned(), false, &|repeat| Some(100.0 * repeat.processor_busy?));
    add("database CPU, us each".to_owned(), false, &|repeat| {
        repeat.each(1e6 * repeat.processor.as_ref()?.server_s?)
    });
    add("device share of time, %".to_owned(), true, &|repeat| Some(100.0 * repeat.device_share()?));
    add("latency, mean, ms".to_owned(), false, &OltpRepeat::latency_ms);
    for kind in TransactionKind::ALL {
        let use_of = move |repeat: &OltpRepeat| {
            repeat.transactions.get(&kind).filter(|one| one.latency.count() > 0).cloned()
        };
        add(format!("{}, mean, ms", kind.name()), false, &|repeat| {
            use_of(repeat).map(|one| one.latency.mean_ns() / 1e6)
        });
        add(format!("{}, 95%, ms", kind.name()), false, &|repeat| {
            use_of(repeat)?.latency.percentile_ns(95.0).map(|ns| ns as f64 / 1e6)
        });
    }
    changes
}

/// How many of `nodes` servers that do as the first run the second leaves out; nothing where no difference in tpm is
/// shown, of which no server follows.
///
/// # Errors
/// Where a run has no repeat.
pub fn nodes_saved(
    from: &OltpResult,
    to: &OltpResult,
    nodes: u32,
) -> Result<Option<NodesSaved>, PlanError> {
    let (Some(a), Some(b)) =
        (from.statistic(|repeat| Some(repeat.tpm)), to.statistic(|repeat| Some(repeat.tpm)))
    else {
        let bound = "both runs need a repeat";
        return Err(PlanError { input: "repeats", value: "0".to_owned(), bound });
    };
    // Less than one transaction a minute is no rate that servers are counted by.
    if verdict((from, to), &a, &b, true) != Verdict::Shown || a.min < 1.0 || b.min < 1.0 {
        return Ok(None);
    }
    let saved = |present: f64, other: f64| {
        let (present, other) = (present.round(), other.round());
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
    Ok(Some(NodesSaved { plan: saved(a.value, b.value)?, least, greatest }))
}

/// The servers that a faster run leaves out.
#[derive(Clone, Debug, PartialEq)]
pub struct NodesSaved {
    /// By the mean tpm of both.
    pub plan: Plan,
    /// By the repeats that speak least for the second.
    pub least: Plan,
    /// By those that speak most for it.
    pub greatest: Plan,
}

/// Why the two should not be compared, if anything.
pub fn doubts(from: &OltpResult, to: &OltpResult) -> Vec<String> {
    let mut doubts = Vec::new();
    let mut differ = |what: &str, a: String, b: String| {
        if a != b {
            doubts.push(format!("{what} differs: {a} and {b}"));
        }
    };
    differ("the database", from.database.kind.clone(), to.database.kind.clone());
    differ("warehouses", from.scale.warehouses.to_string(), to.scale.warehouses.to_string());
    differ("scale", from.scale.divisor.to_string(), to.scale.divisor.to_string());
    differ("the profile", from.profile.name().to_owned(), to.profile.name().to_owned());
    differ("users", from.users.to_string(), to.users.to_string());
    differ("what transactions are", transactions_as(from), transactions_as(to));
    differ("think times", from.think_times.to_string(), to.think_times.to_string());
    differ("the duration", format!("{} s", from.duration_s), format!("{} s", to.duration_s));
    for (side, result) in [("A", from), ("B", to)] {
        if result.repeats.len() < 3 {
            doubts.push(format!("{side}: fewer than 3 repeats, {}", result.repeats.len()));
        }
        match others(result) {
            None if !result.repeats.is_empty() => doubts
                .push(format!("{side}: it is not known what other programs had of the processors")),
            _ => doubts.extend(disturbed(result).map(|doubt| format!("{side}: {doubt}"))),
        }
    }
    doubts
}

/// Whether transactions were statements or procedures; statements in results from before there was a choice.
fn transactions_as(result: &OltpResult) -> String {
    result.database.settings.get("transactions").map_or("statements", String::as_str).to_owned()
}
