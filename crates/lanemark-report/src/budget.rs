//! The time budget of a test: where a request's mean latency went, hop by hop, averaged over repeats.
//!
//! Waits and services of all hops sum to the mean latency. A hop is known by its name and by how often
//! that name stood before it on the path, so two links of one kind stay two. Only simulated runs have
//! a budget; nothing is guessed for the others.

use lanemark_core::result::{HopUse, TestResult};

/// All hops of a test's path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Budget {
    pub(crate) hops: Vec<HopShare>,
}

/// One hop, averaged over repeats.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HopShare {
    pub(crate) name: String,
    /// How many hops of the same name stand before it.
    pub(crate) occurrence: usize,
    pub(crate) utilisation: f64,
    pub(crate) ceiling_megabytes: Option<f64>,
    pub(crate) wait_ns: f64,
    pub(crate) service_ns: f64,
}

impl Budget {
    /// The budget of `result`, where any of its repeats has one.
    pub(crate) fn of(result: &TestResult) -> Option<Self> {
        let paths: Vec<&[HopUse]> = result
            .samples
            .iter()
            .filter_map(|sample| sample.path.as_ref())
            .map(|path| path.hops.as_slice())
            .filter(|hops| !hops.is_empty())
            .collect();
        let mut names: Vec<(&str, usize)> = Vec::new();
        for key in paths.iter().flat_map(|hops| keys(hops)) {
            if !names.contains(&key) {
                names.push(key);
            }
        }
        let repeats = paths.len() as f64;
        let hops: Vec<HopShare> = names
            .iter()
            .map(|&key| {
                let uses: Vec<&HopUse> = paths.iter().filter_map(|hops| find(hops, key)).collect();
                let mean = |value: fn(&HopUse) -> f64| {
                    uses.iter().map(|hop| value(hop)).sum::<f64>() / repeats
                };
                let ceilings: Vec<f64> = uses
                    .iter()
                    .filter_map(|hop| hop.ceiling.map(|ceiling| ceiling.as_megabytes()))
                    .collect();
                HopShare {
                    name: key.0.to_owned(),
                    occurrence: key.1,
                    utilisation: mean(|hop| hop.utilisation),
                    ceiling_megabytes: (!ceilings.is_empty())
                        .then(|| ceilings.iter().sum::<f64>() / ceilings.len() as f64),
                    wait_ns: mean(|hop| hop.wait_ns),
                    service_ns: mean(|hop| hop.service_ns),
                }
            })
            .collect();
        (!hops.is_empty()).then_some(Self { hops })
    }

    /// Mean waiting of a request over all hops.
    pub(crate) fn wait_ns(&self) -> f64 {
        self.hops.iter().map(|hop| hop.wait_ns).sum()
    }

    /// Mean service of a request over all hops.
    pub(crate) fn service_ns(&self) -> f64 {
        self.hops.iter().map(|hop| hop.service_ns).sum()
    }

    /// The mean latency.
    pub(crate) fn total_ns(&self) -> f64 {
        self.hops.iter().map(HopShare::total_ns).sum()
    }

    /// The hop with the greatest utilisation, the first of several.
    pub(crate) fn busiest(&self) -> Option<&HopShare> {
        self.hops
            .iter()
            .reduce(|most, hop| if hop.utilisation > most.utilisation { hop } else { most })
    }
}

impl HopShare {
    /// Waiting and service together.
    pub(crate) fn total_ns(&self) -> f64 {
        self.wait_ns + self.service_ns
    }

    /// Its name, numbered from the second of that name on.
    pub(crate) fn label(&self) -> String {
        match self.occurrence {
            0 => self.name.clone(),
            before => format!("{} ({})", self.name, before + 1),
        }
    }
}

fn keys(hops: &[HopUse]) -> impl Iterator<Item = (&str, usize)> {
    hops.iter().enumerate().map(|(index, hop)| {
        let before = hops[..index].iter().filter(|other| other.name == hop.name).count();
        (hop.name.as_str(), before)
    })
}

fn find<'a>(hops: &'a [HopUse], key: (&str, usize)) -> Option<&'a HopUse> {
    hops.iter().filter(|hop| hop.name == key.0).nth(key.1)
}
