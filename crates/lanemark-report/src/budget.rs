//! The time budget of a test: the mean latency of a request by hop, averaged over repeats.
//!
//! The waiting and service times of all hops sum to the mean latency. If several hops have the same name, the second
//! and later ones are numbered. Only simulated runs have a budget; the crate does not estimate one for other runs.

use std::collections::BTreeMap;

use lanemark_schema::result::{HopId, HopUse, PathUse, TestResult};

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

#[cfg(test)]
mod tests;
