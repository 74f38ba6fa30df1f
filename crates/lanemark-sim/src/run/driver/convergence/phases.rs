//! The phases of a run: parts with a constant rate, between the instants at which reserves are used up.

use super::{Batch, Convergence};
use lanemark_schema::result::{RatePhase, Reserve};
use lanemark_schema::units::{Duration, Instant};

/// The share of a reserve's initial amount at which the reserve counts as used up.
const USED_UP: f64 = 0.02;
/// The share of a volume's initial credits at which they count as used up; this share is small, because credits run out
/// exactly.
const CREDITS_USED_UP: f64 = 0.000_1;
/// The minimum difference between the rates of consecutive phases, as a share of the larger rate.
const DIFFERENT: f64 = 0.1;
/// The minimum length of a phase, as a share of the run.
const SHORTEST: f64 = 0.01;
/// If a buffer becomes full within this time after a reserve was used up, the used-up reserve counts as the cause. The
/// time is stated as a share of the phase up to that point.
const SOON: f64 = 0.1;

/// A part of a run under construction.
struct PhaseSegment {
    until: Instant,
    requests: f64,
    seconds: f64,
    ended_by: Option<Reserve>,
}

impl PhaseSegment {
    fn rate(&self) -> f64 {
        self.requests / self.seconds
    }

    /// Returns whether a buffer becomes full in `next` because this part's reserve was used up: if flash takes data
    /// more slowly than the host sends it, every upstream buffer becomes full.
    fn causes(&self, next: &Self) -> bool {
        let is_buffer = |reserve| matches!(reserve, Reserve::WriteBuffer | Reserve::AdapterCache);
        self.ended_by.is_some_and(|reserve| !is_buffer(reserve))
            && next.ended_by.is_some_and(is_buffer)
            && next.seconds < SOON * self.seconds
    }

    /// Returns the part merged with the next part.
    fn with(self, next: &Self) -> Self {
        Self {
            until: next.until,
            requests: self.requests + next.requests,
            seconds: self.seconds + next.seconds,
            ended_by: if self.causes(next) { self.ended_by } else { next.ended_by },
        }
    }
}

impl Convergence {
    /// Returns the phases of the run, or an empty list if there is only one. The last phase ends with the test, after
    /// `length` if the run has converged.
    pub(super) fn phases(&self, length: Option<Duration>) -> Vec<RatePhase> {
        let Some(last) = self.batches.last() else { return Vec::new() };
        let all = last.end.since(self.from).as_seconds();
        let mut ends: Vec<(usize, Option<Reserve>)> = self
            .used_up()
            .map(|(batch, reserve)| (batch, Some(reserve)))
            .chain([(self.batches.len() - 1, None)])
            .collect();
        ends.sort_by_key(|(batch, _)| *batch);
        let mut stretches: Vec<PhaseSegment> = Vec::new();
        let mut next = 0;
        for (batch, ended_by) in ends {
            if batch < next {
                continue;
            }
            let from = stretches.last().map_or(self.from, |stretch| stretch.until);
            let until = self.batches[batch].end;
            let requests = (batch + 1 - next) as f64 * self.batch as f64;
            let seconds = until.since(from).as_seconds();
            stretches.push(PhaseSegment { until, requests, seconds, ended_by });
            next = batch + 1;
        }
        let mut merged: Vec<PhaseSegment> = Vec::new();
        for stretch in stretches {
            match merged.pop() {
                Some(before) if is_one_phase(&before, &stretch, all) => {
                    merged.push(before.with(&stretch));
                }
                before => merged.extend(before.into_iter().chain([stretch])),
            }
        }
        if merged.len() < 2 {
            return Vec::new();
        }
        let count = merged.len();
        let phase = |(number, stretch): (usize, PhaseSegment)| RatePhase {
            until: match length {
                Some(length) if number + 1 == count => length,
                _ => stretch.until.since(self.from),
            },
            iops: stretch.rate(),
            ended_by: stretch.ended_by,
        };
        merged.into_iter().enumerate().map(phase).collect()
    }

    /// Returns the batches in which a reserve is used up for the first time, each with the reserve.
    fn used_up(&self) -> impl Iterator<Item = (usize, Reserve)> + '_ {
        let reserves = self.batches.first().map_or(&[][..], |batch| &batch.reserves);
        reserves.iter().enumerate().filter_map(|(number, &(reserve, first))| {
            let amount_left = |batch: &Batch| batch.reserves[number].1 as f64;
            let share = match reserve {
                Reserve::OperationCredits | Reserve::ThroughputCredits => CREDITS_USED_UP,
                Reserve::AdapterCache
                | Reserve::WriteBuffer
                | Reserve::PseudoSlc
                | Reserve::PseudoSlcBoundary
                | Reserve::ErasedFlash
                | Reserve::DriveMap
                | Reserve::HostMap => USED_UP,
            };
            let end =
                self.batches.iter().position(|batch| amount_left(batch) <= share * first as f64)?;
            (first > 0 && end > 0).then_some((end, reserve))
        })
    }
}

/// Returns whether two consecutive parts of a run of `all` seconds belong to one phase.
fn is_one_phase(before: &PhaseSegment, after: &PhaseSegment, all: f64) -> bool {
    let is_short = before.seconds.min(after.seconds) < SHORTEST * all;
    let one = before.rate();
    let other = after.rate();
    is_short || (one - other).abs() < DIFFERENT * one.max(other)
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::LatencyHistogram;
    use lanemark_schema::units::Bytes;
    use lanemark_schema::workload::Test;

    use super::super::batches::{BatchGroups, reserve_lasts};
    use super::super::{RequiredFigures, batch_size, first_check, percentiles_known};
    use super::*;

    fn at(milliseconds: u64) -> Instant {
        Instant::from_picoseconds(milliseconds * 1_000_000_000)
    }

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_microseconds(milliseconds * 1_000)
    }

    /// Returns the convergence of a run of batches of four requests. Each batch contains its end in ms, the amounts
    /// left of the reserves, and the number of slots that collection has moved.
    fn run(batches: Vec<(u64, Vec<(Reserve, u64)>, u64)>) -> Convergence {
        let figures = RequiredFigures::RateAndPercentiles;
        let mut run = Convergence::new(&Test::of_blocks(Bytes::kibi(4)), 1, at(0), figures);
        run.requests = 4 * batches.len() as u64;
        let batch = |(end, reserves, collected)| Batch { end: at(end), reserves, collected };
        run.batches = batches.into_iter().map(batch).collect();
        run
    }

    /// Returns a run with one reserve. `lengths` contains the times of the batches in ms; `left` returns the amount
    /// left at the end of each batch.
    fn with_reserve(reserve: Reserve, lengths: &[u64], left: impl Fn(usize) -> u64) -> Convergence {
        let mut end = 0;
        let batch = |(number, length): (usize, &u64)| {
            end += length;
            (end, vec![(reserve, left(number))], 0)
        };
        run(lengths.iter().enumerate().map(batch).collect())
    }

    fn phase(until: u64, iops: f64, ended_by: Option<Reserve>) -> RatePhase {
        RatePhase { until: ms(until), iops, ended_by }
    }

    #[test]
    fn a_reserve_that_is_used_up_ends_a_phase() {
        let lengths = [[1; 40].as_slice(), &[4; 60]].concat();
        let empties_at =
            |last: usize| move |number: usize| (last as u64).saturating_sub(number as u64);
        let cache = with_reserve(Reserve::PseudoSlc, &lengths, empties_at(39));
        // The rates are four requests in 1 ms, and four in 4 ms.
        let first = phase(40, 4_000.0, Some(Reserve::PseudoSlc));
        assert_eq!(cache.phases(None), [first, phase(280, 1_000.0, None)]);
        // A run that has converged lasts longer.
        assert_eq!(cache.phases(Some(ms(900))), [first, phase(900, 1_000.0, None)]);
        // A reserve is used up at a fiftieth of its initial amount, and credits at a ten-thousandth.
        let slow_end = |number: usize| if number < 40 { 10_000 } else { 200 };
        let left = with_reserve(Reserve::ErasedFlash, &lengths, slow_end).phases(None);
        assert_eq!(left[0], phase(44, 164.0 / 44e-3, Some(Reserve::ErasedFlash)));
        let credits = with_reserve(Reserve::OperationCredits, &lengths, slow_end);
        assert_eq!(credits.phases(None), []);
        let more = |number: usize| if number < 40 { 10_000 } else { 201 };
        assert_eq!(with_reserve(Reserve::ErasedFlash, &lengths, more).phases(None), []);
        let ends = |number: usize| if number < 40 { 10_000 } else { 1 };
        for reserve in [Reserve::OperationCredits, Reserve::ThroughputCredits] {
            assert_eq!(with_reserve(reserve, &lengths, ends).phases(None).len(), 2);
        }
    }

    #[test]
    fn equal_rates_short_parts_and_reserves_that_never_were_make_no_phase() {
        let empties = |number: usize| 39_u64.saturating_sub(number as u64);
        let phases =
            |lengths: &[u64]| with_reserve(Reserve::WriteBuffer, lengths, empties).phases(None);
        let then = |slow: u64, count: usize| [vec![10; 40], vec![slow; count]].concat();
        // The times per batch are 10 and 11, and then 10 and 12.
        assert_eq!(phases(&then(11, 60)), []);
        assert_eq!(phases(&then(12, 60)).len(), 2);
        assert_eq!(phases(&[10; 100]), []);
        // 40 ms of 4,040 ms are shorter than a hundredth.
        let short = |first: u64| phases(&[vec![first; 40], vec![100; 40]].concat()).len();
        assert_eq!((short(1), short(2)), (0, 2));
        // A reserve that is empty from the beginning does not end a phase.
        let lengths = [vec![100; 2], vec![40; 60]].concat();
        for left in [0, 1] {
            let from_the_start = |number: usize| if number == 0 { left } else { 0 };
            let run = with_reserve(Reserve::WriteBuffer, &lengths, from_the_start);
            assert_eq!(run.phases(None).len(), usize::from(left == 1) * 2, "{left}");
        }
        let mut none = run(Vec::new());
        assert_eq!(none.phases(None), []);
        none.from = at(5);
        assert_eq!(none.phases(Some(ms(1))), []);
    }

    #[test]
    fn a_buffer_that_fills_soon_after_a_reserve_is_its_consequence() {
        let lengths = [vec![1_u64; 500], vec![8; 2], vec![9; 500]].concat();
        let phases = |first: Reserve, second: Reserve| {
            let mut end = 0;
            let batches = lengths.iter().enumerate().map(|(number, length)| {
                end += length;
                let left = |last: usize| if number < last { 1_000 } else { 0 };
                (end, vec![(first, left(499)), (second, left(501))], 0)
            });
            run(batches.collect()).phases(None)
        };
        for (first, second, ended_by) in [
            (Reserve::PseudoSlc, Reserve::WriteBuffer, Reserve::PseudoSlc),
            (Reserve::ErasedFlash, Reserve::AdapterCache, Reserve::ErasedFlash),
            (Reserve::PseudoSlc, Reserve::ErasedFlash, Reserve::ErasedFlash),
            (Reserve::AdapterCache, Reserve::WriteBuffer, Reserve::WriteBuffer),
        ] {
            let found = phases(first, second);
            assert_eq!(found.len(), 2, "{first:?} {second:?}: {found:?}");
            assert_eq!((found[0].until, found[0].ended_by), (ms(516), Some(ended_by)));
        }
    }

    #[test]
    fn groups_contain_all_batches_in_nearly_equal_numbers() {
        let batches = |collected: &dyn Fn(u64) -> u64| {
            let batch =
                |number: u64| (number, vec![(Reserve::DriveMap, 100 - number)], collected(number));
            run((1..=70).map(batch).collect())
        };
        let groups_of = |collected: &dyn Fn(u64) -> u64, from: u64| {
            BatchGroups::group(&batches(collected).batches, at(0), at(from))
        };
        let groups = groups_of(&|_| 0, 0).unwrap();
        // The groups contain two or three of the 70 batches, which take 1 ms each.
        assert!(groups.times.iter().all(|time| (time - 1e-3).abs() < 1e-12), "{:?}", groups.times);
        let left: Vec<f64> = (1..=32).map(|group| 100.0 - f64::from(group * 70 / 32)).collect();
        assert_eq!((groups.reserves, groups.collects), (vec![left], false));
        // Collection that moved data before the groups begin does not count.
        assert!(!groups_of(&|number| number.min(6), 6).unwrap().collects);
        assert!(groups_of(&|number| number.min(7), 6).unwrap().collects);
        let half = groups_of(&|_| 0, 7).unwrap();
        assert!(half.times.iter().all(|time| (time - 1e-3).abs() < 1e-12));
        assert!(groups_of(&|_| 0, 38).is_some());
        assert!(groups_of(&|_| 0, 39).is_none());
    }

    #[test]
    fn a_reserve_lasts_if_its_steady_use_leaves_enough_for_the_rest() {
        let linear = |first: f64, step: f64| -> Vec<f64> {
            (0..32).map(|number| first - step * f64::from(number)).collect()
        };
        // The means of the halves differ by 16, so each length of the part uses 32, with a margin of a twentieth.
        let left = linear(100.0, 1.0);
        assert!(reserve_lasts(&left, 69.0 / 33.6 - 0.01));
        assert!(!reserve_lasts(&left, 69.0 / 33.6 + 0.01));
        assert!(reserve_lasts(&linear(50.0, 0.0), 1e6) && reserve_lasts(&linear(50.0, -1.0), 1e6));
        let noise: Vec<f64> = (0..32).map(|number| f64::from(50 + 10 * (number % 2))).collect();
        assert!(reserve_lasts(&noise, 1e6));
        // A reserve whose use begins late is not used up steadily.
        let late: Vec<f64> = (0..32).map(|number| 1e6 - f64::from((number - 15).max(0))).collect();
        assert!(!reserve_lasts(&late, 0.0));
    }

    #[test]
    fn percentiles_are_known_if_the_requests_beyond_them_agree() {
        let constant = |count: u64| {
            let mut latency = LatencyHistogram::new();
            (0..count).for_each(|_| latency.record_ns(50_000));
            latency
        };
        // Fewer than ten requests beyond the 99th percentile of the whole test are not reported.
        assert!(percentiles_known(&constant(100), 9.9));
        assert!(!percentiles_known(&constant(200), 5.0), "exactly ten are reported");
        assert!(!percentiles_known(&constant(100), 10.1));
        // If all requests take the same time, three must be beyond the percentile.
        assert!(percentiles_known(&constant(400), 20.0));
        assert!(!percentiles_known(&constant(299), 20.0));
        let mut slower = constant(400);
        slower.record_ns(60_000);
        assert!(!percentiles_known(&slower, 20.0));
        // The 99.9th percentile needs ten times as many requests.
        assert!(percentiles_known(&constant(4_000), 20.0));
        assert!(!percentiles_known(&constant(2_900), 20.0));
        let mut ramp = LatencyHistogram::new();
        (0..200_000).for_each(|number| ramp.record_ns(50_000 + number % 100));
        assert!(percentiles_known(&ramp, 2.0));
    }

    #[test]
    fn long_requests_are_checked_early_in_small_batches() {
        for (block, first, size) in [
            (Bytes::kibi(4), 4_096, 4),
            (Bytes::kibi(16), 4_096, 4),
            (Bytes::kibi(32), 2_048, 4),
            (Bytes::mebi(1), 64, 2),
            (Bytes::kibi(704), 93, 2),
            (Bytes::mebi(8), 32, 1),
        ] {
            let check = first_check(&Test::of_blocks(block));
            assert_eq!((check, batch_size(check)), (first, size), "{block}");
            let figures = RequiredFigures::Rate;
            let run = Convergence::new(&Test::of_blocks(block), 16, at(1), figures);
            assert_eq!((run.least, run.check_at), (first.max(1_024), first));
        }
    }
}
