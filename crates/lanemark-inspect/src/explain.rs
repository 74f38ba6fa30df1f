//! Explains what limited a measured test, based only on its evidence.
//!
//! The rules apply in this order; the first rule whose evidence is complete determines the verdict:
//!
//! 1. *held back*: a limit of a control group was reached ([`CgroupLimit::is_met`]).
//! 2. *link-bound*: the throughput reaches [`LINK_FULL`] of the bottleneck link's ceiling. If the throughput is above
//!    [`LINK_MOST`] of the ceiling, the data did not cross that link.
//! 3. *CPU-bound*: the program's busiest thread was idle for less than a tenth of the time. Alternatively, the whole
//!    machine was idle for less than a twentieth of the time without significant use by other programs, and a deeper
//!    queue increased the rate by less than [`DEEPER_SAME`] or the threads waited for cores.
//! 4. *undecided*: a thread had to wait for a core, or other programs left almost no processor time, which may explain
//!    all other evidence. Rule 6 still applies if no thread waited for a core and requests spent [`CROWD_MOST_NS`] or
//!    more elsewhere on average, because other programs delay the kernel's threads only by time slices of a few
//!    milliseconds. If other programs were active only while deeper queues were tried, rules 5 and 7 do not apply, and
//!    rule 3 ignores the deeper queues.
//! 5. *queue-starved*: doubling the number of outstanding requests increased the rate by [`DEEPER_GAINS`] or more.
//! 6. *file-system-bound*: apart from the program's processor time, a request spent less than [`AT_DEVICE`] of its time
//!    at the device, and the device was not always busy. This rule applies only to files.
//! 7. *drive-bound*: the device was busy nearly all the time, and a deeper queue increased the rate by less than
//!    [`DEEPER_SAME`]. This rule does not apply if a link with an uncertain ceiling may have been full.
//!
//! All other cases are undecided. If the requests did not reach a device (the null engine, the page cache, a device
//! that moved less than was requested), rules 2, 6 and 7 do not apply. The device's time comes from the block layer,
//! which starts to measure when a request is passed to the driver and adds up the milliseconds of all requests. A
//! device that processes many requests at once is *busy* as soon as it has one request, so busy time by itself does not
//! show that the device is fully used.

use lanemark_schema::result::{
    CgroupLimit, CgroupLimitKind, Evidence, EvidenceItem, Explanation, HopCeiling, Inspection,
    LimitingPart, MeasuredTarget, RunResult, Sample, Target, TestResult,
};

use crate::ceiling::ceilings;

/// Share of the bottleneck's ceiling above which a link counts as full. The rest allows for effects that the formulas
/// omit.
const LINK_FULL: f64 = 0.90;
/// Share of the bottleneck's ceiling above which the data came from another source.
const LINK_MOST: f64 = 1.05;
/// Share of a core above which a thread counts as fully busy.
const THREAD_FULL: f64 = 0.90;
/// Share of all cores above which a machine counts as fully busy.
const MACHINE_FULL: f64 = 0.95;
/// Share of all cores above which a machine with other programs is too busy for a verdict.
const CROWDED: f64 = 0.90;
/// Share of a thread's time above which waiting for a core slows the thread down.
const CORE_WAIT: f64 = 0.10;
/// Maximum mean delay of a request, in ns, that other programs on the processors explain.
const CROWD_MOST_NS: f64 = 100e6;
/// Minimum share of the requested bytes that the device must have moved; below it, the requests did not reach the
/// device.
const MOVED: f64 = 0.9;
/// Share of a request's time at the device below which the request spent most of its time elsewhere.
const AT_DEVICE: f64 = 0.5;
/// Share of the time above which a device counts as always busy.
const DEVICE_FULL: f64 = 0.90;
/// Minimum gain of a deeper queue that shows that the queue was not deep enough.
const DEEPER_GAINS: f64 = 0.30;
/// Maximum gain of a deeper queue that shows that depth does not matter.
const DEEPER_SAME: f64 = 0.10;

/// Explains every test of a measured run; `inspection` contains the path to the run's target, if it was found.
pub fn explain(run: &mut RunResult, inspection: Option<&Inspection>) {
    let Target::Measured(target) = &run.target else { return };
    for test in &mut run.tests {
        let ceilings = inspection.map_or_else(Vec::new, |found| ceilings(found, &test.test));
        test.explanation = Some(explanation(target, test, ceilings));
    }
}

fn explanation(
    target: &MeasuredTarget,
    test: &TestResult,
    ceilings: Vec<HopCeiling>,
) -> Explanation {
    let evidence = TestEvidence::collect(target, test, &ceilings);
    Explanation {
        verdict: evidence.verdict(),
        evidence: evidence.signs(),
        bottleneck: evidence.bottleneck,
        ceiling_share: evidence.ceiling_share.map(|(share, _)| share),
        ceilings,
    }
}

/// The destination of a test's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RequestDestination {
    /// The requests do not reach a device: the null engine, or memory.
    #[default]
    NoDevice,
    File,
    /// A device without a file system.
    Device,
}

/// The evidence about a test, averaged over its repeats.
#[derive(Debug, Default)]
struct TestEvidence {
    kind: RequestDestination,
    bottleneck: Option<usize>,
    link: String,
    /// Throughput as a share of the bottleneck link's maximum ceiling and of its minimum ceiling.
    ceiling_share: Option<(f64, f64)>,
    limit: Option<CgroupLimit>,
    thread_busy: Option<f64>,
    core_wait: Option<f64>,
    machine: Option<(f64, u32)>,
    /// Processor time of other programs, and the threshold above which this time matters, in cores.
    others: Option<(f64, f64)>,
    device: Option<(String, f64)>,
    /// Mean time of a request in ns: at the device, as the program measured it, and on the processor.
    times: Option<(f64, f64, f64)>,
    deeper: Option<(u32, f64)>,
    /// Whether other programs could explain the gain of a deeper queue.
    deeper_crowded: bool,
}

impl TestEvidence {
    fn collect(target: &MeasuredTarget, test: &TestResult, ceilings: &[HopCeiling]) -> Self {
        let bottleneck = (0..ceilings.len()).min_by_key(|&index| ceilings[index].bound());
        let throughput = test.throughput_bytes_per_second.value;
        let share = |index: usize| {
            let of = |rate: u64| throughput / rate as f64;
            (of(ceilings[index].bound().0), of(ceilings[index].rate.0))
        };
        let all: Vec<&Evidence> =
            test.samples.iter().filter_map(|sample| sample.evidence.as_ref()).collect();
        let mean =
            |of: &dyn Fn(&Evidence) -> Option<f64>| average(all.iter().filter_map(|one| of(one)));
        let processors = all.iter().find_map(|one| one.processors);
        let used = mean(&|one| one.processors.map(|processors| processors.used()));
        let others = mean(&|one| one.processors?.others());
        let name = all.iter().find_map(|one| Some(one.device.as_ref()?.name.clone()));
        let busy = mean(&|one| Some(one.device.as_ref()?.busy_share()));
        let at_device = mean(&|one| {
            let device = one.device.as_ref()?;
            let requests = device.reads + device.writes;
            let time = (device.read_time + device.write_time).as_seconds() * 1e9;
            (requests > 0).then(|| time / requests as f64)
        });
        let on_processor = average(test.samples.iter().filter_map(|sample| {
            sample.cpu.map(|cpu| cpu.user_ns_per_request + cpu.system_ns_per_request)
        }));
        let request = Some(test.latency_mean_ns.value).filter(|&ns| ns > 0.0);
        let probe = test.queue_probe.filter(|probe| probe.iops > 0.0);
        Self {
            kind: kind(target, &test.samples),
            bottleneck,
            link: bottleneck.map_or(String::new(), |index| {
                format!("{} to {}", ceilings[index].link, ceilings[index].hop)
            }),
            ceiling_share: bottleneck
                .map(share)
                .filter(|(least, most)| least.is_finite() && most.is_finite()),
            limit: nearest_limit(&all),
            thread_busy: mean(&|one| Some(one.threads?.busiest)),
            core_wait: mean(&|one| one.threads?.core_wait),
            machine: used.zip(processors.map(|processor| processor.cores)),
            others: others.zip(processors.map(|processor| processor.others_matter_from())),
            device: name.zip(busy),
            times: at_device
                .zip(request)
                .map(|(device, request)| (device, request, on_processor.unwrap_or(0.0))),
            deeper: probe.map(|probe| (probe.queue_depth, probe.iops_doubled / probe.iops)),
            deeper_crowded: probe.is_some_and(|probe| {
                let waited = probe.core_wait.is_some_and(|share| share >= CORE_WAIT);
                waited
                    || probe.processors.is_some_and(|processor| {
                        let others =
                            processor.others().map(|used| (used, processor.others_matter_from()));
                        are_crowded(processor.used(), processor.cores, others)
                    })
            }),
        }
    }

    fn verdict(&self) -> LimitingPart {
        if self.limit.as_ref().is_some_and(CgroupLimit::is_met) {
            return LimitingPart::HeldBack;
        }
        let to_device = self.kind != RequestDestination::NoDevice;
        let full = LINK_FULL..=LINK_MOST;
        if to_device && self.ceiling_share.is_some_and(|(share, _)| full.contains(&share)) {
            return LimitingPart::LinkBound;
        }
        let gain = self.deeper.map(|(_, gain)| gain - 1.0);
        if self.is_out_of_processors(gain) {
            return LimitingPart::CpuBound;
        }
        let crowded = self.is_crowded();
        let probe_crowded = crowded || self.deeper_crowded;
        if gain.is_some_and(|gain| gain >= DEEPER_GAINS) {
            return if probe_crowded {
                LimitingPart::Undecided
            } else {
                LimitingPart::QueueStarved
            };
        }
        let device_full = self.device.as_ref().map(|(_, busy)| *busy >= DEVICE_FULL);
        let elsewhere = self.times.is_some_and(|(device, request, cpu)| {
            let not_ours = (request - cpu).max(0.0);
            let too_long_for_a_crowd = !self.waits() && not_ours - device >= CROWD_MOST_NS;
            device < AT_DEVICE * not_ours && (!crowded || too_long_for_a_crowd)
        });
        if self.kind == RequestDestination::File && elsewhere && device_full == Some(false) {
            return LimitingPart::FileSystemBound;
        }
        if probe_crowded {
            return LimitingPart::Undecided;
        }
        let link_may_be_full = self.ceiling_share.is_some_and(|(_, most)| most >= LINK_FULL);
        let no_more = gain.is_some_and(|gain| gain <= DEEPER_SAME);
        if to_device && no_more && device_full == Some(true) && !link_may_be_full {
            LimitingPart::DriveBound
        } else {
            LimitingPart::Undecided
        }
    }

    /// Returns whether the program's own work used all of its core or the whole machine.
    fn is_out_of_processors(&self, gain: Option<f64>) -> bool {
        let machine_full =
            self.machine.is_some_and(|(used, cores)| used >= MACHINE_FULL * f64::from(cores));
        let alone = self.others.is_some_and(|(used, from)| used < from);
        let no_more = !self.deeper_crowded && gain.is_some_and(|gain| gain <= DEEPER_SAME);
        self.thread_busy.is_some_and(|busy| busy >= THREAD_FULL)
            || (machine_full && alone && (no_more || self.waits()))
    }

    /// Returns whether a thread had to wait for a core.
    fn waits(&self) -> bool {
        self.core_wait.is_some_and(|share| share >= CORE_WAIT)
    }

    /// Returns whether the processor time of other programs could explain the remaining evidence.
    fn is_crowded(&self) -> bool {
        self.waits()
            || self.machine.is_some_and(|(used, cores)| are_crowded(used, cores, self.others))
    }

    fn signs(&self) -> Vec<EvidenceItem> {
        let mut signs = vec![match self.ceiling_share {
            Some((share, most)) => EvidenceItem::CeilingShare {
                link: self.link.clone(),
                share,
                share_most: Some(most).filter(|&most| most != share),
            },
            None => EvidenceItem::NoCeiling,
        }];
        if self.kind == RequestDestination::NoDevice {
            signs.push(EvidenceItem::NoDevice);
        }
        signs.extend(self.limit.clone().map(
            |CgroupLimit { text: limit, kind, share }| match kind {
                CgroupLimitKind::Device => EvidenceItem::DeviceLimit { limit, share },
                CgroupLimitKind::Processor => EvidenceItem::Quota { limit, share },
            },
        ));
        signs.extend(self.thread_busy.map(|share| EvidenceItem::ThreadBusy { share }));
        signs.extend(self.core_wait.map(|share| EvidenceItem::CoreWait { share }));
        signs.extend(self.machine.map(|(used, cores)| EvidenceItem::MachineBusy { used, cores }));
        let others = self.others.zip(self.machine);
        signs
            .extend(others.map(|((used, _), (_, cores))| EvidenceItem::OthersBusy { used, cores }));
        let device = self.device.clone();
        signs.extend(device.map(|(device, share)| EvidenceItem::DeviceBusy { device, share }));
        let times = self.times;
        signs.extend(
            times.map(|(device_ns, request_ns, _)| EvidenceItem::DeviceTime {
                device_ns,
                request_ns,
            }),
        );
        signs.push(match self.deeper {
            Some((queue_depth, gain)) => EvidenceItem::DeeperQueue { queue_depth, gain },
            None => EvidenceItem::NoQueueProbe,
        });
        if self.verdict() == LimitingPart::Undecided && (self.is_crowded() || self.deeper_crowded) {
            signs.push(EvidenceItem::Crowded);
        }
        signs
    }
}

/// Returns whether the processors were nearly fully used, and not only by this program. `used` is the used time in
/// cores, and `others` contains the time of other programs and the threshold above which this time matters.
fn are_crowded(used: f64, cores: u32, others: Option<(f64, f64)>) -> bool {
    used >= CROWDED * f64::from(cores) && others.is_none_or(|(used, from)| used >= from)
}

/// Returns the destination of a test's requests, which depends on the target and on the bytes that its device moved.
fn kind(target: &MeasuredTarget, samples: &[Sample]) -> RequestDestination {
    let answered_before = samples.iter().any(|sample| {
        let device = sample.evidence.as_ref().and_then(|evidence| evidence.device.as_ref());
        device.is_some_and(|device| {
            let moved = (device.read_bytes + device.written_bytes).get() as f64;
            moved < MOVED * sample.bytes().get() as f64
        })
    });
    match (target.engine.as_str(), target.direct, target.device) {
        ("null", ..) | (_, Some(false), _) => RequestDestination::NoDevice,
        _ if answered_before => RequestDestination::NoDevice,
        (.., Some(true)) => RequestDestination::Device,
        (.., Some(false) | None) => RequestDestination::File,
    }
}

/// Returns the limit that the rate was closest to, on average over all samples.
fn nearest_limit(all: &[&Evidence]) -> Option<CgroupLimit> {
    let limits = all.iter().flat_map(|one| &one.limits);
    let averaged = limits.clone().map(|limit| {
        let same = limits.clone().filter(|other| other.text == limit.text);
        let share = average(same.map(|other| other.share)).unwrap_or(0.0);
        CgroupLimit { share, ..limit.clone() }
    });
    averaged.max_by(|a, b| {
        (a.is_met(), a.share)
            .partial_cmp(&(b.is_met(), b.share))
            .unwrap_or(std::cmp::Ordering::Equal)
    })
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
