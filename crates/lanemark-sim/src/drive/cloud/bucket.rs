//! The state of a limit: a peak rate, and a token bucket of credits.
//!
//! The rate and the bucket are both stored as instants (the virtual scheduling form of the generic cell rate algorithm,
//! ITU-T I.371). At the peak rate `p`, the next amount may pass as soon as the last amount `n` has taken the time
//! `n/p`, without any tolerance. The bucket is refilled at the rate `r` up to `C` credits. The bucket is stored as the
//! instant `f` at which it would be full again: it contains `C - r (f - t)` at `t`, so an amount `n` waits until
//! `f + n/r - C/r`. An amount larger than `C` waits until the bucket is full, and then reduces the credits to `C - n`,
//! below zero.

use crate::spec::cloud::time_of;
use crate::spec::{BurstCreditSpec, CloudLimitSpec};
use lanemark_schema::result::{CreditUse, Reserve};
use lanemark_schema::units::{Duration, Instant, Ratio};

#[derive(Clone, Debug)]
pub(super) struct TokenBucket {
    limit: CloudLimitSpec,
    /// The instant from which the peak rate permits the next amount.
    next: Instant,
    credits: Option<BurstCredits>,
    used: UsedAmount,
}

#[derive(Clone, Copy, Debug)]
struct BurstCredits {
    burst: BurstCreditSpec,
    at_start: u64,
    /// The instant at which the credits are full if no more credits are used.
    full_at: Instant,
    /// The instant at which an amount first waited for credits.
    ended_at: Option<Instant>,
}

/// The amounts that have passed a limit.
#[derive(Clone, Copy, Debug, Default)]
struct UsedAmount {
    first_at: Option<Instant>,
    last_at: Instant,
    /// The total before the last amount.
    before_last: u64,
    last: u64,
}

impl TokenBucket {
    /// Creates a limit that starts with `share` of its credits.
    pub(super) fn new(limit: CloudLimitSpec, share: Ratio) -> Self {
        let credits = limit.burst.map(|burst| {
            let at_start = libm::floor(burst.credits as f64 * share.get()) as u64;
            let at_start = at_start.min(burst.credits);
            let full_at = Instant::ZERO + time_of(burst.credits - at_start, limit.rate);
            BurstCredits { burst, at_start, full_at, ended_at: None }
        });
        Self { limit, next: Instant::ZERO, credits, used: UsedAmount::default() }
    }

    /// Returns the first instant from `now` onward at which `amount` may pass.
    pub(super) fn earliest_admission(&self, now: Instant, amount: u64) -> Instant {
        let peak = now.max(self.next);
        self.credits
            .map_or(peak, |credits| peak.max(credits.earliest_admission(amount, self.limit.rate)))
    }

    /// Lets `amount` pass at `at`, an instant at which the limit permits it.
    pub(super) fn pass(&mut self, at: Instant, amount: u64) {
        let Self { limit, next, credits, used } = self;
        if let Some(credits) = credits {
            if amount > 0 && credits.earliest_admission(amount, limit.rate) >= at && at > *next {
                credits.ended_at = credits.ended_at.or(Some(at));
            }
            credits.full_at = credits.full_at.max(at) + time_of(amount, limit.rate);
        }
        *next = at + time_of(amount, limit.peak());
        used.count(at, amount);
    }

    /// Returns the first instant at which the limit permits another `amount`, after an amount that has just passed.
    pub(super) fn busy_until(&self, amount: u64) -> Instant {
        self.earliest_admission(self.next, amount)
    }

    /// Returns the credits that were left when the last amount had passed, if the limit has credits.
    pub(super) fn left(&self) -> Option<u64> {
        let credits = self.credits?;
        let missing = credits.full_at.since_or_zero(self.used.last_at).picoseconds();
        let missing = u128::from(missing) * u128::from(self.limit.rate);
        let missing = missing.div_ceil(1_000_000_000_000);
        Some(credits.burst.credits.saturating_sub(u64::try_from(missing).unwrap_or(u64::MAX)))
    }

    /// Returns when the credits run out if the load continues as it was so far, or that they do not run out.
    pub(super) fn credit_use(&self, reserve: Reserve) -> Option<CreditUse> {
        let credits = self.credits?;
        let used_per_second = self.used.rate()?;
        let first_at = self.used.first_at?;
        let refill = self.limit.rate as f64;
        let simulated = credits.ended_at.map(|at| at.since_or_zero(first_at));
        // After the credits have run out, the load of a run equals the refill rate.
        let predicted = || {
            let seconds = credits.at_start as f64 / (used_per_second - refill);
            (used_per_second > refill * (1.0 + FASTER_MIN) && seconds <= SECONDS_MAX)
                .then(|| Duration::from_picoseconds((seconds * 1e12) as u64))
        };
        Some(CreditUse {
            reserve,
            at_start: credits.at_start,
            used_per_second,
            refill_per_second: self.limit.rate,
            end: simulated.or_else(predicted),
            is_simulated: simulated.is_some(),
        })
    }
}

/// The minimum share by which a load must exceed the refill rate so that the credits run out.
const FASTER_MIN: f64 = 1e-6;
/// Credits that would last longer than this (1,000 hours) count as unlimited.
const SECONDS_MAX: f64 = 3.6e6;

impl BurstCredits {
    /// Returns the first instant at which the credits cover `amount`, or are full if `amount` is larger than the
    /// maximum.
    fn earliest_admission(&self, amount: u64, rate: u64) -> Instant {
        let needed = time_of(amount.min(self.burst.credits), rate);
        let all = time_of(self.burst.credits, rate);
        let at = (self.full_at + needed).picoseconds();
        Instant::from_picoseconds(at.saturating_sub(all.picoseconds()))
    }
}

impl UsedAmount {
    fn count(&mut self, at: Instant, amount: u64) {
        self.first_at = self.first_at.or(Some(at));
        self.before_last = self.before_last.saturating_add(self.last);
        (self.last, self.last_at) = (amount, at);
    }

    /// Returns the mean rate per second from the first to the last amount, if these passed at different instants.
    fn rate(&self) -> Option<f64> {
        let seconds = self.last_at.since_or_zero(self.first_at?).as_seconds();
        (seconds > 0.0).then(|| self.before_last as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Instant {
        Instant::from_picoseconds((seconds * 1e12) as u64)
    }

    fn limit(rate: u64, burst: u64, credits: u64) -> CloudLimitSpec {
        CloudLimitSpec { rate, burst: Some(BurstCreditSpec { rate: burst, credits }) }
    }

    /// Passes `count` amounts of `each` as fast as the limit permits, `pause` seconds apart or more. Returns the
    /// instants.
    fn passed(
        bucket: &mut TokenBucket,
        count: usize,
        each: u64,
        pause: f64,
        from: f64,
    ) -> Vec<Instant> {
        let mut now = at(from);
        let pause = Duration::from_picoseconds((pause * 1e12) as u64);
        let pass = |_| {
            let instant = bucket.earliest_admission(now, each);
            bucket.pass(instant, each);
            now = instant + pause;
            instant
        };
        (0..count).map(pass).collect()
    }

    fn seconds(instant: Instant) -> f64 {
        instant.since(Instant::ZERO).as_seconds()
    }

    #[test]
    fn without_credits_amounts_pass_at_the_rate() {
        let mut bucket = TokenBucket::new(CloudLimitSpec::steady(3_000), Ratio::ONE);
        let all = passed(&mut bucket, 3_001, 1, 0.0, 0.0);
        assert!((seconds(all[3_000]) - 1.0).abs() < 1e-8);
        assert_eq!((bucket.left(), bucket.credit_use(Reserve::OperationCredits)), (None, None));
        // Unused time does not accumulate.
        let all = passed(&mut bucket, 2, 3_000, 0.0, 10.0);
        assert_eq!((all[0], all[1]), (at(10.0), at(11.0)));
    }

    /// A load of `d` a second, between the refill rate and the peak rate, uses up the credits after `C / (d - r)`. A
    /// shorter run predicts the same end.
    #[test]
    fn the_end_at_a_lower_load_is_predicted_before_it_comes() {
        let rate = 300;
        let credits = 54_000;
        for load in [600.0, 1_000.0, 2_999.0] {
            let end = credits as f64 / (load - rate as f64);
            let mut short = TokenBucket::new(limit(rate, 3_000, credits), Ratio::ONE);
            passed(&mut short, 1_000, 1, 1.0 / load, 5.0);
            let found = short.credit_use(Reserve::OperationCredits).unwrap();
            assert!(!found.is_simulated);
            assert!((found.end.unwrap().as_seconds() / end - 1.0).abs() < 1e-6, "{found:?}");
            let mut long = short;
            passed(&mut long, (end * load) as usize, 1, 1.0 / load, 5.0 + 1_000.0 / load);
            let found = long.credit_use(Reserve::OperationCredits).unwrap();
            assert!(found.is_simulated);
            assert!((found.end.unwrap().as_seconds() - end).abs() < 0.02, "{found:?} for {end}");
        }
    }

    #[test]
    fn a_load_at_the_refill_never_ends_the_credits() {
        let mut bucket = TokenBucket::new(limit(300, 3_000, 5_400), Ratio::ONE);
        passed(&mut bucket, 10_000, 1, 1.0 / 300.0 + 1e-9, 0.0);
        let found = bucket.credit_use(Reserve::OperationCredits).unwrap();
        assert_eq!((found.end, found.is_simulated), (None, false));
        assert!(bucket.left().unwrap() >= 5_398);
    }

    /// With no credits left, amounts pass at the refill rate. After `t` idle seconds, `r t` credits have accumulated,
    /// up to the maximum.
    #[test]
    fn empty_credits_are_refilled_while_the_volume_is_idle() {
        let rate = 300;
        let burst = 3_000;
        let credits = 5_400;
        let mut bucket = TokenBucket::new(limit(rate, burst, credits), Ratio::ZERO);
        let all = passed(&mut bucket, 301, 1, 0.0, 0.0);
        assert!((seconds(all[300]) - seconds(all[0]) - 1.0).abs() < 1e-6);
        for (idle, expected) in [(5.0, 1_500.0), (18.0, 5_400.0), (100.0, 5_400.0)] {
            let mut later = bucket.clone();
            let from = seconds(all[300]) + idle;
            let burst_time = expected / f64::from((burst - rate) as u32);
            let count = (burst_time * burst as f64) as usize;
            let more = passed(&mut later, count + 601, 1, 0.0, from);
            let took = seconds(more[count]) - from;
            assert!((took - burst_time).abs() < 0.01, "{idle}: {took} for {burst_time}");
            let slow = seconds(more[count + 600]) - seconds(more[count]);
            assert!((slow - 2.0).abs() < 0.01, "{slow}");
        }
    }

    #[test]
    fn an_amount_larger_than_all_credits_waits_and_passes() {
        let mut bucket = TokenBucket::new(limit(100, 1_000, 50), Ratio::ONE);
        // The first 80 exceed the 50 credits by 30: the next amount waits for the missing 30 and then for full credits,
        // 0.8 s in all.
        let all = passed(&mut bucket, 3, 80, 0.0, 0.0);
        assert_eq!(all, [at(0.0), at(0.8), at(1.6)]);
    }

    #[test]
    fn nothing_passes_at_once() {
        let mut bucket = TokenBucket::new(limit(100, 1_000, 50), Ratio::ZERO);
        assert_eq!(bucket.earliest_admission(at(1.0), 0), at(1.0));
        bucket.pass(at(1.0), 0);
        assert_eq!((bucket.earliest_admission(at(1.0), 1), bucket.left()), (at(1.0), Some(50)));
        assert_eq!(bucket.credit_use(Reserve::ThroughputCredits), None);
    }
}
