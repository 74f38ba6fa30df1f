//! Two runs side by side: the change of each figure in per cent, where it may lie by the repeats, and how many
//! servers the faster one leaves out.
//!
//! The first rows are those of the chart in the paper that compares two kinds of drive in this way (tpm, latency of
//! reads, writes and both, processors); their overall latency is of all requests together, reads and writes by their
//! number.

use lanemark_core::plan::{Costs, Fleet, Node, Plan, PlanError};
use lanemark_core::result::Statistic;

use crate::profile::TransactionKind;
use crate::result::{OltpRepeat, OltpResult};

/// One figure of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it is, with its unit.
    pub name: String,
    /// Of the first run.
    pub from: Statistic,
    /// Of the second.
    pub to: Statistic,
    /// In per cent of the first.
    pub per_cent: f64,
    /// The least and greatest change between any repeat of one and any of the other.
    pub range_per_cent: (f64, f64),
}

/// The figures that both runs have.
pub fn compare(from: &OltpResult, to: &OltpResult) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut add = |name: String, figure: &dyn Fn(&OltpRepeat) -> Option<f64>| {
        if let Some((a, b)) = from.statistic(figure).zip(to.statistic(figure))
            && a.value > 0.0
        {
            let per_cent = |ratio: f64| 100.0 * (ratio - 1.0);
            let (least, greatest) = b.ratio_range(&a);
            changes.push(Change {
                name,
                from: a,
                to: b,
                per_cent: per_cent(b.value / a.value),
                range_per_cent: (per_cent(least), per_cent(greatest)),
            });
        }
    };
    add("tpm".to_owned(), &|repeat| Some(repeat.tpm));
    add("NOPM".to_owned(), &|repeat| Some(repeat.nopm));
    add("device read, us".to_owned(), &|repeat| repeat.device.as_ref()?.read_us());
    add("device write, us".to_owned(), &|repeat| repeat.device.as_ref()?.write_us());
    add("device overall, us".to_owned(), &|repeat| repeat.device.as_ref()?.overall_us());
    add("processors busy, %".to_owned(), &|repeat| Some(100.0 * repeat.processor_busy?));
    add("database CPU, us each".to_owned(), &|repeat| {
        repeat.each(1e6 * repeat.processor.as_ref()?.server_s?)
    });
    add("device share of time, %".to_owned(), &|repeat| Some(100.0 * repeat.device_share()?));
    add("latency, mean, ms".to_owned(), &|repeat| Some(repeat.latency_ms()));
    for kind in TransactionKind::ALL {
        let use_of = move |repeat: &OltpRepeat| repeat.transactions.get(&kind).cloned();
        add(format!("{}, mean, ms", kind.name()), &|repeat| {
            use_of(repeat).map(|one| one.latency.mean_ns() / 1e6)
        });
        add(format!("{}, 95%, ms", kind.name()), &|repeat| {
            use_of(repeat)?.latency.percentile_ns(95.0).map(|ns| ns as f64 / 1e6)
        });
    }
    changes
}

/// How many of `nodes` servers that do as the first run the second leaves out.
pub fn nodes_saved(
    from: &OltpResult,
    to: &OltpResult,
    nodes: u32,
) -> Result<NodesSaved, PlanError> {
    let (Some(a), Some(b)) =
        (from.statistic(|repeat| Some(repeat.tpm)), to.statistic(|repeat| Some(repeat.tpm)))
    else {
        let bound = "both runs need a repeat";
        return Err(PlanError { input: "repeats", value: "0".to_owned(), bound });
    };
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
    Ok(NodesSaved { plan: saved(a.value, b.value)?, least, greatest })
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
    for result in [from, to] {
        if result.repeats.len() < 3 {
            let count = result.repeats.len();
            doubts.push(format!("{}: fewer than 3 repeats, {count}", result.database.name));
        }
    }
    doubts
}

/// Whether transactions were statements or procedures; statements in results from before there was a choice.
fn transactions_as(result: &OltpResult) -> String {
    result.database.settings.get("transactions").map_or("statements", String::as_str).to_owned()
}
