//! A drive with two ports, each on a way of its own to the host: which of them a command takes.
//!
//! SAS drives have two ports, and NVMe drives for storage servers split their lanes into two (2 x2 instead of x4). The
//! host's multipath layer sees one drive by both. *Round robin* sends commands over the two ways in turn, both active;
//! *failover* sends all over the first for as long as it works.
//!
//! A way can be lost ([`FaultKind::PortLoss`](crate::workload::FaultKind)). From then on commands take the other. Those
//! that were under way on it are lost: the drive may have done its part, but no answer comes back, and the host learns of
//! it when its timer for the command runs out ([`COMMAND_TIMEOUT`] where nothing else is set; the timer starts when the
//! command is sent). It then sends the command again, from the start, over the other way. Its slot is taken meanwhile,
//! and its wait counts for the protocol. Where there is no other way the request fails, the host gives the drive up, and
//! all that is asked of it from then on fails at once.
//!
//! The two ports share the drive: front end, buffer, flash, data path, and the host's one list of slots and queues.
//!
//! Not modelled: a link that reports its failure at once; ways of different cost (ALUA); one namespace
//! a port. What was under way at the failure still takes its time of the links that it would have gone over, and a
//! write that is sent again is written twice.

use super::spec::{Multipath, SecondPort};
use crate::sim::number::WayNumber;
use crate::units::Duration;
use crate::workload::fault::COMMAND_TIMEOUT;

/// The ways of a drive at work.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    multipath: Multipath,
    /// Whether each way has failed, so that no answer comes over it.
    lost: [bool; 2],
    /// Time that the host waits for an answer.
    pub timeout: Duration,
    /// Number of ways.
    count: u8,
    /// The way whose turn it is.
    turn: u8,
}

impl Ways {
    /// Whether there is more than one.
    #[inline]
    pub(super) fn are_several(&self) -> bool {
        self.count > 1
    }

    /// The ways of a drive with or without a second port.
    pub(super) fn new(second: Option<&SecondPort>) -> Self {
        let single = Self {
            multipath: Multipath::Failover,
            lost: [false; 2],
            timeout: COMMAND_TIMEOUT,
            count: 1,
            turn: 0,
        };
        second.map_or(single, |port| Self {
            multipath: port.multipath,
            lost: [false; 2],
            timeout: port.path_timeout,
            count: 2,
            turn: 0,
        })
    }

    /// The way of the next command.
    pub(super) fn choose(&mut self) -> WayNumber {
        if self.count == 1 {
            return WayNumber(0);
        }
        let (way, other) = (WayNumber(self.turn), WayNumber(1 - self.turn));
        if self.multipath == Multipath::RoundRobin {
            self.turn = other.0;
        }
        if self.is_lost(way) { other } else { way }
    }

    /// Whether no answer comes over a way.
    pub(super) fn is_lost(&self, way: WayNumber) -> bool {
        self.lost[usize::from(way)]
    }

    /// Whether no answer comes over any.
    pub(super) fn are_lost(&self) -> bool {
        self.lost[..usize::from(self.count)].iter().all(|lost| *lost)
    }

    /// Answers come over a way no more, or again.
    pub(super) fn lose(&mut self, way: WayNumber, lost: bool) {
        self.lost[usize::from(way)] = lost;
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::Hop;
    use super::super::link::{LinkLaw, Sas, SasRate};
    use super::super::link_tests::{dual, read_of};
    use super::super::simulator::Completion;
    use super::super::spec::SystemSpec;
    use super::super::tests::{at_rest, megabytes, run, sas, small_drive, test, unlimited};
    use super::*;
    use crate::sim::spec::PageTimes;
    use crate::units::{Bytes, Instant};
    use crate::workload::{Access, Fault, FaultKind, Operation, Pattern, Test};

    const TIMEOUT: Duration = Duration::from_microseconds(2_000);

    fn us(microseconds: u64) -> Duration {
        Duration::from_microseconds(microseconds)
    }

    /// A second port beside the first, of which way `port` fails after `at`.
    fn failing(multipath: Multipath, port: u8, at: Duration) -> SystemSpec {
        let mut system = dual(&unlimited(), multipath);
        system.attachments[0].second.as_mut().unwrap().path_timeout = TIMEOUT;
        system.faults = vec![Fault::at(at, FaultKind::PortLoss { port, timeout: None })];
        system
    }

    fn utilisation(system: &SystemSpec, test: &Test, port: &str) -> f64 {
        let path = run(system, test).path.unwrap();
        path.hops.iter().find(|hop| hop.name.ends_with(port)).map_or(0.0, |hop| hop.utilisation)
    }

    #[test]
    fn commands_take_turns_or_the_first_way_until_it_fails() {
        let chosen = |multipath, lost: u8| {
            let system = dual(&unlimited(), multipath);
            let mut ways = Ways::new(system.attachments[0].second.as_ref());
            let mut eight = Vec::new();
            for command in 0..8 {
                ways.lose(WayNumber(lost), (4..7).contains(&command));
                eight.push(ways.choose().0);
            }
            eight
        };
        assert_eq!(chosen(Multipath::RoundRobin, 0), [0, 1, 0, 1, 1, 1, 1, 1]);
        assert_eq!(chosen(Multipath::RoundRobin, 1), [0, 1, 0, 1, 0, 0, 0, 1]);
        assert_eq!(chosen(Multipath::Failover, 0), [0, 0, 0, 0, 1, 1, 1, 0]);
        assert_eq!(chosen(Multipath::Failover, 1), [0; 8]);
        assert_eq!(Ways::new(None).choose(), WayNumber(0));
    }

    #[test]
    fn two_ports_in_turn_carry_twice_as_much_as_one_both_ways() {
        let mut drive = unlimited();
        drive.flash_mut().program = PageTimes::alike(Duration::from_nanoseconds(10));
        drive.buffer = Bytes::mebi(32);
        for read in [true, false] {
            let test = test(Bytes::kibi(128), Pattern::Sequential, read, 32);
            let carried = |system: &SystemSpec| megabytes(&run(system, &test));
            let one = carried(&dual(&drive, Multipath::Failover));
            let gain = carried(&dual(&drive, Multipath::RoundRobin)) / one;
            assert!((gain - 2.0).abs() < 0.05, "read {read}: {gain}");
            // As a wide port of both phys does.
            let mut wide = dual(&drive, Multipath::RoundRobin);
            wide.attachments[0].second = None;
            wide.attachments[0].way.links[0].law =
                LinkLaw::Sas(Sas::new(SasRate::Gen3, 2).kept_open());
            assert!((carried(&wide) / one - 2.0).abs() < 0.05);
        }
        let test = test(Bytes::kibi(128), Pattern::Sequential, true, 32);
        for port in ["port a", "port b"] {
            assert!(utilisation(&dual(&drive, Multipath::RoundRobin), &test, port) > 0.95);
        }
        assert!(utilisation(&dual(&drive, Multipath::Failover), &test, "port a") > 0.95);
        assert_eq!(utilisation(&dual(&drive, Multipath::Failover), &test, "port b"), 0.0);
    }

    /// Two ports share the data path of the one drive behind them.
    #[test]
    fn two_ports_carry_no_more_than_the_drive() {
        let mut drive = unlimited();
        drive.data_path_read = Some(crate::units::BytesPerSecond(1_500_000_000));
        let test = test(Bytes::kibi(128), Pattern::Sequential, true, 32);
        let seen = megabytes(&run(&dual(&drive, Multipath::RoundRobin), &test));
        assert!((seen / 1_500.0 - 1.0).abs() < 0.01, "{seen} MB/s");
    }

    /// The port makes no difference at queue depth 1, and a second port is not in the way.
    #[test]
    fn one_command_at_a_time_takes_as_long_by_either_port() {
        let test = test(Bytes::kibi(4), Pattern::Uniform, true, 1);
        let single = run(&sas(small_drive(), 1), &test).latency();
        for multipath in [Multipath::RoundRobin, Multipath::Failover] {
            let both = run(&dual(&small_drive(), multipath), &test).latency();
            assert_eq!((both.min_ns(), both.max_ns()), (single.min_ns(), single.max_ns()));
        }
    }

    /// Keeps `depth` requests outstanding until so many are complete.
    fn completions(system: &SystemSpec, operation: Operation, depth: u64) -> Vec<Completion> {
        assert_eq!(system.check(), Ok(()));
        let mut simulator = at_rest(system, Bytes::mebi(32).into());
        let access = Access { operation, ..read_of(Bytes::kibi(128)) };
        (0..depth).for_each(|tag| simulator.submit(Instant::ZERO, 0, access, 0, tag).unwrap());
        let mut seen = Vec::new();
        while let Some(done) = simulator.advance() {
            let latency = done.completed.since(done.submitted);
            assert_eq!(done.budget.total(), latency, "stages must sum to the latency");
            seen.push(done);
            if seen.len() as u64 + depth <= 400 {
                simulator.submit(done.completed, 0, access, 0, done.tag).unwrap();
            }
        }
        assert_eq!(simulator.outstanding(), 0);
        seen
    }

    #[test]
    fn failover_keeps_going_and_what_was_under_way_comes_back_after_the_timeout() {
        for operation in [Operation::Read, Operation::Write] {
            let mut system = failing(Multipath::Failover, 0, us(3_000));
            let fails = Instant::ZERO + us(3_000);
            system.attachments[0].drive.flash_mut().program =
                PageTimes::alike(Duration::from_nanoseconds(10));
            let seen = completions(&system, operation, 8);
            assert_eq!(seen.len(), 400);
            // All that were outstanding at that instant were under way.
            let late = |done: &&Completion| done.completed.since(done.submitted) >= TIMEOUT;
            let (before, after): (Vec<&Completion>, Vec<&Completion>) =
                seen.iter().partition(|done| done.submitted < fails);
            let lost: Vec<&Completion> = before.into_iter().filter(late).collect();
            assert_eq!(lost.len(), 8);
            for done in &lost {
                assert!(done.submitted < fails && done.completed < fails + TIMEOUT + us(1_500));
                assert!(done.budget.wait(Hop::Protocol as usize) > TIMEOUT - us(1_000));
            }
            assert!(after.len() > 100);
            assert!(completions(&system, operation, 8) == seen, "the same again");
        }
    }

    #[test]
    fn a_failed_way_is_used_until_it_fails_and_not_after() {
        let test = Test {
            volume: None,
            duration: Some(us(20_000)),
            ..test(Bytes::kibi(128), Pattern::Sequential, true, 8)
        };
        // The first half over both ports, the second over one: half of the time lost to nobody but port a.
        let system = failing(Multipath::RoundRobin, 0, us(10_000));
        let share = utilisation(&system, &test, "port a");
        assert!((0.45..0.55).contains(&share), "{share}");
        assert!(utilisation(&system, &test, "port b") > 0.8);
    }

    #[test]
    fn ports_that_cannot_be_are_told() {
        let mut system = dual(&small_drive(), Multipath::Failover);
        system.attachments[0].second.as_mut().unwrap().way.links.clear();
        assert!(system.check().is_err());
    }
}
