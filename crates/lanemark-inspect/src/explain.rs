//! Why a measured test was no faster, from what was seen and nothing else.
//!
//! The rules, in their order; the first whose evidence is complete gives the verdict:
//!
//! 1. *link-bound*: the throughput is at least [`LINK_FULL`] of the narrowest link's ceiling.
//! 2. *CPU-bound*: the busiest thread of the program had less than a tenth of its time left; or the whole machine
//!    less than a twentieth, and a deeper queue gave less than [`DEEPER_SAME`] more.
//! 3. *file-system-bound*: a request spent less than [`AT_DEVICE`] of its time at the device, and the device was not
//!    busy all the time.
//! 4. *queue-starved*: twice as many outstanding requests gave at least [`DEEPER_GAINS`] more.
//! 5. *drive-bound*: the device was busy nearly all the time, and a deeper queue gave less than [`DEEPER_SAME`] more.
//!
//! All else is undecided. The device's own time is the block layer's, whose clock starts when a request is handed
//! to the driver, and whose milliseconds are summed over requests; a device that takes many at once is *busy* as soon
//! as it has one, so that being busy alone says nothing of its being full.

use lanemark_core::result::{
    Evidence, Explanation, HopCeiling, Inspection, RunResult, Sign, Target, TestResult, Verdict,
};

use crate::ceiling::ceilings;

/// From this share of the narrowest ceiling on a link counts as full: laws leave out little more.
const LINK_FULL: f64 = 0.90;
/// From this share of a core on a thread has no time left.
const THREAD_FULL: f64 = 0.90;
/// From this share of all cores on a machine has no time left.
const MACHINE_FULL: f64 = 0.95;
/// Below this share of a request's time at the device, most of it went elsewhere.
const AT_DEVICE: f64 = 0.5;
/// From this share of the time on a device counts as always busy.
const DEVICE_FULL: f64 = 0.90;
/// A deeper queue that gives so much more was missing.
const DEEPER_GAINS: f64 = 0.30;
/// A deeper queue that gives no more than this changes nothing.
const DEEPER_SAME: f64 = 0.10;

/// Explains every test of a measured run; `inspection` is the path to its target, where that was found.
pub fn explain(run: &mut RunResult, inspection: Option<&Inspection>) {
    if !matches!(run.target, Target::Measured(_)) {
        return;
    }
    for test in &mut run.tests {
        let ceilings = inspection.map_or_else(Vec::new, |found| ceilings(found, &test.test));
        test.explanation = Some(explanation(test, ceilings));
    }
}

fn explanation(test: &TestResult, ceilings: Vec<HopCeiling>) -> Explanation {
    let seen = Seen::of(test, &ceilings);
    Explanation {
        verdict: seen.verdict(),
        evidence: seen.signs(),
        narrowest: seen.narrowest,
        ceiling_share: seen.ceiling_share,
        ceilings,
    }
}

/// What was seen of a test, averaged over its repeats.
#[derive(Debug, Default)]
struct Seen {
    narrowest: Option<usize>,
    link: String,
    ceiling_share: Option<f64>,
    thread_busy: Option<f64>,
    machine: Option<(f64, u32)>,
    device: Option<(String, f64)>,
    /// The mean time of a request at the device, and as the program saw it, in ns.
    times: Option<(f64, f64)>,
    deeper: Option<(u32, f64)>,
}

impl Seen {
    fn of(test: &TestResult, ceilings: &[HopCeiling]) -> Self {
        let narrowest = (0..ceilings.len()).min_by_key(|&place| ceilings[place].rate);
        let throughput = test.throughput_bytes_per_second.value;
        let share = |place: usize| throughput / ceilings[place].rate.0 as f64;
        let all: Vec<&Evidence> =
            test.samples.iter().filter_map(|sample| sample.evidence.as_ref()).collect();
        let mean = |of: &dyn Fn(&Evidence) -> Option<f64>| {
            let known: Vec<f64> = all.iter().filter_map(|one| of(one)).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        let cores = all.iter().find_map(|one| Some(one.processors?.cores));
        let used = mean(&|one| {
            one.processors.map(|used| used.user + used.system + used.interrupts + used.stolen)
        });
        let name = all.iter().find_map(|one| Some(one.device.as_ref()?.name.clone()));
        let busy = mean(&|one| Some(one.device.as_ref()?.busy_share()));
        let at_device = mean(&|one| {
            let device = one.device.as_ref()?;
            let requests = device.reads + device.writes;
            let time = (device.read_time + device.write_time).as_seconds() * 1e9;
            (requests > 0).then(|| time / requests as f64)
        });
        let request = Some(test.latency_mean_ns.value).filter(|&ns| ns > 0.0);
        let probe = test.queue_probe.filter(|probe| probe.iops > 0.0);
        Self {
            narrowest,
            link: narrowest.map_or(String::new(), |place| {
                format!("{} to {}", ceilings[place].link, ceilings[place].hop)
            }),
            ceiling_share: narrowest.map(share).filter(|share| share.is_finite()),
            thread_busy: mean(&|one| Some(one.threads?.busiest)),
            machine: used.zip(cores),
            device: name.zip(busy),
            times: at_device.zip(request),
            deeper: probe.map(|probe| (probe.queue_depth, probe.iops_doubled / probe.iops)),
        }
    }

    fn verdict(&self) -> Verdict {
        let device_full = self.device.as_ref().map(|(_, busy)| *busy >= DEVICE_FULL);
        let gain = self.deeper.map(|(_, gain)| gain - 1.0);
        if self.ceiling_share.is_some_and(|share| share >= LINK_FULL) {
            return Verdict::LinkBound;
        }
        let machine_full =
            self.machine.is_some_and(|(used, cores)| used >= MACHINE_FULL * f64::from(cores));
        // A machine that others keep busy does not limit a test that a deeper queue makes faster.
        let no_more = gain.is_some_and(|gain| gain <= DEEPER_SAME);
        if self.thread_busy.is_some_and(|busy| busy >= THREAD_FULL) || (machine_full && no_more) {
            return Verdict::CpuBound;
        }
        let elsewhere = self.times.is_some_and(|(device, request)| device < AT_DEVICE * request);
        if elsewhere && device_full == Some(false) {
            return Verdict::FileSystemBound;
        }
        match (gain, device_full) {
            (Some(gain), _) if gain >= DEEPER_GAINS => Verdict::QueueStarved,
            (Some(gain), Some(true)) if gain <= DEEPER_SAME => Verdict::DriveBound,
            _ => Verdict::Undecided,
        }
    }

    fn signs(&self) -> Vec<Sign> {
        let mut signs = vec![match self.ceiling_share {
            Some(share) => Sign::CeilingShare { link: self.link.clone(), share },
            None => Sign::NoCeiling,
        }];
        signs.extend(self.thread_busy.map(|share| Sign::ThreadBusy { share }));
        signs.extend(self.machine.map(|(used, cores)| Sign::MachineBusy { used, cores }));
        let device = self.device.clone();
        signs.extend(device.map(|(device, share)| Sign::DeviceBusy { device, share }));
        let times = self.times;
        signs.extend(
            times.map(|(device_ns, request_ns)| Sign::DeviceTime { device_ns, request_ns }),
        );
        signs.push(match self.deeper {
            Some((queue_depth, gain)) => Sign::DeeperQueue { queue_depth, gain },
            None => Sign::NoQueueProbe,
        });
        signs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that is busy all the time, with nothing else near its limit, and no gain from a deeper queue.
    fn drive() -> Seen {
        Seen {
            ceiling_share: Some(0.5),
            thread_busy: Some(0.3),
            machine: Some((0.8, 4)),
            device: Some(("sda".to_owned(), 0.99)),
            times: Some((90_000.0, 100_000.0)),
            deeper: Some((32, 1.01)),
            ..Seen::default()
        }
    }

    #[test]
    fn each_verdict_needs_its_evidence() {
        let cases: [(Verdict, fn(&mut Seen)); 11] = [
            (Verdict::DriveBound, |_| ()),
            (Verdict::LinkBound, |seen| seen.ceiling_share = Some(0.97)),
            (Verdict::CpuBound, |seen| seen.thread_busy = Some(0.98)),
            (Verdict::CpuBound, |seen| seen.machine = Some((3.9, 4))),
            (Verdict::QueueStarved, |seen| seen.deeper = Some((1, 1.9))),
            (Verdict::QueueStarved, |seen| {
                seen.deeper = Some((1, 1.9));
                seen.machine = Some((3.9, 4));
            }),
            (Verdict::FileSystemBound, |seen| {
                seen.device = Some(("sda".to_owned(), 0.4));
                seen.times = Some((20_000.0, 100_000.0));
            }),
            // A device that is busy all the time may do requests in turn, so its own time says nothing then.
            (Verdict::DriveBound, |seen| seen.times = Some((20_000.0, 100_000.0))),
            (Verdict::Undecided, |seen| seen.deeper = None),
            (Verdict::Undecided, |seen| seen.device = None),
            (Verdict::Undecided, |seen| seen.deeper = Some((4, 1.2))),
        ];
        for (verdict, spoil) in cases {
            let mut seen = drive();
            spoil(&mut seen);
            assert_eq!(seen.verdict(), verdict, "{seen:?}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let signs = Seen::default().signs();
        assert_eq!(signs, [Sign::NoCeiling, Sign::NoQueueProbe]);
        assert_eq!(drive().signs().len(), 6);
    }
}
