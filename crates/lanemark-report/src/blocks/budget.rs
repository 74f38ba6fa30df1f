//! The time budget of a test: the mean latency of a request by hop, averaged over repeats.
//!
//! The waiting and service times of all hops sum to the mean latency. If several hops have the same name, the second
//! and later ones are numbered. Only simulated runs have a budget; the crate does not estimate one for other runs.

use std::collections::BTreeMap;

use lanemark_schema::result::{HopId, HopUse, PathLimit, PathUse, Sample, TestResult};
use lanemark_schema::workload::Load;

use crate::text::number::{
    LatencyUnit, fixed, known_value, latency_text, or_absent, percent, percent_whole, significant,
};
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// Utilisation from which a hop is called busy. Below this utilisation, by queueing theory, the waiting time of a
/// request is shorter than its service time or about as long, so the latency of an idle path is more informative.
const BUSY: f64 = 0.5;
/// Width of a utilisation bar in columns.
const BAR: usize = 10;

/// The time budget of a test, as the shares of all hops of its path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Budget {
    pub(crate) hops: Vec<HopShare>,
}

/// The share of one hop, averaged over repeats.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HopShare {
    pub(crate) id: HopId,
    pub(crate) name: String,
    /// Number of earlier hops with the same name.
    pub(crate) occurrence: usize,
    pub(crate) utilisation: f64,
    pub(crate) ceiling_megabytes: Option<f64>,
    pub(crate) wait_ns: f64,
    pub(crate) service_ns: f64,
}

impl Budget {
    /// Returns the budget of `result`; `None` if no repeat has a budget.
    pub(crate) fn from_result(result: &TestResult) -> Option<Self> {
        Self::of_paths(result.samples.iter().filter_map(|sample| sample.path.as_ref()))
    }

    /// Returns the budget of a path over several repeats; `None` if no repeat has hops.
    pub(crate) fn of_paths<'p>(paths: impl Iterator<Item = &'p PathUse>) -> Option<Self> {
        let paths = paths.map(|path| path.hops.as_slice()).filter(|hops| !hops.is_empty());
        let paths: Vec<&[HopUse]> = paths.collect();
        let mut by_hop: BTreeMap<HopId, Vec<&HopUse>> = BTreeMap::new();
        for hop in paths.iter().copied().flatten() {
            by_hop.entry(hop.id).or_default().push(hop);
        }
        let repeats = paths.len() as f64;
        let mut hops: Vec<HopShare> = Vec::new();
        for (id, uses) in &by_hop {
            let name = &uses[0].name;
            let mean = |value: fn(&HopUse) -> f64| {
                uses.iter().map(|hop| value(hop)).sum::<f64>() / repeats
            };
            let ceilings: Vec<f64> = uses
                .iter()
                .filter_map(|hop| hop.ceiling.map(|ceiling| ceiling.as_megabytes()))
                .collect();
            hops.push(HopShare {
                id: *id,
                occurrence: hops.iter().filter(|hop| hop.name == *name).count(),
                name: name.clone(),
                utilisation: mean(|hop| hop.utilisation),
                ceiling_megabytes: (!ceilings.is_empty())
                    .then(|| ceilings.iter().sum::<f64>() / ceilings.len() as f64),
                wait_ns: mean(|hop| hop.wait_ns),
                service_ns: mean(|hop| hop.service_ns),
            });
        }
        (!hops.is_empty()).then_some(Self { hops })
    }

    /// Returns the mean time that a request waits, over all hops.
    pub(crate) fn wait_ns(&self) -> f64 {
        self.hops.iter().map(|hop| hop.wait_ns).sum()
    }

    /// Returns the mean service time of a request, over all hops.
    pub(crate) fn service_ns(&self) -> f64 {
        self.hops.iter().map(|hop| hop.service_ns).sum()
    }

    pub(crate) fn total_ns(&self) -> f64 {
        self.hops.iter().map(HopShare::total_ns).sum()
    }

    /// Returns the hop with the highest utilisation; the first one if several have it.
    pub(crate) fn busiest(&self) -> Option<&HopShare> {
        self.hops
            .iter()
            .reduce(|most, hop| if hop.utilisation > most.utilisation { hop } else { most })
    }
}

impl HopShare {
    /// Returns the sum of the waiting and service times.
    pub(crate) fn total_ns(&self) -> f64 {
        self.wait_ns + self.service_ns
    }

    /// Returns the hop's name, with a number if an earlier hop has the same name.
    pub(crate) fn label(&self) -> String {
        match self.occurrence {
            0 => self.name.clone(),
            before => format!("{} ({})", self.name, before + 1),
        }
    }
}

/// Names the limit of the test: the busiest hop or, if no hop is busy, what determines the times of the requests, with
/// the hop that contributes most to their latency.
pub(crate) fn limit(hop: &HopShare, budget: &Budget, test: &TestResult) -> String {
    limit_of(hop, budget, &pace(test))
}

/// Names the limit of a path that was used, such as the path of a simulated test.
pub(crate) fn path_limit(limit: &PathLimit) -> Option<String> {
    let budget = Budget::of_paths(std::iter::once(&limit.path))?;
    let hop = budget.busiest()?;
    Some(limit_of(hop, &budget, &latency_pace(limit.outstanding)))
}

/// Returns what determines the times of the requests if no hop is busy.
fn pace(result: &TestResult) -> String {
    let test = &result.test;
    let requests = test.requests();
    let is_open = requests.is_some_and(|requests| matches!(requests.load, Load::Open { .. }));
    if is_open || result.samples.iter().any(comes_in_its_own_time) {
        return "the requests arrive at given times".to_owned();
    }
    let latency_ns = known_value(&result.latency_mean_ns).unwrap_or(0.0);
    let think_ns = requests.map_or(0.0, |requests| requests.think.as_seconds() * 1e9);
    if think_ns > latency_ns {
        return format!("a pause of {} follows the requests", latency_text(think_ns));
    }
    let flushes = result.samples.iter().filter_map(|sample| sample.flushes.as_ref());
    let flush_ns = flushes.map(|flushes| flushes.latency.mean_ns()).fold(0.0, f64::max);
    match test.mix().flush_every {
        Some(every) if flush_ns > latency_ns * f64::from(every) => {
            format!("a flush takes {}", latency_text(flush_ns))
        }
        _ => latency_pace(test.population()),
    }
}

fn latency_pace(population: u64) -> String {
    let requests = if population == 1 { "request" } else { "requests" };
    format!("with {population} {requests} outstanding, latency is the limit")
}

fn limit_of(hop: &HopShare, budget: &Budget, pace: &str) -> String {
    let total = budget.total_ns();
    let longest = budget.hops.iter().max_by(|a, b| a.total_ns().total_cmp(&b.total_ns()));
    let Some(longest) = longest.filter(|_| hop.utilisation < BUSY && total > 0.0) else {
        return hop_text(hop);
    };
    let of = if pace.ends_with("limit") { "it" } else { "the requests' own latency" };
    format!(
        "No hop is busy (busiest: {}, {}): {pace}, and the largest part of {of}, {}, is in {}",
        hop.label(),
        percent_whole(hop.utilisation),
        percent(longest.total_ns() / total),
        longest.label(),
    )
}

/// Returns a text such as `SATA 6 Gb/s: 97% busy, carries at most 552 MB/s of this workload`.
fn hop_text(hop: &HopShare) -> String {
    let busy = format!("{}: {} busy", hop.label(), percent_whole(hop.utilisation));
    // Requests without data, such as trims, lack a ceiling in MB/s.
    match hop.ceiling_megabytes.filter(|ceiling| *ceiling > 0.0) {
        Some(ceiling) => {
            format!("{busy}, carries at most {} MB/s of this workload", significant(ceiling))
        }
        None => busy,
    }
}

/// Returns whether requests were submitted at recorded times.
fn comes_in_its_own_time(sample: &Sample) -> bool {
    sample.replay.as_ref().is_some_and(|replay| replay.speed.is_some())
}

/// Builds the table of the hops and their shares, with a row for the sum.
pub(crate) fn table(budget: &Budget) -> Table {
    let total = budget.total_ns();
    let unit = LatencyUnit::fitting(std::iter::once(total));
    // All rows have the same number of decimals, so that the sum of the shown values agrees.
    let decimals = match unit.convert(total) {
        total if total < 10.0 => 3,
        total if total < 100.0 => 2,
        total if total < 1000.0 => 1,
        _ => 0,
    };
    let time_cell = |ns: f64| Cell::plain(fixed(unit.convert(ns), decimals));
    let share = |ns: f64| Cell::plain(percent(ns / total));
    let mut table = Table::new(vec![
        Column::name("hop"),
        Column::text("busy").optional(2),
        Column::number("busy", ""),
        Column::number("ceiling", "MB/s"),
        Column::number("wait", unit.name()),
        Column::number("service", unit.name()),
        Column::number("both", unit.name()).optional(1),
        Column::number("share", ""),
    ]);
    table.columns[1].name = String::new();
    for hop in &budget.hops {
        table.push(vec![
            Cell::plain(hop.label()),
            Cell::plain(bar(hop.utilisation)),
            Cell::plain(percent_whole(hop.utilisation)),
            Cell::plain(or_absent(hop.ceiling_megabytes, significant)),
            time_cell(hop.wait_ns),
            time_cell(hop.service_ns),
            time_cell(hop.total_ns()),
            share(hop.total_ns()),
        ]);
    }
    let blank = || Cell::plain("");
    let mut sums = vec![
        Cell::strong("mean latency"),
        blank(),
        blank(),
        blank(),
        time_cell(budget.wait_ns()),
        time_cell(budget.service_ns()),
        time_cell(total),
        share(total),
    ];
    sums.iter_mut().for_each(|cell| cell.ink = CellEmphasis::Strong);
    table.push_ruled(sums);
    table
}

/// Draws a share as a heavy line on a light line.
fn bar(share: f64) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let filled = (share * BAR as f64).round() as usize;
    format!("{}{}", "━".repeat(filled), "─".repeat(BAR - filled))
}

#[cfg(test)]
mod tests;
