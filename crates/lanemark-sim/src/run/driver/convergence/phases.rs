//! The phases of a run: parts with one rate each, between the moments at which reserves are used up.

use super::{Batch, Convergence};
use lanemark_schema::result::{RatePhase, Reserve};
use lanemark_schema::units::{Duration, Instant};

/// The share of a reserve's first amount at which it is used up.
const USED_UP: f64 = 0.02;
/// The share of a volume's first credits at which they are used up: they end exactly.
const CREDITS_USED_UP: f64 = 0.000_1;
/// The smallest difference between the rates of neighbouring phases, as a share of the larger one.
const DIFFERENT: f64 = 0.1;
/// The smallest length of a phase, as a share of the run.
const SHORTEST: f64 = 0.01;
/// The longest time after which a full buffer is the consequence of a reserve that was used up before, as a share of
/// the phase until then.
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

    /// Returns whether the buffer that becomes full in `next` does so because of the reserve that was used up before:
    /// flash that takes data more slowly than the host sends it fills every buffer upstream of it.
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
    /// Returns the phases of the run, or an empty list if it has only one. The last phase ends with the test, after
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

    /// Returns the batches in which a reserve is used up for the first time.
    fn used_up(&self) -> impl Iterator<Item = (usize, Reserve)> + '_ {
        let reserves = self.batches.first().map_or(&[][..], |batch| &batch.reserves);
        reserves.iter().enumerate().filter_map(|(number, &(reserve, first))| {
            let left = |batch: &Batch| batch.reserves[number].1 as f64;
            let share = match reserve {
                Reserve::OperationCredits | Reserve::ThroughputCredits => CREDITS_USED_UP,
                _ => USED_UP,
            };
            let end = self.batches.iter().position(|batch| left(batch) <= share * first as f64)?;
            (first > 0 && end > 0).then_some((end, reserve))
        })
    }
}

/// Returns whether two neighbouring parts of a run of `all` seconds are one phase.
fn is_one_phase(before: &PhaseSegment, after: &PhaseSegment, all: f64) -> bool {
    let is_short = before.seconds.min(after.seconds) < SHORTEST * all;
    let (one, other) = (before.rate(), after.rate());
    is_short || (one - other).abs() < DIFFERENT * one.max(other)
}
