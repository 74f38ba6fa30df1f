//! Threads that wait between bursts: the waits add up exactly, and the queue depth limits a burst.

use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Test;

use crate::tests::runs::{nvme, simulate, small_drive};
use crate::tests::{random_read, us};

/// Returns the time of `bursts` bursts of `length` requests.
fn elapsed(bursts: u64, length: u32, depth: u32, think: Duration) -> Duration {
    let volume = Some(Bytes::kibi(4) * (bursts * u64::from(length)));
    let test = Test { span: Bytes::mebi(32), volume, ..random_read() }.with(|requests| {
        requests.queue_depth = depth;
        requests.burst = length;
        requests.think = think;
    });
    let sample = simulate(&nvme(small_drive()), &test, StreamKey::from_seed(1)).unwrap();
    assert_eq!(sample.operations(), bursts * u64::from(length));
    sample.elapsed
}

#[test]
fn a_thread_waits_once_after_each_burst() {
    for (length, depth) in [(1, 1), (1, 32), (20, 8), (100, 100), (8, 32)] {
        let [short, long] = [1_000, 3_000].map(|think| elapsed(10, length, depth, us(think)));
        let waits = long.saturating_sub(short);
        assert_eq!(waits, us(2_000) * 9, "{length} {depth}");
    }
    // A queue that is deeper than the burst makes no difference.
    let think = us(1_000);
    assert_eq!(elapsed(10, 8, 8, think), elapsed(10, 8, 32, think));
    assert!(elapsed(10, 8, 1, think) > elapsed(10, 8, 8, think));
}
