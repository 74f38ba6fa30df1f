//! Random results: each contains a random part of all values that a result can have.

use lanemark_schema::result::{
    ChangeGain, ConvergedTest, CpuUse, CreditUse, DeliveryEvidence, DeviceUse, DriveHealth,
    DriveUse, Evidence, EvidenceItem, Explanation, FaultImpact, HopCeiling, HopId,
    LatencyHistogram, LimitingPart, LiveDelivery, MainUncertainty, PercentileInterval,
    PredictionInterval, ProcessorUse, Punctuality, QueueDepthProbe, RatePhase, ReplayCounts,
    Reserve, RunResult, Sample, ScaledRun, Sensitivity, SteadyState, SystemChange, Target,
    TemperatureReading, Temperatures, TestResult, ThreadUse,
};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};

use crate::size::Noise;
use crate::{database, fixture, views};

/// Returns whether the noise selects a part of a result.
fn is_kept(noise: &mut Noise) -> bool {
    noise.below(3) == 0
}

fn maybe<T>(noise: &mut Noise, value: T) -> Option<T> {
    is_kept(noise).then_some(value)
}

/// Returns a random result; the noise selects its parts.
pub(crate) fn random(number: u64) -> RunResult {
    let noise = &mut Noise(number);
    let mut run = match noise.below(4) {
        0 => fixture::simulated(),
        1 => fixture::over_time(),
        2 => fixture::measured(),
        _ => database::result(vec![database::repeat(1e5, (440, 290), 0.5)]),
    };
    run.tests.truncate(1 + noise.below(3) as usize);
    run.workload.tests.truncate(run.tests.len());
    run.complete = noise.below(4) > 0;
    let warnings = views::one_of_each_warning().into_iter();
    run.warnings.extend(warnings.filter(|_| is_kept(noise)));
    if let Target::Measured(target) = &mut run.target {
        target.direct = [None, Some(true), Some(false)][noise.below(3) as usize];
    }
    for result in &mut run.tests {
        let mut samples = result.samples.clone();
        samples.truncate(1 + noise.below(3) as usize);
        for sample in &mut samples {
            vary_load(noise, sample);
            vary_simulated(noise, sample);
            vary_measured(noise, sample);
        }
        *result = TestResult::new(&run.workload, &result.test, samples);
        vary_test(noise, result);
    }
    run
}

/// Changes the requests of a sample and their outcome.
fn vary_load(noise: &mut Noise, sample: &mut Sample) {
    let one = sample.reads.clone().or(sample.writes.clone());
    if let Some(one) = one.filter(|_| is_kept(noise)) {
        let directions = |noise: &mut Noise| maybe(noise, one.clone());
        (sample.reads, sample.writes) = (directions(noise), directions(noise));
        (sample.flushes, sample.trims) = (directions(noise), directions(noise));
        if sample.reads.is_none() && sample.writes.is_none() {
            sample.unified = directions(noise);
        }
        let live = LiveDelivery {
            time_scale: 10.0,
            host_errors: Default::default(),
            served: Duration::from_seconds(5),
            lateness: LatencyHistogram::new(),
            reads: directions(noise),
            writes: directions(noise),
            evidence: DeliveryEvidence::of_modelled(
                &one.latency,
                [0.1, 1.0, 10.0][noise.below(3) as usize],
            ),
            content: None,
            processor_s: 1.0,
            busy: Duration::ZERO,
            program: None,
        };
        sample.live = maybe(noise, live);
        let replay = ReplayCounts {
            requests: 1_000,
            speed: [None, Some(1.0), Some(2.0)][noise.below(3) as usize],
            queue_depth: None,
            span: Some(Duration::from_seconds(7)),
            outstanding_mean: 1.5,
            outstanding_max: 4,
            held_back: 0,
            wrapped: 0,
            empty: 0,
            flushes: directions(noise),
            trims: directions(noise),
        };
        sample.replay = maybe(noise, replay);
    }
    for _ in 0..noise.below(3) {
        sample.errors.record_errno(5);
    }
    for (fault, lost) in [("power-cut at=2s", 0), ("power-cut at=3s", 64), ("stuck at=0s", 0)] {
        let fault = FaultImpact {
            fault: fault.to_owned(),
            at: Duration::from_seconds(noise.below(3)),
            failed: noise.below(3),
            held: 1,
            silent: noise.below(8) / 6,
            lost: Bytes::kibi(lost),
            recovery: maybe(noise, Duration::from_seconds(5)),
        };
        sample.faults.extend(maybe(noise, fault).filter(|_| is_kept(noise)));
    }
}

/// Changes the parts of a sample that a simulation determines.
fn vary_simulated(noise: &mut Noise, sample: &mut Sample) {
    sample.series = sample.series.take().filter(|_| !is_kept(noise));
    if let Some(series) = sample.series.as_mut().filter(|_| is_kept(noise)) {
        series.points.truncate([10, 20][noise.below(2) as usize]);
        let drives = series.points.iter_mut().filter_map(|point| point.drive.as_mut());
        drives.for_each(|drive| drive.moved = Bytes(0));
    }
    if let Some(steady) = sample.steady.as_mut().filter(|_| is_kept(noise)) {
        let round = steady.rounds[0];
        *steady = SteadyState::new(steady.rule);
        for _ in 0..5 {
            steady.push(round);
        }
    }
    sample.steady = sample.steady.take().filter(|_| is_kept(noise));
    sample.path = sample.path.take().filter(|_| !is_kept(noise));
    sample.energy = sample.energy.take().filter(|_| !is_kept(noise));
    if let Some(path) = sample.path.as_mut().filter(|_| is_kept(noise)) {
        path.hops.iter_mut().for_each(|hop| (hop.utilisation, hop.ceiling) = (0.2, None));
    }
    let drive = DriveUse {
        host_written: Bytes(noise.below(2) * 1_000_000_000),
        moved: Bytes(noise.below(2) * 500_000_000),
        superblocks_erased: noise.below(2),
        ..DriveUse::default()
    };
    sample.drive = maybe(noise, drive);
    let converged = ConvergedTest {
        simulated: 1_000,
        requests: 1_000 * (1 + noise.below(2)),
        elapsed: Duration::from_seconds(60),
        steady_from: Duration::ZERO,
        half_width: 0.01,
    };
    sample.converged = maybe(noise, converged);
    let similar = ScaledRun {
        factor: 16,
        drive_factor: 1,
        requests: 16_000,
        elapsed: Duration::from_seconds(60),
    };
    sample.similar = maybe(noise, similar);
    let phase = |seconds, ended_by| RatePhase {
        until: Duration::from_seconds(seconds),
        iops: 9e3,
        ended_by,
    };
    let phases = [phase(2, Some(Reserve::PseudoSlc)), phase(9, None)];
    sample.phases = phases[..noise.below(3) as usize].to_vec();
    let credits = CreditUse {
        reserve: Reserve::OperationCredits,
        at_start: 100,
        used_per_second: 3_000.0,
        refill_per_second: 300,
        end: maybe(noise, Duration::from_seconds(60)),
        is_simulated: false,
    };
    sample.credits = maybe(noise, credits).into_iter().collect();
}

/// Changes the readings of the machine.
fn vary_measured(noise: &mut Noise, sample: &mut Sample) {
    sample.cpu = maybe(noise, CpuUse { user_ns_per_request: 900.0, system_ns_per_request: 100.0 });
    let device = DeviceUse {
        name: "vda".to_owned(),
        reads: 100,
        read_bytes: Bytes::mebi(1),
        flushes: noise.below(2),
        busy: Duration::from_seconds(1),
        elapsed: Duration::from_seconds(2),
        ..DeviceUse::default()
    };
    let health = DriveHealth {
        temperature_celsius: None,
        warnings: 0,
        spare_percent: 100,
        used_percent: 7,
        read: Bytes::mebi(1),
        written: Bytes::mebi(1),
        media_errors: noise.below(2),
        throttled_minutes: 0,
    };
    let evidence = Evidence {
        device: maybe(noise, device),
        processors: maybe(noise, ProcessorUse { cores: 2, user: 0.5, ..Default::default() }),
        threads: maybe(noise, ThreadUse { busiest: 0.4, ..Default::default() }),
        temperature_celsius: maybe(noise, 61.0),
        temperatures: maybe(
            noise,
            Temperatures {
                limit_celsius: Some(81.0),
                readings: vec![TemperatureReading { at: Duration::ZERO, celsius: 57.0 }],
            },
        ),
        health: maybe(noise, health),
        ..Evidence::default()
    };
    if sample.transactions.is_none() {
        sample.evidence = maybe(noise, evidence);
    }
    let mut lateness = LatencyHistogram::new();
    (0..100).for_each(|_| lateness.record_ns(4_000));
    let punctuality = Punctuality {
        own_lateness: lateness.clone(),
        lateness,
        held_back: 3,
        unsubmitted: noise.below(2),
    };
    sample.punctuality = maybe(noise, punctuality);
}

/// Changes the conclusions about a test.
fn vary_test(noise: &mut Noise, result: &mut TestResult) {
    const VERDICTS: [LimitingPart; 7] = [
        LimitingPart::LinkBound,
        LimitingPart::DriveBound,
        LimitingPart::CpuBound,
        LimitingPart::QueueStarved,
        LimitingPart::FileSystemBound,
        LimitingPart::HeldBack,
        LimitingPart::Undecided,
    ];
    let rate = BytesPerSecond(3_000_000_000);
    let ceiling = HopCeiling {
        hop: "nvme0".to_owned(),
        link: "PCIe 3.0 x4".to_owned(),
        rate,
        rate_most: None,
    };
    let evidence = [
        EvidenceItem::NoQueueProbe,
        EvidenceItem::Crowded,
        EvidenceItem::DeviceBusy { device: "vda".to_owned(), share: 0.9 },
    ];
    let explanation = Explanation {
        ceilings: vec![ceiling],
        bottleneck: Some(0),
        ceiling_share: maybe(noise, 0.5),
        verdict: VERDICTS[noise.below(12).min(6) as usize],
        evidence: evidence.into_iter().filter(|_| is_kept(noise)).collect(),
    };
    result.explanation = maybe(noise, explanation);
    let probe = QueueDepthProbe {
        queue_depth: 1,
        iops: 1.0,
        iops_doubled: 2.0,
        processors: None,
        core_wait: None,
    };
    result.queue_probe = maybe(noise, probe);
    let gain = ChangeGain {
        id: SystemChange::Hop(HopId::Media),
        hop: "dies".to_owned(),
        change: "dies twice as fast".to_owned(),
        utilisation: maybe(noise, 0.8),
        throughput_gain: noise.below(2) as f64 * 0.4,
        latency_gain: noise.below(2) as f64 * 0.3,
    };
    result.sensitivity = maybe(noise, Sensitivity::new(vec![gain]));
    let low = [0.05, 0.8, 1.0][noise.below(3) as usize];
    let interval = PredictionInterval {
        low_ratio: low,
        high_ratio: if low < 1.0 { 1.2 } else { 1.0 },
        widest: maybe(noise, MainUncertainty { parameter: "drive.x".to_owned(), share: 0.4 }),
        percentiles: maybe(
            noise,
            PercentileInterval { percentile: 99.0, low_ratio: 0.9, high_ratio: 1.3 },
        )
        .into_iter()
        .collect(),
    };
    result.interval = maybe(noise, interval);
}
