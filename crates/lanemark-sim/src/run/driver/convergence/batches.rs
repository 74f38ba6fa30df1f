//! Batches of consecutive requests, and groups of equal numbers of batches.

use super::precision::{GROUPS, deviation, mean_of};
use lanemark_schema::result::Reserve;
use lanemark_schema::units::Instant;

/// Maximum relative difference between a reserve's consumption in the first half and in the second half of a part, if
/// the consumption is steady.
const STEADY_USE: f64 = 0.25;

/// The state at the end of a batch.
pub(super) struct Batch {
    pub(super) end: Instant,
    pub(super) reserves: Vec<(Reserve, u64)>,
    pub(super) collected: u64,
}

/// Groups of batches: the mean time of a batch of each group in seconds, whether collection moved data, and the amounts
/// left of each reserve.
pub(super) struct BatchGroups {
    pub(super) times: [f64; GROUPS],
    pub(super) collects: bool,
    pub(super) reserves: Vec<Vec<f64>>,
}

impl BatchGroups {
    /// Returns all batches that end after `from`, in groups of nearly equal size, if there are enough batches for all
    /// groups. The first of all `batches` begins at `start`.
    pub(super) fn group(batches: &[Batch], start: Instant, from: Instant) -> Option<Self> {
        let since = batches.partition_point(|batch| batch.end <= from);
        let count = batches.len() - since;
        if count < GROUPS {
            return None;
        }
        let before = since.checked_sub(1).map(|last| &batches[last]);
        let mut group_start = before.map_or(start, |batch| batch.end);
        let mut first = since;
        let mut times = [0.0; GROUPS];
        let mut reserves = vec![Vec::with_capacity(GROUPS); batches.last()?.reserves.len()];
        for (group, time) in times.iter_mut().enumerate() {
            let end = since + (group + 1) * count / GROUPS;
            let batch = &batches[end - 1];
            *time = batch.end.since(group_start).as_seconds() / (end - first) as f64;
            (group_start, first) = (batch.end, end);
            reserves
                .iter_mut()
                .zip(&batch.reserves)
                .for_each(|(all, &(_, left))| all.push(left as f64));
        }
        let collected = before.map_or(0, |batch| batch.collected);
        Some(Self { times, collects: batches.last()?.collected > collected, reserves })
    }

    /// Returns whether every reserve is used up steadily and lasts for `more` times this part.
    pub(super) fn reserves_last(&self, more: f64) -> bool {
        self.reserves.iter().all(|left| reserve_lasts(left, more))
    }
}

/// Returns whether a reserve with the amounts `left` is used up steadily and lasts for `more` times this part.
pub(super) fn reserve_lasts(left: &[f64], more: f64) -> bool {
    let (first, second) = left.split_at(left.len() / 2);
    let consumed = mean_of(first) - mean_of(second);
    let one = deviation(first);
    let other = deviation(second);
    let error = ((one * one + other * other) / second.len() as f64).sqrt();
    if consumed <= 3.0 * error {
        return true;
    }
    let of_half = |half: &[f64]| half[0] - half[half.len() - 1];
    let one = of_half(first);
    let other = of_half(second);
    let is_steady = (one - other).abs() <= STEADY_USE * one.max(other);
    // The means of the halves differ by half of the total use.
    is_steady && left[left.len() - 1] > 2.0 * consumed * more * 1.05
}
