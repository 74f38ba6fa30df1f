//! A drive with two ports, each on a separate path to the host, and the choice between them.
//!
//! SAS drives have two ports, and NVMe drives for storage servers split their lanes between two ports (two x2 links
//! instead of one x4 link). The host's multipath layer presents both ports as one drive, and sends commands over the
//! two active paths in turn (round robin).
//!
//! A path can be lost ([`FaultKind::PortLoss`](lanemark_schema::workload::FaultKind)). From then on, commands take the
//! other path. Commands in flight on the lost path are lost: the drive may have executed them, but no answer arrives.
//! The host detects the loss when its timer for the command expires ([`COMMAND_TIMEOUT`], unless the fault states a
//! time; the timer starts when the command is sent). The host then sends the command again, from the start, over the
//! other path. Until then the command keeps its slot, and its wait is attributed to the protocol. If there is no other
//! path, the request fails, the host abandons the drive, and all later requests to the drive fail immediately.
//!
//! The two ports share the drive: command engines, buffer, flash, controller data path, and the host's single list of
//! slots and queues.
//!
//! Not modelled: a second path that is used only after the first has failed; a link that reports its failure at once;
//! paths of different cost (ALUA); one namespace per port. Data in flight at the time of the failure still occupies the
//! links on its path, and the data of a repeated write is written twice.
//!
//! [`COMMAND_TIMEOUT`]: lanemark_schema::workload::fault::COMMAND_TIMEOUT

use crate::engine::number::PathNumber;

/// The paths of a drive during a run.
#[derive(Clone, Debug)]
pub(crate) struct PathSelector {
    /// For each path, whether it has failed, so that no answer arrives over it.
    lost: [bool; 2],
    /// Number of paths.
    count: u8,
    /// The path whose turn it is.
    turn: u8,
}

impl PathSelector {
    /// Returns whether the drive has more than one path.
    #[inline]
    pub(crate) fn are_several(&self) -> bool {
        self.count > 1
    }

    /// Creates the one or two paths of a drive.
    pub(crate) fn new(has_second: bool) -> Self {
        Self { lost: [false; 2], count: 1 + u8::from(has_second), turn: 0 }
    }

    /// Returns the path of the next command.
    pub(crate) fn choose(&mut self) -> PathNumber {
        if self.count == 1 {
            return PathNumber(0);
        }
        let port_path = PathNumber(self.turn);
        let other = PathNumber(1 - self.turn);
        self.turn = other.0;
        if self.is_lost(port_path) { other } else { port_path }
    }

    pub(crate) fn is_lost(&self, port_path: PathNumber) -> bool {
        self.lost[usize::from(port_path)]
    }

    pub(crate) fn are_lost(&self) -> bool {
        self.lost[..usize::from(self.count)].iter().all(|lost| *lost)
    }

    /// Marks a path as lost, or as working again.
    pub(crate) fn lose(&mut self, port_path: PathNumber, lost: bool) {
        self.lost[usize::from(port_path)] = lost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::budget::Hop;
    use crate::link::{LinkModel, Sas, SasRate};
    use crate::simulator::Completion;
    use crate::spec::PageTimes;
    use crate::spec::SystemSpec;
    use crate::spec::submission::Submission;
    use crate::tests::link::{dual, read_of};
    use crate::tests::runs::{at_rest, megabytes, run, small_drive, test, unlimited};
    use crate::tests::{assert_within, latency, us};
    use lanemark_schema::units::{Bytes, Duration, Instant};
    use lanemark_schema::workload::{Access, Fault, FaultKind, Operation, Pattern, Test};

    const TIMEOUT: Duration = Duration::from_microseconds(2_000);

    /// Returns a system whose drive has two ports. The path of `port` fails after `at`.
    fn failing(port: u8, at: Duration) -> SystemSpec {
        let mut system = dual(&unlimited());
        system.faults = vec![Fault::at(at, FaultKind::PortLoss { port, timeout: Some(TIMEOUT) })];
        system
    }

    fn utilisation(system: &SystemSpec, test: &Test, port: &str) -> f64 {
        let path = run(system, test).path.unwrap();
        path.hops.iter().find(|hop| hop.name.ends_with(port)).map_or(0.0, |hop| hop.utilisation)
    }

    #[test]
    fn commands_take_turns_until_a_path_fails() {
        let chosen = |lost: u8| {
            let mut port_paths = PathSelector::new(true);
            let mut eight = Vec::new();
            for command in 0..8 {
                port_paths.lose(PathNumber(lost), (4..7).contains(&command));
                eight.push(port_paths.choose().0);
            }
            eight
        };
        assert_eq!(chosen(0), [0, 1, 0, 1, 1, 1, 1, 1]);
        assert_eq!(chosen(1), [0, 1, 0, 1, 0, 0, 0, 1]);
        assert_eq!(PathSelector::new(false).choose(), PathNumber(0));
    }

    #[test]
    fn two_ports_in_turn_carry_twice_as_much_as_one_both_ways() {
        let mut drive = unlimited();
        drive.flash_mut().program = PageTimes::alike(Duration::from_nanoseconds(10));
        drive.buffer = Bytes::mebi(32);
        for read in [true, false] {
            let test = test(Bytes::kibi(128), Pattern::Sequential, read, 32);
            let carried = |system: &SystemSpec| megabytes(&run(system, &test));
            let mut single = dual(&drive);
            single.attachments[0].second = None;
            let one = carried(&single);
            let gain = carried(&dual(&drive)) / one;
            assert!((gain - 2.0).abs() < 0.05, "read {read}: {gain}");
            // A wide port with both phys reaches the same throughput.
            single.attachments[0].port_path.links[0].model =
                LinkModel::Sas(Sas::new(SasRate::Gen3, 2).kept_open());
            assert!((carried(&single) / one - 2.0).abs() < 0.05);
        }
        let test = test(Bytes::kibi(128), Pattern::Sequential, true, 32);
        for port in ["port a", "port b"] {
            assert!(utilisation(&dual(&drive), &test, port) > 0.95);
        }
    }

    /// Two ports share the controller data path of their drive.
    #[test]
    fn two_ports_carry_no_more_than_the_drive() {
        let mut drive = unlimited();
        drive.data_path_read = Some(lanemark_schema::units::BytesPerSecond(1_500_000_000));
        let test = test(Bytes::kibi(128), Pattern::Sequential, true, 32);
        assert_within(megabytes(&run(&dual(&drive), &test)), 1_500.0, 0.01);
    }

    /// Keeps `depth` requests outstanding until the required number has completed.
    fn completions(system: &SystemSpec, operation: Operation, depth: u64) -> Vec<Completion> {
        assert_eq!(system.check(), Ok(()));
        let mut simulator = at_rest(system, Bytes::mebi(32).into());
        let access = Access { operation, ..read_of(Bytes::kibi(128)) };
        (0..depth).for_each(|tag| {
            simulator.submit(Submission::new(Instant::ZERO, access).tagged(tag)).unwrap();
        });
        let mut seen = Vec::new();
        while let Some(done) = simulator.advance() {
            assert_eq!(done.budget.total(), latency(&done), "stages must sum to the latency");
            seen.push(done);
            if seen.len() as u64 + depth <= 400 {
                simulator.submit(Submission::new(done.completed, access).tagged(done.tag)).unwrap();
            }
        }
        assert_eq!(simulator.outstanding(), 0);
        seen
    }

    #[test]
    fn the_other_path_continues_and_pending_requests_return_after_the_timeout() {
        for operation in [Operation::Read, Operation::Write] {
            let mut system = failing(0, us(3_000));
            let fails = Instant::ZERO + us(3_000);
            system.attachments[0].drive.flash_mut().program =
                PageTimes::alike(Duration::from_nanoseconds(10));
            let seen = completions(&system, operation, 8);
            assert_eq!(seen.len(), 400);
            // Half of the requests that were outstanding at the instant of the failure were on the lost path.
            let late = |done: &&Completion| latency(done) >= TIMEOUT;
            let (before, after): (Vec<&Completion>, Vec<&Completion>) =
                seen.iter().partition(|done| done.submitted < fails);
            let lost: Vec<&Completion> = before.into_iter().filter(late).collect();
            assert_eq!(lost.len(), 4);
            for done in &lost {
                assert!(done.submitted < fails && done.completed < fails + TIMEOUT + us(1_500));
                assert!(done.budget.wait(Hop::Protocol as usize) > TIMEOUT - us(1_000));
            }
            assert!(after.len() > 100);
            assert!(completions(&system, operation, 8) == seen, "the same again");
        }
    }

    #[test]
    fn impossible_ports_are_reported() {
        let mut system = dual(&small_drive());
        system.attachments[0].second.as_mut().unwrap().port_path.links.clear();
        assert!(system.check().is_err());
    }
}
