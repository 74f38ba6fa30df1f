//! Tests of whole systems, by topic. Each room contains its own tests.

pub(crate) mod adapter;
pub(crate) mod adapter_cache;
pub(crate) mod bursts;
pub(crate) mod cloud;
pub(crate) mod concurrent;
pub(crate) mod data_work;
pub(crate) mod disk;
pub(crate) mod drive;
pub(crate) mod durability;
pub(crate) mod ends_early;
pub(crate) mod fault;
pub(crate) mod fault_shares;
pub(crate) mod hops;
pub(crate) mod in_flight;
pub(crate) mod journal;
pub(crate) mod latency;
pub(crate) mod link;
pub(crate) mod pairs;
pub(crate) mod pairs_link;
pub(crate) mod power;
pub(crate) mod queue;
pub(crate) mod read_times;
pub(crate) mod replay;
pub(crate) mod retrained;
pub(crate) mod runs;
pub(crate) mod sensitivity;
pub(crate) mod slow_states;
pub(crate) mod steady;
pub(crate) mod theory;
pub(crate) mod timing;
pub(crate) mod trajectory;
pub(crate) mod transactions;
pub(crate) mod volume;
pub(crate) mod watch;

use crate::simulator::Completion;
use crate::spec::PseudoSlcSpec;
use lanemark_schema::result::Sample;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation, Test};

pub(crate) const BLOCK: Bytes = Bytes::kibi(4);

pub(crate) const fn us(microseconds: u64) -> Duration {
    Duration::from_microseconds(microseconds)
}

pub(crate) const fn ms(milliseconds: u64) -> Duration {
    us(milliseconds * 1_000)
}

/// Returns the instant that is this many microseconds after the start of a run.
pub(crate) fn at(microseconds: u64) -> Instant {
    Instant::ZERO + us(microseconds)
}

pub(crate) fn access(operation: Operation, offset: Bytes, length: Bytes) -> Access {
    Access { operation, offset, length }
}

pub(crate) fn latency(done: &Completion) -> Duration {
    done.completed.since(done.submitted)
}

/// Returns the sum of the mean stages of a request.
pub(crate) fn staged_ns(sample: &Sample) -> f64 {
    let hops = &sample.path.as_ref().unwrap().hops;
    hops.iter().map(|hop| hop.wait_ns + hop.service_ns).sum()
}

/// Returns `test`, ended by its duration instead of its volume.
pub(crate) fn lasting(duration: Duration, test: Test) -> Test {
    Test { volume: None, duration: Some(duration), ..test }
}

/// Returns a pseudo-SLC cache that reads in 20 µs and programs in 150 µs.
pub(crate) fn pseudo_slc(capacity: Bytes, growth: Bytes) -> PseudoSlcSpec {
    PseudoSlcSpec {
        capacity,
        growth,
        read: us(20),
        program: us(150),
        fold_when_full: false,
        emptied_when_idle: false,
    }
}

/// Asserts that the relative difference of two values is below `share`.
#[track_caller]
pub(crate) fn assert_within(seen: f64, expected: f64, share: f64) {
    assert!((seen / expected - 1.0).abs() < share, "{seen} for {expected}");
}

/// Returns a test of uniform random reads of 4 KiB within 1 GiB at queue depth 1.
pub(crate) fn random_read() -> Test {
    Test {
        name: "RND4K Q1T1 read".to_owned(),
        volume: Some(Bytes::mebi(16)),
        ..Test::of_blocks(Bytes::kibi(4))
    }
}
