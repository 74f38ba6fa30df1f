//! The phases of a job of fio whose directions ran one after the other.

use lanemark_schema::result::{RequestErrors, Sample};
use lanemark_schema::units::Duration;

/// Minimum ratio of the run times of directions that ran at the same time.
const SAME_TIME: f64 = 0.98;

/// Returns the figures of each direction with its own run time, if the run times differ: the directions ran one after
/// the other, such as writes and their verification. Otherwise returns all figures, without a name.
pub(crate) fn split_phases(sample: Sample, times: [Duration; 3]) -> Vec<(&'static str, Sample)> {
    let same = |time: &Duration| {
        *time == Duration::ZERO || time.as_seconds() >= SAME_TIME * sample.elapsed.as_seconds()
    };
    if times.iter().all(same) {
        return vec![("", sample)];
    }
    let mut parts = Vec::new();
    for (index, name) in [", reads", ", writes", ", trims"].into_iter().enumerate() {
        // The processor time is not known for each direction.
        let mut part = Sample { elapsed: times[index], cpu: None, ..sample.clone() };
        let sides = [&mut part.reads, &mut part.writes, &mut part.trims];
        for (_, side) in sides.into_iter().enumerate().filter(|(side, _)| *side != index) {
            *side = None;
        }
        part.flushes = part.flushes.filter(|_| index == 1);
        if !parts.is_empty() {
            part.errors = RequestErrors::default();
        }
        if times[index] > Duration::ZERO {
            parts.push((name, part));
        }
    }
    parts
}

/// The note about directions that [`split_phases`] separated.
pub(crate) const PHASES: &str = "its directions ran for different times, such as writes and their verification: each is a separate test";
