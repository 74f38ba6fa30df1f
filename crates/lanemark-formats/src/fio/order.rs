//! `random_distribution`, `norandommap` and the step of `rw`: the order of the offsets.

use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::{Pattern, PatternZone};

use super::block::BlockSizes;
use super::direction::RwOption;
use super::job::{Job, JobProblems};
use super::number;
use crate::error::SupportLevel;

/// fio's default exponent of a Zipf distribution.
const ZIPF: f64 = 1.1;
/// fio's default value of `h` in a Pareto distribution.
const PARETO: f64 = 0.2;

/// Returns the pattern of a job; a step may change the alignment in `blocks`.
pub(crate) fn pattern(
    job: &Job,
    direction: RwOption,
    blocks: &mut BlockSizes,
    findings: &mut JobProblems,
) -> Option<Pattern> {
    let random = match job.integer("percentage_random", findings).filter(|_| direction.random) {
        None | Some(100) => direction.random,
        Some(0) => false,
        Some(share @ 1..=99) => {
            if job.has("random_distribution") {
                let expected = "one of random_distribution and percentage_random";
                findings.add_error(job.error("percentage_random", expected));
            }
            return Some(Pattern::PartlyRandom { random_share: Ratio::new(share as f64 / 100.0)? });
        }
        Some(_) => {
            findings.add_error(job.error("percentage_random", "0 to 100"));
            return None;
        }
    };
    if !random {
        return in_order(job, direction, blocks, findings);
    }
    let all_once = !job.flag("norandommap", findings).unwrap_or(false);
    // fio does not use a map if requests may overlap.
    let all_once = all_once && blocks.sizes.is_empty();
    let plain = if all_once { Pattern::Shuffled } else { Pattern::Uniform };
    if !job.has("random_distribution") {
        return Some(plain);
    }
    let base = job.kb_base();
    let text = job.text("random_distribution").unwrap_or("");
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    let centred = matches!(word, "zipf" | "pareto" | "normal" | "gauss") && rest.contains(':');
    if centred {
        let reason = "the most frequent offsets are scattered, or in the middle for normal";
        job.note("random_distribution", findings, SupportLevel::Nearly, reason);
    }
    if matches!(word, "normal" | "gauss") {
        let reason =
            "a true normal distribution, with the standard deviation of fio's sum of draws";
        job.note("random_distribution", findings, SupportLevel::Nearly, reason);
    }
    job.parsed("random_distribution", findings, |text| distribution(text, direction, base))
        .map(|given| given.unwrap_or(plain))
}

fn in_order(
    job: &Job,
    direction: RwOption,
    blocks: &mut BlockSizes,
    findings: &mut JobProblems,
) -> Option<Pattern> {
    let block = blocks.block.get();
    let distance = direction.step.unsigned_abs();
    if direction.step == 0 {
        return Some(Pattern::Sequential);
    }
    if !blocks.sizes.is_empty() {
        findings.add_error(job.error("rw", "no step if requests have several sizes"));
        return None;
    }
    if direction.step > 0 {
        blocks.alignment = Bytes(block.saturating_add(distance));
        return Some(Pattern::Sequential);
    }
    // fio counts the step from the end of a request.
    let back = distance.saturating_sub(block);
    if back < block {
        findings.add_error(
            job.error(
                "rw",
                "a step back of at least two blocks, so that no block is accessed twice",
            ),
        );
        return None;
    }
    blocks.alignment = Bytes(back);
    Some(Pattern::Backward)
}

/// Reads `random_distribution`; the default is a uniform distribution.
fn distribution(
    text: &str,
    direction: RwOption,
    kb_base: u64,
) -> Result<Option<Pattern>, &'static str> {
    const EXPECTED: &str = "random, zipf:theta, pareto:h, normal:deviation, zoned:… or zoned_abs:…";
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    let number = |usual: f64| match rest.split(':').next().unwrap_or("").trim() {
        "" => Ok(usual),
        number => number.parse::<f64>().map_err(|_| "a number after the colon"),
    };
    match word.trim() {
        "random" => Ok(None),
        "zipf" => match number(ZIPF)? {
            theta if theta > 0.0 && theta <= 10.0 => Ok(Some(Pattern::Zipf { theta })),
            _ => Err("an exponent above 0 and at most 10"),
        },
        "pareto" => match number(PARETO)? {
            h if h > 0.0 && h < 1.0 => Ok(Some(Pattern::Pareto { h })),
            _ => Err("an h above 0 and below 1"),
        },
        "normal" | "gauss" => {
            let fraction = number(0.0)? / 100.0;
            match (fraction > 0.0 && fraction <= 1.0)
                .then(|| Ratio::new(deviation(fraction)))
                .flatten()
            {
                Some(deviation) => Ok(Some(Pattern::Normal { deviation })),
                None => Err("a deviation above 0 and at most 100"),
            }
        }
        "zoned" | "zoned_abs" => zones(rest, word.trim() == "zoned_abs", direction, kb_base),
        _ => Err(EXPECTED),
    }
}

/// Converts the value of `normal:` to a standard deviation, as a share of the span. The value is the width of fio's
/// last draw: fio takes the mean of twelve offsets, whose deviation is a twelfth of the span, and adds an offset that
/// is uniformly distributed over that width (`lib/gauss.c`).
fn deviation(fraction: f64) -> f64 {
    let width = fraction.min(0.5);
    (1.0 / 144.0 + width * width / 12.0).sqrt()
}

/// Returns the value of `normal:` for this deviation, or the nearest possible value.
pub(crate) fn normal_for(deviation: f64) -> f64 {
    ((deviation * deviation - 1.0 / 144.0).max(0.0) * 12.0).sqrt().clamp(0.01, 0.5)
}

/// Reads zones such as `50/5:30/15:20/`: percentages of the requests, each with a percentage of the span or, with
/// `absolute`, a size.
fn zones(
    text: &str,
    absolute: bool,
    direction: RwOption,
    kb_base: u64,
) -> Result<Option<Pattern>, &'static str> {
    let lists: Vec<&str> = text.split(',').map(str::trim).collect();
    let zone_text = |kind: usize| lists.get(kind).or(lists.last()).copied().unwrap_or("");
    let mut lists_of_kinds = direction.kinds().map(zone_text);
    let first = lists_of_kinds.next().unwrap_or("");
    if lists_of_kinds.any(|other| other != first) {
        return Err(
            "the same zones for reads, writes and trims; otherwise a separate job for each",
        );
    }
    let mut parts: Vec<(Option<f64>, Option<f64>)> = Vec::new();
    for part in first.split(':').filter(|part| !part.trim().is_empty()) {
        let (share, span) = part.split_once('/').ok_or("zones such as 60/10:30/20:10/70")?;
        let percent = |text: &str| match text.trim() {
            "" => Ok(None),
            text => match text.parse::<f64>() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Some(percent / 100.0)),
                _ => Err("percentages from 0 to 100"),
            },
        };
        let span =
            if absolute { Some(number::bytes(span, kb_base)? as f64) } else { percent(span)? };
        parts.push((percent(share)?, span));
    }
    if parts.is_empty() || parts.len() > 64 {
        return Err("from 1 to 64 zones");
    }
    let whole = if absolute { parts.iter().filter_map(|(_, span)| *span).sum() } else { 1.0 };
    let share_left = |values: &dyn Fn(&(Option<f64>, Option<f64>)) -> Option<f64>, whole: f64| {
        let stated: f64 = parts.iter().filter_map(values).sum();
        let untold = parts.iter().filter(|part| values(part).is_none()).count().max(1);
        ((whole - stated) / untold as f64).max(0.0)
    };
    let rest = (share_left(&|part| part.0, 1.0), share_left(&|part| part.1, whole));
    let zone = |(share, span): &(Option<f64>, Option<f64>)| {
        let ratio = |value: f64| Ratio::new(value.clamp(0.0, 1.0)).unwrap_or(Ratio::ZERO);
        PatternZone {
            share: ratio(share.unwrap_or(rest.0)),
            span: ratio(span.unwrap_or(rest.1) / whole),
        }
    };
    Ok(Some(Pattern::Zones { zones: parts.iter().map(zone).collect() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: RwOption =
        RwOption { reads: true, writes: false, trims: false, random: true, step: 0 };

    #[test]
    fn a_deviation_is_inverted_and_bad_distributions_are_errors() {
        let read = |text: &str| distribution(text, READS, 1024);
        assert!((normal_for(deviation(0.35)) - 0.35).abs() < 1e-12);
        for bad in ["zipf:0", "pareto:1", "normal", "normal:x", "zoned:", "sequence:1,2", "zoned:5"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
