//! `bs`, `bsrange`, `bssplit` and `blockalign`: the lengths of requests and the alignment of their offsets.

use lanemark_schema::units::Bytes;
use lanemark_schema::workload::SizeShare;
use lanemark_schema::workload::bound::SIZES;

use super::direction::RwOption;
use super::job::{Job, JobProblems};
use super::number;
use crate::error::SupportLevel;

/// fio's default block size.
const BLOCK: u64 = 4096;

/// The lengths of the requests, and the alignment of the offsets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BlockSizes {
    /// Largest block size.
    pub(crate) block: Bytes,
    /// All block sizes with their shares; empty if there is only one size.
    pub(crate) sizes: Vec<SizeShare>,
    pub(crate) alignment: Bytes,
}

impl BlockSizes {
    /// Returns the block sizes of a job that does not set any of these options.
    pub(crate) fn usual() -> Self {
        Self { block: Bytes(BLOCK), sizes: Vec::new(), alignment: Bytes(BLOCK) }
    }

    /// Reads these options of a job. `read_share` is the share of reads among its requests.
    pub(crate) fn from_job(
        job: &Job,
        direction: RwOption,
        read_share: f64,
        findings: &mut JobProblems,
    ) -> Option<Self> {
        let base = job.kb_base();
        let (option, lists) = if job.has("bssplit") {
            ("bssplit", job.read_per_direction("bssplit", findings, |text| split(text, base))?)
        } else if job.has("bsrange") {
            ("bsrange", job.read_per_direction("bsrange", findings, |text| range(text, base))?)
        } else if job.has("bs") {
            (
                "bs",
                job.read_per_direction("bs", findings, |text| {
                    Ok(single_size(number::bytes(text, base)?))
                })?,
            )
        } else {
            ("bs", [None, None, None])
        };
        let mut sizes = combined(&lists, direction, read_share);
        if sizes.is_empty() {
            findings.add_error(job.error(option, "one size or more with a share above zero"));
            return None;
        }
        let differ = direction.only().is_none() && {
            let mut kinds = direction.kinds().map(|kind| &lists[kind]);
            let first = kinds.next();
            kinds.any(|other| Some(other) != first)
        };
        if differ {
            let reason = "reads, writes and trims each use all sizes, in proportion";
            job.note(option, findings, SupportLevel::Nearly, reason);
        }
        if sizes.len() > SIZES.max {
            let reason = "64 sizes, evenly spaced in the range";
            job.note(option, findings, SupportLevel::Nearly, reason);
            let count = sizes.len();
            sizes = (0..SIZES.max).map(|at| sizes[at * (count - 1) / (SIZES.max - 1)]).collect();
        }
        let block = sizes.iter().map(|size| size.block).max()?;
        let least = sizes.iter().map(|size| size.block.get()).min()?;
        // Sequential requests are adjacent only if each length is a multiple of the unit.
        let unit = if direction.random {
            least
        } else {
            sizes.iter().fold(0, |unit, size| gcd(unit, size.block.get()))
        };
        let alignment = if job.has("ba") { alignment(job, direction, findings)? } else { unit };
        let sizes = if sizes.len() > 1 { sizes } else { Vec::new() };
        Some(Self { block, sizes, alignment: Bytes(alignment) })
    }
}

fn alignment(job: &Job, direction: RwOption, findings: &mut JobProblems) -> Option<u64> {
    let base = job.kb_base();
    let given = job.read_per_direction("ba", findings, |text| number::bytes(text, base))?;
    let mut sizes = direction.kinds().filter_map(|kind| given[kind]);
    let first = sizes.next().unwrap_or(BLOCK);
    if sizes.any(|other| other != first) {
        job.note(
            "ba",
            findings,
            SupportLevel::Nearly,
            "all requests use the alignment of the first direction",
        );
    }
    Some(first)
}

/// Combines the lists of the requested directions, weighted by the share of each direction.
fn combined(
    lists: &[Option<Vec<SizeShare>>; 3],
    direction: RwOption,
    read_share: f64,
) -> Vec<SizeShare> {
    let of_kind = |kind: usize| match (direction.only(), kind) {
        (Some(_), _) => 1.0,
        (None, 0) => read_share,
        (None, _) if direction.trims => 0.5,
        (None, _) => 1.0 - read_share,
    };
    let mut sizes: Vec<SizeShare> = Vec::new();
    for kind in direction.kinds() {
        let plain = single_size(BLOCK);
        let list = lists[kind].as_ref().unwrap_or(&plain);
        let sum: f64 = list.iter().map(|size| size.share).sum();
        for size in list {
            let share = size.share / sum * of_kind(kind);
            if share.is_nan() || share <= 0.0 {
                continue;
            }
            match sizes.iter_mut().find(|known| known.block == size.block) {
                Some(known) => known.share += share,
                None => sizes.push(SizeShare { block: size.block, share }),
            }
        }
    }
    sizes
}

fn single_size(block: u64) -> Vec<SizeShare> {
    vec![SizeShare { block: Bytes(block), share: 1.0 }]
}

/// Reads a range such as `1k-16k`: all multiples of the minimum, with equal shares.
fn range(text: &str, kb_base: u64) -> Result<Vec<SizeShare>, &'static str> {
    const EXPECTED: &str = "a range such as 4k-64k";
    /// Maximum number of sizes. If a range contains more sizes, only some of them, evenly spaced, are used.
    const COUNT_MAX: u64 = 4096;
    let (least, most) = text.split_once('-').or_else(|| text.split_once(':')).ok_or(EXPECTED)?;
    let least = number::bytes(least, kb_base)?;
    let most = number::bytes(most, kb_base)?;
    if least == 0 || most < least {
        return Err(EXPECTED);
    }
    let count = most / least;
    let step = count.div_ceil(COUNT_MAX);
    let size = |at: u64| SizeShare { block: Bytes(least * (1 + at * step)), share: 1.0 };
    Ok((0..count.div_ceil(step)).map(size).collect())
}

/// Reads a list such as `4k/60:64k/40`; sizes without a share divide the remaining share equally.
fn split(text: &str, kb_base: u64) -> Result<Vec<SizeShare>, &'static str> {
    const EXPECTED: &str = "sizes with percentages, 4k/60:64k/40";
    let mut sizes: Vec<(u64, Option<f64>)> = Vec::new();
    for part in text.split(':').filter(|part| !part.trim().is_empty()) {
        let (size, share) = match part.split_once('/') {
            Some((size, share)) => (size, share.trim()),
            None => (part, ""),
        };
        let share = match share {
            "" => None,
            share => Some(share.parse::<f64>().map_err(|_| EXPECTED)?),
        };
        if share.is_some_and(|share| !(0.0..=100.0).contains(&share)) {
            return Err("percentages from 0 to 100");
        }
        sizes.push((number::bytes(size, kb_base)?, share));
    }
    let stated: f64 = sizes.iter().filter_map(|(_, share)| *share).sum();
    if sizes.is_empty() {
        return Err(EXPECTED);
    }
    if stated > 100.0 + 1e-9 {
        return Err("percentages that sum to at most 100");
    }
    let untold = sizes.iter().filter(|(_, share)| share.is_none()).count();
    let rest = (100.0 - stated) / untold.max(1) as f64;
    let share = |(block, share): &(u64, Option<f64>)| SizeShare {
        block: Bytes(*block),
        share: share.unwrap_or(rest),
    };
    Ok(sizes.iter().map(share).collect())
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(sizes: &[SizeShare]) -> Vec<(u64, f64)> {
        sizes.iter().map(|size| (size.block.get(), size.share)).collect()
    }

    #[test]
    fn a_range_contains_all_multiples_of_its_minimum() {
        assert_eq!(range("1k-4k", 1024).unwrap().len(), 4);
        assert_eq!(plain(&range("4k-4k", 1024).unwrap()), [(4096, 1.0)]);
        assert!(range("512-64m", 1024).unwrap().len() <= 4096);
        for bad in ["4k", "8k-4k", "0-4k", "-"] {
            assert!(range(bad, 1024).is_err(), "{bad}");
        }
    }

    #[test]
    fn shares_are_percentages_that_sum_to_100_at_most() {
        assert!(split("4k/50:8k/50", 1024).is_ok() && split("4k/100:8k/0", 1024).is_ok());
        assert_eq!(plain(&split("4k:8k", 1024).unwrap()), [(4096, 50.0), (8192, 50.0)]);
        for bad in ["", "4k/x", "x/10"] {
            assert!(split(bad, 1024).is_err(), "{bad}");
        }
        assert_eq!(split("4k/101", 1024), Err("percentages from 0 to 100"));
        assert_eq!(split("4k/-1:8k/50", 1024), Err("percentages from 0 to 100"));
        assert_eq!(split("4k/nan", 1024), Err("percentages from 0 to 100"));
        assert_eq!(split("4k/60:8k/41", 1024), Err("percentages that sum to at most 100"));
    }
}
