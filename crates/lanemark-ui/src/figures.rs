//! The figures of a test for a page, as plain numbers whose names contain their units.

use lanemark_lab::LabError;
use lanemark_report::{
    durable_sentence, palette, path_sentence, phases_sentence, run_warnings, wrong_outcome,
};
use lanemark_schema::result::{
    AssumedLimit, DrawnRates, HopId, PERCENTILES, PathSection, PathUse, PredictionInterval, Sample,
    SimulatedTarget,
};
use lanemark_schema::workload::{Test, Workload};
use lanemark_study::{System, path};
use serde::{Deserialize, Serialize};

use crate::fault_report::{FaultReport, reports};
use crate::request::AssembledSystem;

/// Utilisation from which a hop is the limit.
const BUSY: f64 = 0.9;

/// The figures of one test, over all completed repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestFigures {
    /// The test's name.
    pub test: String,
    /// Whether the offsets are random, so that rates are requests a second.
    pub is_random: bool,
    /// Number of repeats in the figures; 0 for a first answer from a few requests.
    pub repeats: usize,
    /// Number of counted requests, over all repeats.
    pub requests: u64,
    /// Simulated time that was counted, over all repeats.
    pub simulated_seconds: f64,
    /// Throughput in MB/s, 10^6 bytes a second.
    pub megabytes_per_second: f64,
    /// Requests a second.
    pub iops: f64,
    /// Half the range of the repeats, divided by their mean; for a test that converged, half the width of its 95%
    /// interval.
    pub spread: f64,
    pub latency_mean_us: f64,
    /// Mean duration of a flush, if the test flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_mean_us: Option<f64>,
    /// The report's sentence about the flushes of a test that only writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<String>,
    /// Requests a second of the same test without faults, if the test has faults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_without_faults: Option<f64>,
    /// Percentiles for which there are enough requests, each with its latency.
    pub latency_us: Vec<(f64, f64)>,
    /// The 80% interval, if it is already known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<PredictionInterval>,
    /// The prediction with its draws, if they are already known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<PagePrediction>,
    /// The hops in the order of the path.
    pub hops: Vec<HopFigures>,
    /// A sentence that names the bottleneck.
    pub bottleneck: String,
    /// The hop that is busy nearly all the time, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitingHop>,
    pub failed: u64,
    /// A phrase about lost data and failed requests, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
    pub faults: Vec<FaultReport>,
    pub warnings: Vec<String>,
    /// The rates before and after the event that changed the rate during the test, if there was one.
    pub phases: Option<String>,
}

/// Everything that a comparison of two predictions needs except their rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PagePrediction {
    pub target: SimulatedTarget,
    pub test: Test,
    pub drawn: DrawnRates,
    pub path: Option<PathUse>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitingHop {
    /// The hop's identity.
    pub id: HopId,
    /// Whether its speed is an assumed value.
    pub is_assumed: bool,
    /// The assumed value and its range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HopFigures {
    /// The hop's identity.
    pub id: HopId,
    pub name: String,
    /// The hop's formula.
    pub law: String,
    /// The number of the colour in which the hop is drawn.
    pub colour: usize,
    /// Whether the hop is a part of the drive.
    pub is_of_drive: bool,
    /// Share of the time in which the hop is busy.
    pub utilisation: f64,
    /// The throughput of the hop if it were the only limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_megabytes_per_second: Option<f64>,
    /// Mean time that a request waits for the hop.
    pub wait_us: f64,
    /// Mean service time of a request at the hop.
    pub service_us: f64,
}

/// Returns the hop that limits `samples`, if a hop is busy nearly all the time.
fn limit(system: &System, test: &Test, samples: &[Sample]) -> Option<LimitingHop> {
    let sample = samples.first()?;
    let hop = sample.path.as_ref()?.busiest_hop().filter(|hop| hop.utilisation >= BUSY)?;
    let assumed = system.assumed_limit(test, sample).filter(|limit| limit.hop == hop.name);
    let value = |limit: &AssumedLimit| {
        let (low, high) = &limit.range;
        format!("{} = {}, {low} to {high}", limit.parameter, limit.value)
    };
    Some(LimitingHop {
        id: hop.id,
        is_assumed: assumed.is_some(),
        value: assumed.as_ref().map(value),
    })
}

/// Returns the phases of the first sample, without the name of the test.
fn phases(test: &Test, samples: &[Sample]) -> Option<String> {
    let sentence = phases_sentence(test, samples.first()?)?;
    sentence.strip_prefix(&format!("{}: ", test.name)).map(str::to_owned)
}

impl TestFigures {
    /// Computes the figures of `samples` of a test of `workload`; `is_first` states whether they are a first answer.
    ///
    /// # Errors
    /// Returns an error if there is no sample.
    pub fn compute(
        assembled: &AssembledSystem,
        workload: &Workload,
        index: usize,
        samples: Vec<Sample>,
        is_first: bool,
    ) -> Result<Self, LabError> {
        let system = &assembled.system;
        let test = &workload.tests[index];
        let one = Workload { tests: vec![test.clone()], ..workload.clone() };
        let run = assembled.result(&one, vec![samples]);
        let result = &run.tests[0];
        let samples = result.samples.as_slice();
        let last = samples.last().ok_or_else(|| LabError::run("no request completed"))?;
        let throughput = &result.throughput_bytes_per_second;
        let latency = result.latency();
        let view = path::view(system, test, Some(last.throughput()));
        let used = last.path.iter().flat_map(|path| &path.hops);
        let hops = used.map(|hop| {
            let law = view.hops.iter().find(|hop_view| hop_view.id == hop.id);
            let ceiling = hop.ceiling.or(law.and_then(|law| law.ceiling));
            HopFigures {
                id: hop.id,
                name: hop.name.clone(),
                law: law.map_or_else(String::new, |law| law.law.clone()),
                colour: palette::hop(hop.id),
                is_of_drive: PathSection::from_hop(hop.id) == PathSection::Drive,
                utilisation: hop.utilisation,
                ceiling_megabytes_per_second: ceiling.map(|rate| rate.as_megabytes()),
                wait_us: hop.wait_ns / 1e3,
                service_us: hop.service_ns / 1e3,
            }
        });
        let supported = PERCENTILES.into_iter().filter_map(|percentile| {
            Some((percentile, latency.percentile_ns(percentile)? as f64 / 1e3))
        });
        let flushes = last.flushes.as_ref().filter(|flushes| flushes.latency.count() > 0);
        Ok(Self {
            test: test.name.clone(),
            flush_mean_us: flushes.map(|flushes| flushes.latency.mean_ns() / 1e3),
            durable: durable_sentence(result),
            iops_without_faults: None,
            is_random: path::is_random(test),
            repeats: if is_first { 0 } else { samples.len() },
            requests: samples.iter().map(Sample::operations).sum(),
            simulated_seconds: samples.iter().map(|sample| sample.elapsed.as_seconds()).sum(),
            megabytes_per_second: throughput.value / 1e6,
            iops: result.iops.value,
            spread: match last.converged {
                Some(converged) if samples.len() == 1 => converged.half_width,
                _ => throughput.spread(),
            },
            latency_mean_us: result.latency_mean_ns.value / 1e3,
            latency_us: supported.collect(),
            interval: None,
            prediction: None,
            hops: hops.collect(),
            bottleneck: path_sentence(&view),
            limit: limit(system, test, samples),
            warnings: run_warnings(&run),
            phases: phases(test, samples),
            wrong: wrong_outcome(result),
            failed: samples.iter().map(|sample| sample.errors.total()).sum(),
            faults: reports(&assembled.faults, samples),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    pub queue_depth: u32,
    /// Throughput in MB/s, 10^6 bytes a second.
    pub megabytes_per_second: f64,
    /// Requests a second.
    pub iops: f64,
    /// Mean latency of a request with its flush, if the test flushes.
    pub latency_mean_us: f64,
    /// Latency that 99% of the requests do not exceed, if there are enough requests to determine it, and no flushes.
    pub latency_p99_us: Option<f64>,
}

impl CurvePoint {
    /// Returns the point of a simulated test.
    pub fn from_sample(test: &Test, sample: &Sample) -> Self {
        let latency = sample.latency();
        let flushes = sample.flushes.as_ref().map(|flushes| &flushes.latency);
        let flushes = flushes.filter(|flushes| flushes.count() > 0);
        let flush_ns = flushes.map_or(0.0, |flushes| {
            flushes.mean_ns() * flushes.count() as f64 / sample.operations().max(1) as f64
        });
        let p99 = latency.percentile_ns(99.0).filter(|_| flushes.is_none());
        Self {
            queue_depth: test.issue_depth(),
            megabytes_per_second: sample.throughput().0 as f64 / 1e6,
            iops: sample.iops(),
            latency_mean_us: (latency.mean_ns() + flush_ns) / 1e3,
            latency_p99_us: p99.map(|ns| ns as f64 / 1e3),
        }
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::rng::StreamKey;
    use lanemark_study::Library;

    use super::*;
    use crate::request::SystemRequest;

    #[test]
    fn every_hop_has_the_formula_of_its_identity() {
        let (request, _) = example();
        let system = &request.system;
        let test = Test::random_read("4 KiB").span("1 GiB").volume("1 MiB").build().unwrap();
        let workload = of_test(&test);
        let key = StreamKey { seed: 1, test: 0, repeat: 0, thread: 0 };
        let sample = lanemark_sim::run_test(&request.spec, &test, key).unwrap();
        let figures =
            TestFigures::compute(&request, &workload, 0, vec![sample.clone()], false).unwrap();
        let view = path::view(system, &test, Some(sample.throughput()));
        let used = &sample.path.as_ref().unwrap().hops;
        assert_eq!(figures.hops.len(), used.len());
        let mut laws = std::collections::BTreeSet::new();
        for (hop, used) in figures.hops.iter().zip(used) {
            let hop_view = view.hops.iter().find(|hop_view| hop_view.id == hop.id);
            assert_eq!((hop.id, &hop.name), (used.id, &used.name));
            assert_eq!(hop.colour, lanemark_report::palette::hop(hop.id));
            assert_eq!(
                hop.law,
                hop_view.map_or(String::new(), |hop_view| hop_view.law.clone()),
                "{}",
                hop.name
            );
            let ceiling = used.ceiling.or(hop_view.and_then(|hop_view| hop_view.ceiling));
            assert_eq!(hop.ceiling_megabytes_per_second, ceiling.map(|rate| rate.as_megabytes()));
            assert_eq!((hop.wait_us, hop.service_us), (used.wait_ns / 1e3, used.service_ns / 1e3));
            laws.insert(hop.law.clone());
        }
        assert!(laws.len() > 4, "{laws:?}");
    }

    fn of_test(test: &Test) -> Workload {
        Workload::of_test("own", "own", test.clone())
    }

    /// Returns a system with a drive in a SATA port, and a test of random writes.
    fn example() -> (AssembledSystem, Test) {
        let name = "samsung-850-pro-1tb@workstation-z170:sata";
        let asked = SystemRequest { system: name.to_owned(), set: Vec::new(), faults: Vec::new() };
        let asked = asked.assemble(&Library::built_in()).unwrap();
        let test = Test::random_write("4 KiB").span("1 GiB").volume("1 MiB").build().unwrap();
        (asked, test.into_test())
    }

    fn sample(milliseconds: u64, latencies_us: &[u64]) -> Sample {
        use lanemark_schema::result::DirectionResult;
        use lanemark_schema::units::{Bytes, Duration};
        let mut writes = DirectionResult::new();
        for &us in latencies_us {
            writes.record(Bytes::kibi(4), Duration::from_microseconds(us));
        }
        let elapsed = Duration::from_microseconds(1_000 * milliseconds);
        Sample { elapsed, writes: Some(writes), ..Sample::empty() }
    }

    #[test]
    fn a_buffer_that_fills_has_a_warning_above_one_per_cent() {
        use lanemark_schema::result::DriveUse;
        use lanemark_schema::units::Bytes;
        let (asked, test) = example();
        let filled = |buffered: u64| {
            let drive = DriveUse {
                host_written: Bytes(10_000),
                buffered: Bytes(buffered),
                ..DriveUse::default()
            };
            Sample { drive: Some(drive), ..sample(10, &[50]) }
        };
        let has_warning = |sample: Sample| {
            let all = TestFigures::compute(&asked, &of_test(&test), 0, vec![sample], false);
            all.unwrap().warnings.iter().any(|text| text.contains("filled the write buffer"))
        };
        assert!(!has_warning(filled(100)));
        assert!(has_warning(filled(200)));
        // Without a completed request there is no rate that the buffer could distort.
        assert!(!has_warning(Sample { writes: None, ..filled(200) }));
    }

    #[test]
    fn figures_are_sums_and_means_of_all_repeats() {
        let (asked, test) = example();
        let first: Vec<u64> = vec![100; 300];
        let second: Vec<u64> = [vec![100; 98], vec![700; 2]].concat();
        let samples = [sample(10, &first), sample(10, &second)];
        let workload = of_test(&test);
        let compute = |samples: &[Sample], is_first| {
            TestFigures::compute(&asked, &workload, 0, samples.to_vec(), is_first)
        };
        let figures = compute(&samples, false).unwrap();
        assert_eq!((figures.repeats, figures.requests, figures.failed), (2, 400, 0));
        assert!((figures.simulated_seconds - 0.02).abs() < 1e-12);
        // There are 300 and 100 requests of 4 KiB in 10 ms.
        assert!((figures.megabytes_per_second - 81.92).abs() < 1e-9);
        assert!((figures.iops - 20_000.0).abs() < 1e-6);
        assert!((figures.spread - 0.5).abs() < 1e-9);
        // The mean of the means of the repeats, 100 and 112 us.
        assert!((figures.latency_mean_us - 106.0).abs() < 1e-9);
        assert_eq!((figures.is_random, figures.hops.len()), (true, 0));
        assert_eq!(figures.limit, None);
        let percentiles: Vec<f64> = figures.latency_us.iter().map(|figure| figure.0).collect();
        assert!(percentiles.contains(&50.0) && percentiles.contains(&99.0));
        assert!(!percentiles.contains(&99.99));
        let first = compute(&samples[..1], true).unwrap();
        assert_eq!((first.repeats, first.requests, first.spread), (0, 300, 0.0));
        assert!(compute(&[], false).is_err());
        let converged = lanemark_schema::result::ConvergedTest {
            simulated: 300,
            requests: 900,
            elapsed: lanemark_schema::units::Duration::from_seconds(1),
            steady_from: lanemark_schema::units::Duration::ZERO,
            half_width: 0.03,
        };
        let [mut one, mut other] = samples;
        (one.converged, other.converged) = (Some(converged), Some(converged));
        let alone = compute(std::slice::from_ref(&one), false).unwrap();
        assert_eq!(alone.spread, 0.03);
        let both = compute(&[one, other], false).unwrap();
        assert!((both.spread - 0.5).abs() < 1e-9);
    }

    #[test]
    fn the_warnings_of_the_command_and_the_reason_for_missing_percentiles_are_shown() {
        let (asked, test) = example();
        let samples = vec![sample(10, &[100; 300])];
        let figures = TestFigures::compute(&asked, &of_test(&test), 0, samples, false).unwrap();
        for text in ["only one repeat", "p99 and beyond are not shown"] {
            let is_shown = figures.warnings.iter().any(|warning| warning.contains(text));
            assert!(is_shown, "{text}: {:?}", figures.warnings);
        }
    }

    #[test]
    fn a_point_has_the_figures_of_its_depth() {
        let (_, test) = example();
        let test = test.with(|asked| asked.queue_depth = 8);
        let mut latencies = [100; 100];
        (latencies[0], latencies[1]) = (90, 110);
        let point = CurvePoint::from_sample(&test, &sample(10, &latencies));
        assert_eq!(point.queue_depth, 8);
        assert!((point.megabytes_per_second - 40.96).abs() < 1e-9);
        assert!((point.iops - 10_000.0).abs() < 1e-6);
        assert!((point.latency_mean_us - 100.0).abs() < 1e-9);
        assert!((point.latency_p99_us.unwrap() - 100.0).abs() < 0.1);
        let few = CurvePoint::from_sample(&test, &sample(10, &latencies[..99]));
        assert_eq!(few.latency_p99_us, None);
        // The latency of a flushed test contains the flush.
        let mut flushed = sample(10, &[20; 200]);
        flushed.flushes = sample(10, &[980; 200]).writes;
        let point = CurvePoint::from_sample(&test, &flushed);
        assert!((point.latency_mean_us - 1_000.0).abs() < 1e-9);
        assert_eq!(point.latency_p99_us, None);
    }
}
