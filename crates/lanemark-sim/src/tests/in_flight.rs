//! Tests with Little's law that all requests in flight at the end of a test are reported.

use crate::spec::{JournalSpec, SystemSpec, VolumeSpec};
use crate::tests::fault::with;
use crate::tests::link::dual;
use crate::tests::runs::{nvme, run, sata, simulate, small_drive, test, times};
use crate::tests::{assert_within, lasting, us};
use lanemark_schema::result::{DirectionResult, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{ArrivalProcess, Load, Pattern, Test};
use proptest::prelude::*;

/// Returns a test that ends after a duration.
fn timed(duration: Duration, depth: u32) -> Test {
    lasting(duration, test(Bytes::kibi(4), Pattern::Uniform, true, depth))
}

/// Returns the sum of the counted latencies in ns, and their number.
fn counted(sample: &Sample) -> (f64, f64) {
    let all = [&sample.reads, &sample.writes, &sample.flushes];
    let sum = |of: fn(&DirectionResult) -> f64| all.into_iter().flatten().map(of).sum::<f64>();
    (
        sum(|one| one.latency.mean_ns() * one.latency.count() as f64),
        sum(|one| one.latency.count() as f64),
    )
}

fn ns(duration: Duration) -> f64 {
    duration.picoseconds() as f64 / 1e3
}

#[test]
fn a_pause_that_begins_before_the_end_leaves_its_requests_in_flight_with_their_ages() {
    let system = with(&nvme(small_drive()), &["pause at=90ms for=1s"]);
    let sample = run(&system, &timed(us(100_000), 32));
    let in_flight = sample.in_flight.unwrap();
    assert_eq!((in_flight.requests, in_flight.older_than_counted), (32, 32));
    let age = in_flight.age_max;
    let longest = sample.latency_max().unwrap();
    assert!(age >= us(9_900) && age < us(11_000), "{age}");
    assert!(longest < us(2_000), "{longest}: the counted ones were before the pause");
    // Without the fault, the requests at the end are not older than earlier requests.
    let sample = run(&nvme(small_drive()), &timed(us(100_000), 32));
    let in_flight = sample.in_flight.unwrap();
    assert_eq!((in_flight.requests, in_flight.older_than_counted), (32, 0));
    // A test that ends after a volume does not have requests in flight at its end.
    let sample = run(&system, &test(Bytes::kibi(4), Pattern::Uniform, true, 32));
    assert_eq!(sample.in_flight, None);
}

#[test]
fn an_open_loop_accounts_for_the_requests_that_were_due_and_had_no_slot() {
    let system = with(&nvme(small_drive()), &["pause at=50ms for=1s"]);
    let load = Load::Open { rate_per_second: 10_000.0, process: ArrivalProcess::Even };
    let open = timed(us(100_000), 8).with(|asked| asked.load = load);
    let sample = run(&system, &open);
    let in_flight = sample.in_flight.unwrap();
    // 500 requests were due in the pause: eight have slots, and the others wait for a slot.
    assert!((499..=501).contains(&in_flight.requests), "{in_flight:?}");
    assert_eq!(sample.punctuality.as_ref().unwrap().unsubmitted, in_flight.requests - 8);
    assert_within(ns(in_flight.age_total) / in_flight.requests as f64, 25e6, 0.01);
    // Every request that was due is somewhere.
    assert_eq!(sample.operations() + in_flight.requests, 1000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In a closed loop, a fixed number of requests is always outstanding. The counted latencies and the ages at the
    /// end therefore sum to this number times the duration, except that each is rounded to a nanosecond.
    #[test]
    fn latencies_and_ages_sum_to_the_outstanding_time(
        faults in proptest::collection::vec((0usize..5, 0u64..12_000, 1u64..9_000), 0..4),
        kind in 0usize..5, depth in 1u32..40, threads in 1u32..4, read in 0usize..3,
        length in 500u64..12_000, flush: bool, seed: u64,
    ) {
        let drive = small_drive();
        let base = match kind {
            0 => nvme(drive),
            1 => sata(drive),
            2 => dual(&drive),
            3 => SystemSpec {
                volume: Some(VolumeSpec::Stripe { chunk: Bytes::kibi(16) }),
                ..times(nvme(drive), 2)
            },
            _ => SystemSpec { journal: Some(JournalSpec {
                records: Bytes::kibi(8),
                commit: Bytes::kibi(4),
                timestamp_step: us(1),
            }), ..nvme(drive) },
        };
        let faults: Vec<String> = faults.iter().map(|(what, at, length)| match what {
            0 => format!("latency extra=300us for={length}us at={at}us"),
            1 => format!("stuck timeout=1ms abort={length}us commands=3 at={at}us"),
            2 => format!("link-errors rate=1e-6 recovery=50us at={at}us"),
            _ => format!("pause for={length}us at={at}us"),
        }).collect();
        let system = with(&base, &faults.iter().map(String::as_str).collect::<Vec<_>>());
        let test = Test { threads, ..timed(us(length), depth) }.with(|asked| {
            asked.read_share = Ratio::new([0.0, 0.5, 1.0][read]).unwrap();
            asked.mix.flush_every = (flush && read == 0).then_some(4);
        });
        let sample = simulate(&system, &test, StreamKey::from_seed(seed)).unwrap();
        let outstanding = test.population() as f64 * system.targets().len() as f64;
        let wanted = outstanding * ns(sample.elapsed);
        let (latencies, requests) = counted(&sample);
        let in_flight = sample.in_flight.unwrap();
        let seen = latencies + ns(in_flight.age_total);
        // Latencies are stored in whole nanoseconds, and failed requests are not included in sums.
        prop_assert!(seen - wanted <= requests + 1.0, "{seen} ns of {wanted}");
        if sample.errors.is_empty() {
            prop_assert!((seen - wanted).abs() <= requests + 1.0, "{seen} ns of {wanted}");
            prop_assert_eq!(in_flight.requests as f64, outstanding);
        }
        let older = sample.latency_max().is_none_or(|longest| in_flight.age_max > longest);
        prop_assert_eq!(older, in_flight.older_than_counted > 0);
    }
}
