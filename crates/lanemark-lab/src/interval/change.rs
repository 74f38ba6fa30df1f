//! The differences between two compared systems or tests, and the factor for the effects that the model omits in the
//! ratio of their rates.
//!
//! The factors come from the training pairs of the corpus of published measurements (`make validate`,
//! `reference/validation/pairs.csv`). A test compares them with that file. `docs/model/what-if.md` describes how they
//! are learned.

use lanemark_schema::result::{PathSection, PathUse};
use lanemark_schema::workload::Test;
use lanemark_study::System;
use lanemark_study::system::SystemName;

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

/// The learned factors of a kind, in the order of [`RequestGroup::ALL`].
const fn learned(kind: ChangeKind) -> [f64; 3] {
    match kind {
        ChangeKind::Drive => [LEAST, 1.66, 2.57],
        ChangeKind::Port => [1.21, 1.66, 2.57],
        ChangeKind::Platform => [1.21, 1.66, 2.57],
        ChangeKind::Host => [1.21, 1.66, 2.57],
        ChangeKind::Depth => [1.15, 1.66, 2.57],
        ChangeKind::BlockSize => [1.24, 1.66, 2.57],
        ChangeKind::Direction => [1.17, LEAST, 2.57],
    }
}

/// Variance of the effects that a model omits in one figure, relative to the variance of an assumed time: the squares
/// of the logarithms of 1.15 and 1.4, the factors of a drive's own file and of an assumed time.
const OMITTED_VARIANCE: f64 = 0.17;

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
        match () {
            () if tests.into_iter().any(|test| test.writes() && has_flushes(test)) => Self::Flushed,
            () if tests.into_iter().any(is_mix) => Self::Mixed,
            () => Self::Plain,
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
pub fn changes([one, two]: [&System; 2], [test, other]: [&Test; 2]) -> Vec<ChangeKind> {
    let [target, others] = [&one.target, &two.target];
    let is_same_platform = target.platform == others.platform;
    let is_same_board = is_same_platform || board(&target.system) == board(&others.system);
    let is_same_drive = target.drive == others.drive;
    let is_set = is_same_platform && is_same_drive && one.spec != two.spec;
    let depth = |test: &Test| u64::from(test.issue_depth()) * u64::from(test.threads);
    let differences = [
        (ChangeKind::Drive, !is_same_drive),
        (ChangeKind::Port, is_same_platform && target.port != others.port || is_set),
        (ChangeKind::Platform, !is_same_board),
        (ChangeKind::Host, is_same_board && !is_same_platform),
        (ChangeKind::Depth, depth(test) != depth(other)),
        (ChangeKind::BlockSize, test.block != other.block),
        (ChangeKind::Direction, test.read_share() != other.read_share()),
    ];
    differences.into_iter().filter(|(_, differs)| *differs).map(|(kind, _)| kind).collect()
}

/// Returns the file of the platform in `drive@platform,host:port`, or the whole text if it has a different form.
fn board(system: &str) -> String {
    let platform = SystemName::parse(system).map_or(system.to_owned(), |parts| parts.platform);
    platform.split(',').next().unwrap_or_default().trim().to_owned()
}

/// Returns the factor for the effects that the model omits in a ratio. The effects of several changes are independent,
/// so the squares of their logarithms are added.
#[must_use]
pub fn omitted_factor(changes: &[ChangeKind], group: RequestGroup) -> f64 {
    libm::exp(changes.iter().map(|kind| libm::log(kind.omitted(group))).fold(0.0, libm::hypot))
}

/// Returns the share of a request's time for which the host works on it, including waits for the host.
#[must_use]
pub fn host_share(path: &PathUse) -> f64 {
    let time = |is_host: bool| -> f64 {
        let of_part = path
            .hops
            .iter()
            .filter(|hop| (PathSection::from_hop(hop.id) == PathSection::Host) == is_host);
        of_part.map(|hop| hop.wait_ns + hop.service_ns).sum()
    };
    let host = time(true);
    host / (host + time(false)).max(1e-9)
}

/// Returns the share of a measured deviation that also applies after `changes`, given the host's share of a request's
/// time.
///
/// Another port keeps the host and the drive, and therefore the whole deviation. Another drive keeps the host's part,
/// and another host the rest. The parts are proportional to the variances that the model expects: the squares of the
/// times of host and drive, whose uncertainties are alike, and the variance of omitted effects, which belong to the
/// drive.
#[must_use]
pub fn carried_share(changes: &[ChangeKind], host_share: f64) -> f64 {
    let host = host_share.clamp(0.0, 1.0);
    let of_host = host * host;
    let of_drive = (1.0 - host) * (1.0 - host) + OMITTED_VARIANCE;
    let part_of_host = of_host / (of_host + of_drive);
    let is_other_host = |kind: &ChangeKind| matches!(kind, ChangeKind::Platform | ChangeKind::Host);
    match (changes.contains(&ChangeKind::Drive), changes.iter().any(is_other_host)) {
        (false, false) => 1.0,
        (true, false) => part_of_host,
        (false, true) => 1.0 - part_of_host,
        (true, true) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::{Bytes, Ratio};
    use lanemark_study::Library;

    use super::*;

    fn test(depth: u32, reads: f64) -> Test {
        Test::of_blocks(Bytes::kibi(4)).with(|requests| {
            requests.queue_depth = depth;
            requests.read_share = Ratio::new(reads).unwrap();
        })
    }

    #[test]
    fn every_difference_of_systems_and_tests_is_found() {
        let library = Library::built_in();
        let system = |name: &str, set: &[String]| {
            crate::assemble(&library, name, &crate::settings(set).unwrap()).unwrap()
        };
        const BASE: &str = "samsung-990-pro-2tb@workstation-x570:m2";
        let base = system(BASE, &[]);
        let plain = test(1, 1.0);
        let of = |name: &str, set: &[String], test: &Test| {
            changes([&base, &system(name, set)], [&plain, test])
        };
        let slower = ["platform.port.m2.latency=600 ns".to_owned()];
        for (name, set, test, wanted) in [
            (BASE, &[][..], &plain, &[][..]),
            (BASE, &slower, &plain, &[ChangeKind::Port]),
            ("samsung-990-pro-2tb@workstation-x570:m2-2", &[], &plain, &[ChangeKind::Port]),
            ("samsung-980-pro-1tb@workstation-x570:m2", &[], &plain, &[ChangeKind::Drive]),
            (
                "samsung-980-pro-1tb@workstation-x570:m2-2",
                &[],
                &plain,
                &[ChangeKind::Drive, ChangeKind::Port],
            ),
            ("samsung-990-pro-2tb@workstation-z170:m2", &[], &plain, &[ChangeKind::Platform]),
            (
                "samsung-990-pro-2tb@workstation-x570,linux-polling:m2",
                &[],
                &plain,
                &[ChangeKind::Host],
            ),
            (BASE, &[], &test(2, 1.0), &[ChangeKind::Depth]),
            (BASE, &[], &test(1, 0.0), &[ChangeKind::Direction]),
            (BASE, &[], &Test { block: Bytes::kibi(8), ..plain.clone() }, &[ChangeKind::BlockSize]),
        ] {
            assert_eq!(of(name, set, test), wanted, "{name}");
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
        let both = omitted_factor(&[drive, depth], group).ln();
        assert!((both - drive.omitted(group).ln().hypot(depth.omitted(group).ln())).abs() < 1e-12);
        assert_eq!(omitted_factor(&[], group), 1.0);
    }

    #[test]
    fn a_deviation_belongs_to_the_parts_that_stay() {
        for host in [0.0, 0.3, 0.9, 1.0] {
            let share = |kinds: &[ChangeKind]| carried_share(kinds, host);
            assert_eq!(share(&[ChangeKind::Port]), 1.0);
            let [drive, platform] = [share(&[ChangeKind::Drive]), share(&[ChangeKind::Platform])];
            assert!((drive + platform - 1.0).abs() < 1e-12, "{host}");
            assert_eq!(share(&[ChangeKind::Host]), platform);
            assert_eq!(share(&[ChangeKind::Drive, ChangeKind::Host]), 0.0);
        }
        assert_eq!(carried_share(&[ChangeKind::Drive], 0.0), 0.0);
        // At equal times, the variances of host and drive are a quarter each, and omitted effects have 0.17.
        let share = carried_share(&[ChangeKind::Drive], 0.5);
        assert!((share - 0.25 / (0.5 + 0.17)).abs() < 1e-12, "{share}");
    }
}
