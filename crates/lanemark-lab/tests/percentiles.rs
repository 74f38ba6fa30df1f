//! Tests of the intervals of latency percentiles, on a cloud volume whose latency has a known distribution.

use lanemark_lab::interval::DrawnSystem;
use lanemark_lab::{Lab, settings};
use lanemark_schema::result::PredictionInterval;
use lanemark_schema::workload::{ArrivalProcess, Load, Test};
use lanemark_study::{Library, UncertainValue};

const VOLUME: &str = "aws-gp3-1tib@aws-m5-4xlarge:volume";
/// All uncertain values except for the tail, which is the 99th percentile minus the median.
const CERTAIN: [&str; 5] = [
    "drive.cloud.read_latency=800 us",
    "platform.cpu.request_submit=2 us",
    "platform.cpu.request_complete=1 us",
    "platform.nvme.driver_time=2.8 us",
    "platform.nvme.memory_read=500 ns",
];
/// The parameter of the tail.
const TAIL: &str = "drive.cloud.read_tail";

/// Returns the interval of a test of `rate` requests a second, with these settings and ranges.
fn interval(test: &Test, rate: f64, set: &[&str], ranges: &[UncertainValue]) -> PredictionInterval {
    let library = Library::built_in();
    let set: Vec<String> = set.iter().map(|one| (*one).to_owned()).collect();
    let settings = settings(&set).unwrap();
    let subject = DrawnSystem { library: &library, name: VOLUME, settings: &settings, ranges };
    let all = Lab::default().intervals(&subject, &[(test.clone(), rate)], 1).unwrap();
    all.into_iter().next().flatten().unwrap()
}

fn reads(block: &str) -> Test {
    let test = Test::random_read(block).span("8 GiB").duration("10 s");
    test.build().unwrap().into_test()
}

#[test]
fn a_value_of_the_tail_widens_the_percentiles_far_more_than_the_rate() {
    let wide = UncertainValue::within(TAIL, "1.2 ms", ["400 us", "12 ms"]).unwrap();
    let all = interval(&reads("4 KiB"), 1_150.0, &CERTAIN, &[wide]);
    let p99 = all.percentile(99.0).unwrap();
    // The 99th percentile is 2 ms, and its bounds are 0.8 ms + 0.4 ms and 0.8 ms + 12 ms.
    assert!(
        (0.45..0.8).contains(&p99.low_ratio) && (3.5..9.0).contains(&p99.high_ratio),
        "{all:?}"
    );
    assert!(p99.high_ratio / p99.low_ratio > 2.0 * all.high_ratio / all.low_ratio, "{all:?}");
    // The slowest draws have fewer than 1,000 requests.
    assert_eq!(all.percentile(99.9), None);
}

#[test]
fn a_fixed_load_that_is_served_has_a_certain_rate() {
    let library = Library::built_in();
    let name = "samsung-990-pro-2tb@workstation-x570:m2";
    let rates = |rate_per_second: f64| {
        let load = Load::Open { rate_per_second, process: ArrivalProcess::Even };
        let test = reads("16 KiB").with(|requests| requests.load = load);
        let subject = DrawnSystem { library: &library, name, settings: &[], ranges: &[] };
        let all = Lab::default().intervals(&subject, &[(test, rate_per_second)], 1).unwrap();
        let interval = all.into_iter().next().flatten().unwrap();
        (interval.low_ratio, interval.high_ratio)
    };
    assert_eq!(rates(1_000.0), (1.0, 1.0));
    // The drive reads fewer requests than this in some draws.
    assert!(rates(400_000.0).0 < 0.95);
}

#[test]
fn certain_values_leave_the_factors_of_the_model() {
    let tail = format!("{TAIL}=1.2 ms");
    let set = [&CERTAIN[..], &[&tail]].concat();
    // With 1,024 outstanding requests, a brief test also has enough requests for p99.9.
    let deep = reads("4 KiB").with(|requests| requests.queue_depth = 1_024);
    for (test, rate, percentiles) in
        [(reads("4 KiB"), 1_150.0, &[99.0][..]), (deep, 3_000.0, &[99.0, 99.9])]
    {
        let all = interval(&test, rate, &set, &[]);
        let near = |one: f64, other: f64| (one / other - 1.0).abs() < 0.01;
        for one in &all.percentiles {
            assert!(near(one.low_ratio, 1.0 / 1.15) && near(one.high_ratio, 1.15), "{all:?}");
        }
        let known: Vec<f64> = all.percentiles.iter().map(|one| one.percentile).collect();
        assert_eq!(known, percentiles, "{all:?}");
    }
}
