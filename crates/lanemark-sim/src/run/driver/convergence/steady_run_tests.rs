//! Tests the conditions under which a run of transactions may end before its time.

use super::{Batch, Convergence, FIRST_CHECK, RequiredFigures};
use crate::tests::transactions::{plain, users};
use lanemark_schema::result::{LatencyHistogram, Reserve};
use lanemark_schema::units::{Duration, Instant};

const BATCHES: u64 = 256;

fn second(number: u64) -> Instant {
    Instant::ZERO + Duration::from_seconds(number)
}

/// Returns whether a run of one batch in each of [`BATCHES`] seconds may end `left` seconds early. `left_of` and
/// `collected` return the rest of a reserve and the amount of moved data after each batch.
fn may_end(left: u64, left_of: impl Fn(u64) -> u64, collected: impl Fn(u64) -> u64) -> bool {
    let test = users(4, plain());
    let mut rule = Convergence::new(&test, 4, Instant::ZERO, RequiredFigures::Rate);
    rule.requests = FIRST_CHECK;
    rule.batches = (1..=BATCHES)
        .map(|number| Batch {
            end: second(number),
            reserves: vec![(Reserve::OperationCredits, left_of(number))],
            collected: collected(number),
        })
        .collect();
    let left = Duration::from_seconds(left);
    rule.steady_run(second(BATCHES), &LatencyHistogram::new(), left).is_some()
}

#[test]
fn transactions_end_early_only_while_reserves_last_and_nothing_is_collected() {
    let full = |_| 1_000_000;
    let nothing = |_| 0;
    assert!(may_end(BATCHES, full, nothing));
    // The reserve lasts for 1,000 seconds.
    let used_up = |number| 1000 * (1000 - number);
    assert!(may_end(600, used_up, nothing));
    assert!(!may_end(800, used_up, nothing));
    assert!(!may_end(BATCHES, full, |number| u64::from(number == BATCHES)));
    // A test whose rest is short is simulated to its end, and a run that has ended is only checked for steadiness.
    assert!(!may_end(BATCHES / 2 - 1, full, nothing));
    assert!(may_end(0, |number| BATCHES - number, |number| number));
}
