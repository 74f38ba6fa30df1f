//! The differences between two compared predictions, and the factor for the effects that the model omits in the ratio
//! of their rates.
//!
//! The factors come from the training pairs of the corpus of published measurements (`make validate`,
//! `reference/validation/pairs.csv`). A test compares them with that file. `docs/model/what-if.md` describes how they
//! are learned.

use std::collections::BTreeSet;

use super::SimulatedTarget;
use crate::workload::Test;

/// One thing in which two compared predictions differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Another drive.
    Drive,
    /// Another port of the same platform, or other values of the same parts.
    Port,
    /// Another platform.
    Platform,
    /// Another operating system or program on the same platform.
    Host,
    /// Another number of outstanding requests.
    Depth,
    /// Another size of the requests.
    BlockSize,
    /// Another share of reads.
    Direction,
}

/// A kind of requests, whose ratios lack the same effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestGroup {
    /// Only reads, or only writes.
    Plain,
    /// Reads and writes together.
    Mixed,
    /// Writes that wait for flushes.
    Flushed,
}

/// The factor below which no learned factor is used: the factor of a single prediction for a drive with a file of its
/// own. The training pairs of drives come from few machines, and their own factor, 1.06, would claim more than that.
pub const LEAST: f64 = 1.15;

/// The factor that remains for another port whose links do not contribute to a request's time: the error of a formula.
const FORMULA: f64 = 1.02;
/// The learned factors of a kind, in the order of [`RequestGroup::ALL`].
const fn learned(kind: ChangeKind) -> [f64; 3] {
    match kind {
        ChangeKind::Drive | ChangeKind::BlockSize => [1.20, 2.15, 3.48],
        ChangeKind::Port | ChangeKind::Platform | ChangeKind::Host | ChangeKind::Depth => {
            [1.19, 2.15, 3.48]
        }
        ChangeKind::Direction => [1.24, 2.15, 3.48],
    }
}

impl ChangeKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Drive,
        Self::Port,
        Self::Platform,
        Self::Host,
        Self::Depth,
        Self::BlockSize,
        Self::Direction,
    ];

    /// Returns the factor for the effects that the model omits if only this differs.
    #[must_use]
    pub fn omitted(self, group: RequestGroup) -> f64 {
        learned(self)[group as usize]
    }

    /// Returns the factor of this kind if the changed links contribute only `changed_share` of a request's time.
    /// Another port changes only the links, so the effects that the model omits apply only to this part of the time.
    #[must_use]
    pub fn of_changed_part(self, factor: f64, changed_share: f64) -> f64 {
        match self {
            Self::Port => libm::pow(factor, changed_share).max(FORMULA),
            Self::Drive
            | Self::Platform
            | Self::Host
            | Self::Depth
            | Self::BlockSize
            | Self::Direction => factor,
        }
    }

    /// Returns whether the requests differ, on the same system.
    #[must_use]
    pub fn is_of_requests(self) -> bool {
        match self {
            Self::Drive | Self::Port | Self::Platform | Self::Host => false,
            Self::Depth | Self::BlockSize | Self::Direction => true,
        }
    }

    /// Returns the name of the kind in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Drive => "drive",
            Self::Port => "port",
            Self::Platform => "platform",
            Self::Host => "host",
            Self::Depth => "depth",
            Self::BlockSize => "block size",
            Self::Direction => "direction",
        }
    }
}

impl RequestGroup {
    /// All groups.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Mixed, Self::Flushed];

    /// Returns the group of two compared tests: the group of the test that is harder to predict.
    #[must_use]
    pub fn of(tests: [&Test; 2]) -> Self {
        let has_flushes = |test: &Test| {
            test.requests().is_some_and(|requests| requests.mix.flush_every.is_some())
        };
        let is_mix = |test: &Test| test.reads() && test.writes();
        if tests.into_iter().any(|test| test.writes() && has_flushes(test)) {
            Self::Flushed
        } else if tests.into_iter().any(is_mix) {
            Self::Mixed
        } else {
            Self::Plain
        }
    }

    /// Returns the name of the group in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "reads or writes",
            Self::Mixed => "mixes",
            Self::Flushed => "flushes",
        }
    }
}

/// Returns the things in which two systems and their tests differ. Values that are set on the same drive and platform
/// count as another port, because everything else on the path stays the same.
#[must_use]
pub fn changes([one, two]: [&SimulatedTarget; 2], [test, other]: [&Test; 2]) -> Vec<ChangeKind> {
    let is_same_platform = one.platform == two.platform;
    let is_same_board = is_same_platform || board(&one.system) == board(&two.system);
    let is_same_drive = drives(&one.drive) == drives(&two.drive);
    let is_set = is_same_platform && is_same_drive && one.overrides != two.overrides;
    let depth = |test: &Test| u64::from(test.issue_depth()) * u64::from(test.threads);
    let differences = [
        (ChangeKind::Drive, !is_same_drive),
        (ChangeKind::Port, is_same_platform && one.port != two.port || is_set),
        (ChangeKind::Platform, !is_same_board),
        (ChangeKind::Host, is_same_board && !is_same_platform),
        (ChangeKind::Depth, depth(test) != depth(other)),
        (ChangeKind::BlockSize, test.block != other.block),
        (ChangeKind::Direction, test.read_share() != other.read_share()),
    ];
    differences.into_iter().filter(|(_, differs)| *differs).map(|(kind, _)| kind).collect()
}

/// Returns the names of the drives of a system, each once: two drives of a kind in a stripe are not another drive.
fn drives(all: &str) -> BTreeSet<&str> {
    let volume = ["stripe", "mirror"].into_iter().any(|kind| all.starts_with(kind));
    let names = all.split_once(": ").filter(|_| volume).map_or(all, |(_, names)| names);
    names.split(" + ").collect()
}

/// Returns the file of the platform in `drive@platform,host:port`, or the whole text if it has a different form.
fn board(system: &str) -> &str {
    let platform = system.rsplit_once('@').map_or(system, |(_, platform)| platform);
    platform.split([',', ':']).next().unwrap_or_default().trim()
}

/// Returns the factor for the effects that the model omits in a ratio. The effects of several changes are independent,
/// so the squares of their logarithms are added. `changed_share` is the [share of the time](super::changed_share) at
/// links that differ.
#[must_use]
pub fn omitted_factor(changes: &[ChangeKind], group: RequestGroup, changed_share: f64) -> f64 {
    let logs = changes
        .iter()
        .map(|kind| libm::log(kind.of_changed_part(kind.omitted(group), changed_share)));
    libm::exp(logs.fold(0.0, libm::hypot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::ParameterOverride;
    use crate::units::{Bytes, Ratio};

    fn test(depth: u32, reads: f64) -> Test {
        Test::of_blocks(Bytes::kibi(4)).with(|requests| {
            requests.queue_depth = depth;
            requests.read_share = Ratio::new(reads).unwrap();
        })
    }

    fn target(system: &str) -> SimulatedTarget {
        let (drive, rest) = system.split_once('@').unwrap();
        let (platform, port) = rest.split_once(':').unwrap();
        SimulatedTarget {
            system: system.to_owned(),
            drive: drive.to_owned(),
            platform: platform.to_owned(),
            port: port.to_owned(),
            values_sourced: 0,
            values_derived: 0,
            values_assumed: Vec::new(),
            overrides: Vec::new(),
        }
    }

    #[test]
    fn every_difference_of_systems_and_tests_is_found() {
        let base = target("990@x570:m2");
        let parameter = "platform.port.m2.latency".to_owned();
        let value = "600 ns".to_owned();
        let set = ParameterOverride { parameter, value, figure: None, reason: None };
        let overrides = vec![set];
        let slower = SimulatedTarget { overrides, ..base.clone() };
        let plain = test(1, 1.0);
        let larger = Test { block: Bytes::kibi(8), ..plain.clone() };
        for (other, test, wanted) in [
            (base.clone(), &plain, &[][..]),
            (slower, &plain, &[ChangeKind::Port]),
            (target("990@x570:m2-2"), &plain, &[ChangeKind::Port]),
            (target("980@x570:m2"), &plain, &[ChangeKind::Drive]),
            (target("stripe of 64 KiB: 990 + 990@x570:m2 + m2-2"), &plain, &[ChangeKind::Port]),
            (target("990 + 980@x570:m2"), &plain, &[ChangeKind::Drive]),
            (target("980@x570:m2-2"), &plain, &[ChangeKind::Drive, ChangeKind::Port]),
            (target("990@z170:m2"), &plain, &[ChangeKind::Platform]),
            (target("990@x570,linux-polling:m2"), &plain, &[ChangeKind::Host]),
            (base.clone(), &test(2, 1.0), &[ChangeKind::Depth]),
            (base.clone(), &test(1, 0.0), &[ChangeKind::Direction]),
            (base.clone(), &larger, &[ChangeKind::BlockSize]),
        ] {
            assert_eq!(changes([&base, &other], [&plain, test]), wanted, "{other:?}");
        }
    }

    #[test]
    fn requests_are_grouped_by_the_harder_test() {
        let plain = test(1, 1.0);
        let mixed = test(1, 0.5);
        let flushed = test(1, 0.0).with(|requests| requests.mix.flush_every = Some(1));
        for (tests, wanted) in [
            ([&plain, &plain], RequestGroup::Plain),
            ([&plain, &mixed], RequestGroup::Mixed),
            ([&flushed, &mixed], RequestGroup::Flushed),
        ] {
            assert_eq!(RequestGroup::of(tests), wanted);
        }
    }

    #[test]
    fn independent_changes_add_the_squares_of_their_logarithms() {
        let group = RequestGroup::Plain;
        let [drive, depth] = [ChangeKind::Drive, ChangeKind::Depth];
        let both = libm::log(omitted_factor(&[drive, depth], group, 1.0));
        let log = |kind: ChangeKind| libm::log(kind.omitted(group));
        assert!((both - libm::hypot(log(drive), log(depth))).abs() < 1e-12);
        assert_eq!(omitted_factor(&[], group, 1.0), 1.0);
    }
}
