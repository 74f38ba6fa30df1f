//! Compares the users of a database with closed forms: users and processors with the machine-repair model, the log with
//! group commit, one user with the sum of its parts, and all users with Little's law and the buffer model.

use crate::spec::*;
use crate::tests::runs::{nvme, simulate, small_drive, unlimited};
use crate::tests::{assert_within, us};
use crate::*;
use lanemark_schema::result::{DirectionResult, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{
    DatabaseLog, LoadKind, PageClass, RequestsPerTransaction, Test, TransactionLoad,
};

fn class(name: &str, mebi: u64, visits: f64, changed: Ratio) -> PageClass {
    PageClass { name: name.to_owned(), size: Bytes::mebi(mebi), visits, changed }
}

/// Returns transactions with 100 µs at the processor and 400 µs elsewhere, without storage accesses.
pub(crate) fn plain() -> TransactionLoad {
    TransactionLoad {
        elsewhere: us(400),
        processor: us(100),
        buffer: Bytes::mebi(64),
        checkpoint: Duration::ZERO,
        page_writers: 8,
        gather: Bytes::ZERO,
        in_use: Ratio::ONE,
        pages: vec![class("all", 32, 1.0, Ratio::ZERO)],
        counted: None,
        locks: 0.0,
        log: DatabaseLog {
            share: Ratio::ZERO,
            record: Bytes(512),
            write_max: Bytes::kibi(64),
            outstanding: 1,
            flush: false,
            area: Bytes::mebi(4),
        },
    }
}

pub(crate) fn users(count: u32, transactions: TransactionLoad) -> Test {
    let block = Bytes::kibi(8);
    Test {
        threads: count,
        span: Bytes::mebi(36),
        volume: None,
        duration: Some(us(4_000_000)),
        ramp: us(100_000),
        asks: LoadKind::Transactions(Box::new(transactions)),
        ..crate::tests::runs::test(block, lanemark_schema::workload::Pattern::Uniform, true, 1)
    }
}

fn run(system: &SystemSpec, test: &Test) -> Sample {
    assert_eq!((system.check(), test.check()), (Ok(()), Ok(())));
    simulate(system, test, StreamKey::from_seed(9)).unwrap()
}

/// Returns a system in which requests take no processor time.
fn free(drive: DriveSpec, cores: u32) -> SystemSpec {
    let mut system = nvme(drive);
    system.cpu = CpuSpec {
        cores,
        request_submit: Duration::ZERO,
        write_submit: Duration::ZERO,
        request_complete: Duration::ZERO,
        ..system.cpu
    };
    system
}

fn rate(sample: &Sample) -> f64 {
    sample.transactions.as_ref().unwrap().per_minute / 60.0
}

fn commits(sample: &Sample) -> f64 {
    sample.transactions.as_ref().unwrap().commits_per_log_write.unwrap()
}

/// Returns the mean latency in microseconds.
fn mean_us(direction: &Option<DirectionResult>) -> f64 {
    direction.as_ref().map_or(0.0, |one| one.latency.mean_ns()) / 1e3
}

/// For N users, m processors and exponential times, the result is the stationary distribution of the machine-repair
/// model (Kleinrock, Queueing Systems 1, 3.8).
#[test]
fn users_and_processors_are_the_machine_repair_model() {
    for (count, cores) in [(4u32, 1u32), (8, 2), (40, 8)] {
        let sample = run(&free(unlimited(), cores), &users(count, plain()));
        let load = 100.0 / 400.0;
        let mut weight = 1.0;
        let mut weights = vec![1.0];
        for busy in 1..=count {
            let servers = f64::from(busy.min(cores));
            weight *= f64::from(count - busy + 1) * load / servers;
            weights.push(weight);
        }
        let total: f64 = weights.iter().sum();
        let working: f64 = weights
            .iter()
            .zip(0u32..)
            .map(|(weight, present)| weight / total * f64::from(present.min(cores)))
            .sum();
        let seen = rate(&sample);
        let expected = working / 100e-6;
        assert!((seen / expected - 1.0).abs() < 0.02, "{count}/{cores}: {seen} for {expected}");
        let busy = sample.transactions.as_ref().unwrap().processor_busy.unwrap();
        assert!((busy * f64::from(cores) / working - 1.0).abs() < 0.02, "{busy} of {cores}");
        assert!(sample.reads.is_none() && sample.writes.is_none());
    }
}

/// A user that is never elsewhere and hardly computes is always in one of two groups: the group that is being written
/// or the group that waits. With several outstanding writes, no write commits before earlier writes.
#[test]
fn commits_go_in_groups() {
    let mut own = plain();
    (own.elsewhere, own.processor) = (Duration::ZERO, Duration::from_nanoseconds(1));
    own.log.share = Ratio::ONE;
    let system = free(unlimited(), 64);
    let one = run(&system, &users(1, own.clone()));
    assert!((commits(&one) - 1.0).abs() < 1e-9);
    let write = one.writes.as_ref().unwrap().latency.mean_ns();
    assert!((rate(&one) * write / 1e9 - 1.0).abs() < 0.01, "{} of {write} ns", rate(&one));
    let many = run(&system, &users(32, own.clone()));
    let write = many.writes.as_ref().unwrap().latency.mean_ns();
    assert!(commits(&many) > 15.0, "{}", commits(&many));
    assert_within(rate(&many), commits(&many) / write * 1e9, 0.02);
    own.log.outstanding = 32;
    let several = run(&system, &users(32, own.clone()));
    assert!(commits(&several) < 15.0, "{}", commits(&several));
    own.log.flush = true;
    let flushed = run(&system, &users(32, own));
    let count = |one: &Option<DirectionResult>| one.as_ref().unwrap().latency.count();
    assert_eq!(count(&flushed.flushes) / 100, count(&flushed.writes) / 100);
    assert!(rate(&flushed) < rate(&several));
}

/// The response time of one user is the sum of its parts.
#[test]
fn one_user_waits_for_the_sum_of_its_parts() {
    let mut own = plain();
    own.buffer = Bytes::mebi(8);
    own.pages[0].visits = 3.0;
    own.log.share = Ratio::new(0.5).unwrap();
    let sample = run(&nvme(small_drive()), &users(1, own.clone()));
    let seen = sample.transactions.as_ref().unwrap();
    let model = own.buffer_use(Bytes::kibi(8), rate(&sample));
    assert!((model.reads - 2.25).abs() < 0.01, "a quarter of the pages is held: {model:?}");
    assert_within(seen.page_reads.unwrap(), model.reads, 0.03);
    let parts = 100.0
        + seen.page_reads.unwrap() * mean_us(&sample.reads)
        + seen.log_writes.unwrap() * mean_us(&sample.writes);
    assert_within(seen.response.mean_ns() / 1e3, parts, 0.02);
}

/// A user that waits for locks takes longer by the lock factor, and waits for its own writes like for its reads.
/// Counted requests are submitted at the counted rate, regardless of the buffer.
#[test]
fn locks_and_awaited_writes_take_their_time() {
    let mut own = plain();
    let system = free(unlimited(), 1);
    own.locks = 0.5;
    let sample = run(&system, &users(1, own.clone()));
    assert_within(rate(&sample), 1.0 / (1.5 * 100e-6 + 400e-6), 0.02);
    assert_within(sample.transactions.as_ref().unwrap().response.mean_ns() / 1e3, 150.0, 0.02);
    own.locks = 0.0;
    own.counted = Some(RequestsPerTransaction { reads: 1.5, writes: 3.0, awaited: 2.0 });
    let sample = run(&nvme(small_drive()), &users(1, own));
    let seen = sample.transactions.as_ref().unwrap();
    assert_within(seen.page_reads.unwrap(), 1.5, 0.02);
    assert_within(seen.page_writes.unwrap(), 3.0, 0.02);
    assert_eq!(seen.buffer_hit_ratio, None);
    let parts = 100.0 + 1.5 * mean_us(&sample.reads) + 2.0 * mean_us(&sample.writes);
    assert_within(seen.response.mean_ns() / 1e3, parts, 0.03);
}

/// The number of working users is determined by the times for which each user is elsewhere and at work. Changed pages
/// are written at the rate that the buffer model predicts, regardless of the number of writers.
#[test]
fn population_and_page_writes_obey_their_laws() {
    let mut own = plain();
    own.buffer = Bytes::mebi(8);
    own.pages[0].visits = 2.0;
    own.pages[0].changed = Ratio::new(0.5).unwrap();
    own.checkpoint = us(60_000_000);
    for writers in [64, 1] {
        own.page_writers = writers;
        // Until the maximum number of page writes is pending, fewer pages are written than changed.
        let test = Test { ramp: us(4_000_000), ..users(24, own.clone()) };
        let sample = run(&nvme(small_drive()), &test);
        let seen = sample.transactions.as_ref().unwrap();
        assert_within(rate(&sample) * (400e-6 + seen.response.mean_ns() / 1e9), 24.0, 0.02);
        let model = own.buffer_use(Bytes::kibi(8), rate(&sample));
        assert_within(seen.page_writes.unwrap(), model.writes, 0.05);
    }
}

#[test]
fn one_seed_gives_one_sample_and_requests_stay_in_the_span() {
    let mut own = plain();
    own.buffer = Bytes::mebi(8);
    own.log.share = Ratio::ONE;
    let test = users(8, own);
    let system = nvme(small_drive());
    let one = run(&system, &test);
    assert_eq!(one, run(&system, &test));
    let other = simulate(&system, &test, StreamKey::from_seed(10)).unwrap();
    assert_ne!(other, one);
    assert!((rate(&other) / rate(&one) - 1.0).abs() < 0.03);
    let outside = Test { offset: Bytes::mebi(40), ..test.clone() };
    let outcome = simulate(&system, &outside, StreamKey::from_seed(1));
    assert!(matches!(outcome, Err(SimError::OutOfRange { .. })));
    assert!(one.writes.is_some_and(|writes| writes.latency.count() > 0));
}
