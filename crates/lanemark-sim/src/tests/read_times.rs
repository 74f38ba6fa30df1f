//! Compares reads that take different times with closed forms: the pages of a cell, and reads that are repeated.

use crate::run::driver::{RunLength, run_length_watched};
use crate::spec::*;
use crate::tests::drive::{latencies, one_die};
use crate::tests::runs::{checked, test};
use crate::tests::trajectory::trajectory;
use crate::tests::{BLOCK, access, us};
use lanemark_schema::result::Sample;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{Access, Operation, Pattern, Test};

/// Number of pages in a block: a multiple of the number of pages per cell of every technology.
const PAGES: u32 = 96;

/// The ratios of the tests, each with its technology and the times for a mean of 70 µs.
const RATIOS: [(Technology, &[u32], &[u64]); 4] = [
    (Technology::Mlc, &[3, 4], &[60, 80]),
    (Technology::Tlc, &[2, 3, 2], &[60, 90, 60]),
    (Technology::Tlc, &[1, 2, 4], &[30, 60, 120]),
    (Technology::Qlc, &[2, 3, 4, 5], &[40, 60, 80, 100]),
];

/// Returns a system whose drive has one die that reads in these times; all other parts take no time.
fn reading(technology: Technology, read: PageTimes) -> SystemSpec {
    one_die(|flash| {
        flash.technology = technology;
        flash.pages_per_block = PAGES;
        flash.read = read;
    })
}

/// Returns the system for one of the ratios, and a system that reads all pages in the mean time.
fn pair(technology: Technology, ratio: &[u32]) -> (SystemSpec, SystemSpec) {
    let mean = us(70);
    (
        reading(technology, PageTimes::in_ratio(mean, ratio)),
        reading(technology, PageTimes::alike(mean)),
    )
}

/// Returns the latencies of reads of consecutive units, one at a time.
fn of_units(system: &SystemSpec, count: u64) -> Vec<Duration> {
    let unit = system.attachments[0].drive.flash().unit();
    let read = |index| (us(1000 * index), access(Operation::Read, unit * index, BLOCK));
    latencies(system, &(0..count).map(read).collect::<Vec<(Duration, Access)>>())
}

/// Runs a test of uniform random reads that ends when its figures have converged.
fn converging(system: &SystemSpec, requests: u64) -> Sample {
    of_length(system, requests, RunLength::Converged)
}

fn of_length(system: &SystemSpec, requests: u64, length: RunLength) -> Sample {
    let flash = system.attachments[0].drive.flash();
    let span = flash.superblock() * (Bytes::mebi(32).get() / flash.superblock().get());
    let uniform = test(BLOCK, Pattern::Uniform, true, 1);
    let reads = Test { span, volume: Some(BLOCK * requests), ..uniform }.checked().unwrap();
    let key = StreamKey::from_seed(1);
    run_length_watched(&checked(system), &reads, key, length, &mut |_| true).unwrap()
}

/// Asserts that a percentile is `expected`, within the width of the histogram's buckets.
fn assert_percentile(sample: &Sample, percentile: f64, expected: Duration) {
    let seen = sample.latency().recorded_percentile_ns(percentile).unwrap() as f64;
    let expected = expected.nanoseconds() as f64;
    assert!((seen / expected - 1.0).abs() < 0.005, "p{percentile}: {seen} ns for {expected} ns");
}

#[test]
fn consecutive_pages_take_the_times_of_their_kinds_and_the_mean_is_the_same() {
    for (technology, ratio, times) in RATIOS {
        let (differing, alike) = pair(technology, ratio);
        let all = u64::from(PAGES);
        let seen = of_units(&differing, all);
        let mean = of_units(&alike, all);
        for (page, (seen, mean)) in seen.iter().zip(&mean).enumerate() {
            let expected = *mean - us(70) + us(times[page % times.len()]);
            assert_eq!(*seen, expected, "page {page} of {technology:?} in {ratio:?}");
        }
        let sum = |all: &[Duration]| all.iter().copied().sum::<Duration>();
        assert_eq!(sum(&seen), sum(&mean), "{technology:?} {ratio:?}");
        for time in times {
            let kinds = times.iter().filter(|other| *other == time).count();
            let like = |one: &&Duration| **one == mean[0] - us(70) + us(*time);
            assert_eq!(seen.iter().filter(like).count(), kinds * 96 / times.len());
        }
    }
}

#[test]
fn equal_pages_are_the_same_as_one_time() {
    let mixed = |system: &SystemSpec| {
        let uniform = test(BLOCK, Pattern::Uniform, true, 8);
        trajectory(system, &uniform.with(|asked| asked.read_share = Ratio::new(0.9).unwrap()))
    };
    let (equal, alike) = pair(Technology::Tlc, &[5, 5, 5]);
    assert_eq!(mixed(&equal), mixed(&alike));
    let mut retried = alike.clone();
    retried.faults = vec!["read-retries share=0%".parse().unwrap()];
    assert_eq!(mixed(&retried), mixed(&alike), "a share of zero draws no numbers");
    let (differing, _) = pair(Technology::Tlc, &[2, 3, 2]);
    assert_ne!(mixed(&differing), mixed(&alike));
}

/// Returns a system that repeats this share of the reads of unworn flash.
fn repeating(share: &str) -> SystemSpec {
    let (_, mut system) = pair(Technology::Tlc, &[2, 3, 2]);
    let fault = format!("read-retries share=0% unworn={share}");
    system.faults = vec![fault.parse().unwrap()];
    system
}

#[test]
fn reads_are_repeated_in_their_share_and_each_repeat_takes_its_time() {
    const READS: u64 = 8_000;
    const SHARE: f64 = 0.2;
    let system = repeating("20%");
    let flash = system.attachments[0].drive.flash();
    let again = us(70) + BLOCK / flash.channel_rate;
    let unit = flash.unit();
    let read = |index| (us(2000 * index), access(Operation::Read, unit * (index % 960), BLOCK));
    let seen = latencies(&system, &(0..READS).map(read).collect::<Vec<_>>());
    let once = *seen.iter().min().unwrap();
    let (_, alike) = pair(Technology::Tlc, &[2, 3, 2]);
    assert_eq!(once, of_units(&alike, 1)[0]);
    let mut counted = 0;
    for repeats in 0..=8u32 {
        let time = once + again * u64::from(repeats);
        let count = seen.iter().filter(|&&one| one == time).count();
        counted += count;
        if repeats > 3 {
            continue;
        }
        // A read is repeated n times with probability q^n (1 - q).
        let probability = libm::pow(SHARE, f64::from(repeats)) * (1.0 - SHARE);
        let expected = READS as f64 * probability;
        let deviation = libm::sqrt(expected * (1.0 - probability));
        let difference = (count as f64 - expected).abs();
        assert!(difference < 4.0 * deviation, "{repeats} repeats: {count} for {expected}");
    }
    assert_eq!(counted as u64, READS, "each read takes a whole number of attempts");
    assert_eq!(latencies(&system, &(0..99).map(read).collect::<Vec<_>>()), seen[..99], "the seed");
}

/// A run whose reads take different times ends when its figures have converged, with the rate of the closed form.
#[test]
fn runs_with_reads_of_different_lengths_converge_to_the_closed_form() {
    const REQUESTS: u64 = 2_000_000;
    let (differing, alike) = pair(Technology::Tlc, &[1, 2, 4]);
    let rest = of_units(&alike, 1)[0] - us(70);
    let again = us(70) + BLOCK / alike.attachments[0].drive.flash().channel_rate;
    let mean = (rest + us(70)).as_seconds();
    for (system, mean, p99) in [
        (differing, mean, us(120)),
        (repeating("2%"), mean + again.as_seconds() * 0.02 / 0.98, us(70) + again),
    ] {
        let sample = converging(&system, REQUESTS);
        let converged = sample.converged.as_ref().expect("a steady load");
        assert!(converged.simulated < REQUESTS / 4, "{} requests", converged.simulated);
        let rate = sample.iops();
        assert!((rate * mean - 1.0).abs() < 0.01, "{rate} IOPS for {}", 1.0 / mean);
        assert_percentile(&sample, 99.0, rest + p99);
    }
}

/// A share of slow reads just below or above 1% determines p99 in a converged run in the same way as in a whole run.
#[test]
fn converged_runs_know_the_percentiles_next_to_the_boundary_of_two_kinds_of_reads() {
    let (_, alike) = pair(Technology::Tlc, &[2, 3, 2]);
    let again = us(70) + BLOCK / alike.attachments[0].drive.flash().channel_rate;
    let once = of_units(&alike, 1)[0];
    for (share, repeats) in [("0.7%", 0), ("1.4%", 1), ("5%", 1)] {
        let sample = converging(&repeating(share), 400_000);
        assert!(sample.converged.is_some(), "{share}");
        assert_percentile(&sample, 99.0, once + again * repeats);
    }
}

#[test]
fn runs_whose_share_of_repeated_reads_grows_are_simulated_completely() {
    let (_, mut worn) = pair(Technology::Tlc, &[2, 3, 2]);
    assert!(converging(&worn, 60_000).converged.is_some());
    worn.faults = vec!["read-retries share=2%".parse().unwrap()];
    assert!(converging(&worn, 60_000).converged.is_none());
    worn.faults = vec!["read-retries share=0% unworn=2% at=1s".parse().unwrap()];
    assert!(converging(&worn, 60_000).converged.is_none(), "they begin during the run");
}
