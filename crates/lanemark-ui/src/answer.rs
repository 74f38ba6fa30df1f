//! The answer of a page as a sentence: which system is faster, by how much, and at which hops the other systems are
//! slower.
//!
//! All systems keep the same number of requests outstanding. Therefore their rates differ only by the mean times of
//! their requests (Little's law). The cause of a difference is the hop at which a request of the slower system spends
//! the most additional time. If a hop is busy nearly all the time, it is named without this comparison.

use lanemark_schema::result::{
    FigureUncertainty, PredictedRate, PredictionInterval, RatioEstimate, RatioVerdict, SAME_WITHIN,
    UncertainFigure,
};
use lanemark_schema::text::{latency_text, rate_text, significant};
use serde::{Deserialize, Serialize};

use crate::figures::{CurvePoint, HopFigures, PagePrediction, TestFigures};

/// Utilisation from which a hop is a limit.
const BUSY: f64 = 0.9;
/// Share of the maximum rate of a curve from which more depth is of little use.
const NEAR_MAX: f64 = 0.95;
/// The text of a ratio whose interval includes 1.
const NO_DIFFERENCE: &str = "no difference shown";
/// Maximum length of a name.
const NAME_MAX: usize = 200;

/// A request for the sentence: the systems of a page, with their figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// The systems in the order of the page.
    pub systems: Vec<NamedSystem>,
    /// The curve of the only system over queue depth, if it is known.
    #[serde(default)]
    pub points: Vec<CurvePoint>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedSystem {
    /// The system's display name.
    pub name: String,
    /// Figures of the system, as the server sent them.
    pub figures: TestFigures,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    pub sentence: String,
    /// A caveat: an assumed bottleneck, or faults.
    pub caution: Option<String>,
    /// The rate of each system divided by the rate of the first system, in the order of the request.
    pub ratios: Vec<Option<RatioText>>,
}

/// A ratio of rates as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RatioText {
    /// Whether a difference is shown; otherwise the text says so.
    pub is_shown: bool,
    pub text: String,
    /// The 80% interval, such as `1.6 to 3`, if it is known.
    pub interval: Option<String>,
}

/// Returns the answer, or `None` if no system has figures.
pub fn answer(request: &AnswerRequest) -> Option<Answer> {
    let mut systems: Vec<(String, &TestFigures)> = request
        .systems
        .iter()
        .filter(|named| named.figures.iops.is_finite() && named.figures.iops > 0.0)
        .map(|named| (named.name.chars().take(NAME_MAX).collect(), &named.figures))
        .collect();
    systems.sort_by(|named, other| rate(other.1).total_cmp(&rate(named.1)));
    let sentence = match systems.as_slice() {
        [] => String::new(),
        any if any.iter().any(|(_, figures)| !figures.faults.is_empty()) => faults_sentence(any),
        any if any.iter().all(|(_, figures)| figures.durable.is_some()) => {
            durable_sentences(&request.systems)
        }
        [(name, figures)] => {
            let depth = depth_sentence(&request.points, figures).unwrap_or_default();
            upper(&single_system_sentence(name, figures)) + &depth
        }
        [first, others @ ..] => comparison_sentence(first, others),
    };
    let idle = request.systems.iter().filter(|named| named.figures.iops <= 0.0).map(|named| {
        let name: String = named.name.chars().take(NAME_MAX).collect();
        let time = length_text(&named.figures);
        upper(&format!("{name} completes no request in {time}."))
    });
    let wrongs = wrongs(&systems).into_iter();
    let sentences: Vec<String> = wrongs.chain(idle).chain([sentence]).collect();
    let sentence = sentences.join(" ").trim_end().to_owned();
    if sentence.is_empty() {
        return None;
    }
    Some(Answer { sentence, caution: caution(&systems), ratios: ratios(request) })
}

/// Returns what went wrong in the systems, as a report says it.
fn wrongs(systems: &[(String, &TestFigures)]) -> Vec<String> {
    let wrong = |(name, figures): &(String, &TestFigures)| {
        figures.wrong.as_ref().map(|wrong| upper(&format!("{name} {wrong}.")))
    };
    systems.iter().filter_map(wrong).collect()
}

fn ratios(request: &AnswerRequest) -> Vec<Option<RatioText>> {
    let first = request.systems.first().map(|named| &named.figures);
    let ratio = |(place, named): (usize, &NamedSystem)| {
        let has_faults = |figures: &TestFigures| !figures.faults.is_empty();
        let first = first.filter(|first| place > 0 && rate(first) > 0.0)?;
        if has_faults(first) || has_faults(&named.figures) || rate(&named.figures) <= 0.0 {
            return None;
        }
        let estimate = estimate(&named.figures, first);
        let is_shown = !is_level(estimate);
        let text = if is_shown { times(estimate.ratio()) } else { NO_DIFFERENCE.to_owned() };
        let interval = estimate.interval_80();
        let interval = interval.map(|(low, high)| format!("{} to {}", times(low), times(high)));
        Some(RatioText { is_shown, text, interval })
    };
    request.systems.iter().enumerate().map(ratio).collect()
}

/// Returns the rate by which systems are compared: requests a second for random offsets, otherwise bytes a second.
fn rate(figures: &TestFigures) -> f64 {
    if figures.is_random { figures.iops } else { figures.megabytes_per_second }
}

fn throughput_text(figures: &TestFigures) -> String {
    let unit = if figures.is_random { "IOPS" } else { "MB/s" };
    format!("{} {unit}", significant(rate(figures)))
}

/// Returns the rate with its interval, such as `1,000 IOPS (80% interval 900 to 1,200)`.
fn predicted_text(figures: &TestFigures) -> String {
    let ends = |interval: &PredictionInterval| {
        let [low, high] = [interval.low_ratio, interval.high_ratio];
        let end = |ratio: f64| significant(rate(figures) * ratio);
        format!(" (80% interval {} to {})", end(low), end(high))
    };
    let interval = figures.interval.as_ref().map(ends).unwrap_or_default();
    throughput_text(figures) + &interval
}

/// Returns the length of a repeat.
fn length_text(figures: &TestFigures) -> String {
    latency(repeat_seconds(figures) * 1e6)
}

fn repeat_seconds(figures: &TestFigures) -> f64 {
    figures.simulated_seconds / figures.repeats.max(1) as f64
}

/// Returns the depth from which more requests add little to the rate.
fn depth_sentence(points: &[CurvePoint], figures: &TestFigures) -> Option<String> {
    let rate = |point: &CurvePoint| {
        if figures.is_random { point.iops } else { point.megabytes_per_second }
    };
    let most = points.iter().map(rate).fold(0.0, f64::max);
    let point = points.iter().find(|point| most > 0.0 && rate(point) >= NEAR_MAX * most)?;
    Some(format!(
        " Depth {} reaches {} of the maximum rate up to depth {}, with a mean latency of {}.",
        point.queue_depth,
        percent(NEAR_MAX),
        points.last()?.queue_depth,
        latency(point.latency_mean_us)
    ))
}

/// Returns the report's sentence about the flushes of each system.
fn durable_sentences(systems: &[NamedSystem]) -> String {
    let text = |named: &NamedSystem| {
        let durable = named.figures.durable.as_ref()?;
        Some(upper(&format!(
            "{}: {durable}",
            named.name.chars().take(NAME_MAX).collect::<String>()
        )))
    };
    systems.iter().filter_map(text).collect::<Vec<_>>().join(" ")
}

fn single_system_sentence(name: &str, figures: &TestFigures) -> String {
    if let Some(phases) = &figures.phases {
        let average = predicted_text(figures);
        return format!("{name} delivers {phases} The average is {average}.");
    }
    let limit = match busiest_hop(figures) {
        Some(hop) => {
            format!("{} it, {} busy", limits_phrase(hop, figures), percent(hop.utilisation))
        }
        None => match longest(figures) {
            Some(hop) => format!(
                "no part is busy all the time, and {} of a request’s {} is spent at {}",
                percent(time(hop) / figures.latency_mean_us),
                latency(figures.latency_mean_us),
                hop.name
            ),
            None => return format!("{name} delivers {}.", predicted_text(figures)),
        },
    };
    let rest = drive_rate(figures).filter(|(_, share)| *share < 0.9).map(|(carried, share)| {
        format!(
            " The path delivers {} of the {carried} that the drive’s own parts could carry.",
            percent(share)
        )
    });
    format!("{name} delivers {}: {limit}.{}", predicted_text(figures), rest.unwrap_or_default())
}

/// Returns the rate that the slowest part of the drive could carry, and the share of it that is delivered, if the limit
/// is outside the drive.
fn drive_rate(figures: &TestFigures) -> Option<(String, f64)> {
    let hop = busiest_hop(figures).filter(|hop| !hop.is_of_drive)?;
    let of_drive =
        figures.hops.iter().filter(|other_hop| other_hop.is_of_drive && other_hop.id != hop.id);
    let carried = of_drive.filter_map(|other_hop| other_hop.ceiling_megabytes_per_second);
    let carried = carried.fold(f64::INFINITY, f64::min);
    (carried.is_finite() && carried > 0.0)
        .then(|| (rate_text(carried * 1e6), figures.megabytes_per_second / carried))
}

/// Returns the rates of systems with faults, and the time that the faults cost. The rates lack intervals, so no
/// difference is claimed, and the time without service belongs to no hop.
fn faults_sentence(systems: &[(String, &TestFigures)]) -> String {
    let text = |(name, figures): &(String, &TestFigures)| {
        let cost = fault_cost(figures).unwrap_or_default();
        let [rate, length] = [predicted_text(figures), length_text(figures)];
        upper(&format!("{name} delivers {rate} over {length}.{cost} "))
    };
    let rates: String = systems.iter().map(text).collect();
    format!("{rates}The interval of a rate with faults is not known.")
}

/// Returns the time that faults cost: without them, the same requests would have taken less time.
fn fault_cost(figures: &TestFigures) -> Option<String> {
    let whole = figures.iops_without_faults?;
    let lost = repeat_seconds(figures) * (1.0 - figures.iops / whole);
    let text = if lost > 0.0 { latency(lost * 1e6) } else { "no time".to_owned() };
    Some(format!(" Its faults cost {text}."))
}

fn comparison_sentence(
    first: &(String, &TestFigures),
    others: &[(String, &TestFigures)],
) -> String {
    let (name, figures) = first;
    let ratio = |other: &TestFigures| rate(figures) / rate(other);
    let is_level = |other: &&(String, &TestFigures)| is_level(estimate(figures, other.1));
    let equal: Vec<&str> =
        others.iter().take_while(is_level).map(|(name, _)| name.as_str()).collect();
    let slower = &others[equal.len()..];
    if slower.is_empty() {
        return level_sentence(first, others);
    }
    // Rates within 3% lead together. A larger difference that is not shown does not make the rates equal.
    let count = others.iter().take(equal.len()).take_while(|(_, other)| ratio(other) < SAME_WITHIN);
    let (same, unclear) = equal.split_at(count.count());
    let leaders = joined(&[&[name.as_str()], same].concat());
    let is = if same.is_empty() { "is" } else { "are" };
    let lead = match slower {
        [(other, slow)] => format!(
            "{leaders} {is} {} times as fast as {other}{}: {} versus {}.",
            times(ratio(slow)),
            interval_text(estimate(figures, slow)),
            throughput_text(figures),
            throughput_text(slow)
        ),
        several => {
            let ratios: Vec<String> = several
                .iter()
                .map(|(other, slow)| {
                    let interval = interval_text(estimate(figures, slow));
                    format!("{} times {other}{interval}", times(ratio(slow)))
                })
                .collect();
            format!(
                "{leaders} {is} the fastest: {}, {}.",
                throughput_text(figures),
                joined_texts(&ratios)
            )
        }
    };
    let losses: Vec<String> =
        slower.iter().filter_map(|(other, slow)| loss(other, slow, figures)).collect();
    let mut sentences = vec![upper(&lead)];
    if !losses.is_empty() {
        sentences.push(upper(&format!("{}.", joined_texts(&losses))));
    }
    if !unclear.is_empty() {
        sentences.push(format!("No difference between {name} and {} is shown.", joined(unclear)));
    }
    sentences.join(" ")
}

/// Returns the sentence about systems without a shown difference.
fn level_sentence(first: &(String, &TestFigures), others: &[(String, &TestFigures)]) -> String {
    let (name, figures) = first;
    let equal: Vec<&str> = others.iter().map(|(name, _)| name.as_str()).collect();
    let names = joined(&[&[name.as_str()], equal.as_slice()].concat());
    let is_not_shown = |(_, other): &&(String, &TestFigures)| {
        let estimate = estimate(figures, other);
        estimate.interval_80().is_some() && estimate.verdict() == RatioVerdict::NotShown
    };
    if let Some((_, last)) = others.iter().rfind(is_not_shown) {
        let ratio = times_text(estimate(figures, last));
        return format!(
            "No difference between {names} is shown: {} {} {}, a ratio of {ratio}.",
            throughput_text(figures),
            if others.len() > 1 { "to" } else { "and" },
            throughput_text(last)
        );
    }
    let limit = busiest_hop(figures).map(|hop| {
        format!(
            " {} {}.",
            upper(&limits_phrase(hop, figures)),
            if equal.len() > 1 { "them" } else { "both" }
        )
    });
    let limit = limit.filter(|_| {
        others.iter().all(|(_, other)| {
            busiest_hop(other).map(|hop| hop.id) == busiest_hop(figures).map(|hop| hop.id)
        })
    });
    upper(&format!(
        "{names} deliver the same throughput, {}.{}",
        throughput_text(figures),
        limit.unwrap_or_default()
    ))
}

/// Returns the hop that costs the slower system `name` its time, such as `PCIe 3.0 x4 limits A (100% busy)`.
fn loss(name: &str, slow: &TestFigures, fast: &TestFigures) -> Option<String> {
    if let Some(flush) = slowest_flush(slow, fast) {
        return Some(format!("{name} loses time in the flushes ({flush} each)"));
    }
    let hop = slowest_hop(slow, fast)?;
    Some(if hop.utilisation >= BUSY {
        format!("{} {name} ({} busy)", limits_phrase(hop, slow), percent(hop.utilisation))
    } else {
        format!("{name} loses time at {} ({} of each request)", hop.name, latency(time(hop)))
    })
}

/// Returns the rate of `fast` divided by the rate of `slow`, as `compare` computes it.
fn estimate(fast: &TestFigures, slow: &TestFigures) -> RatioEstimate {
    if let (Some(slow), Some(fast)) = (predicted(slow), predicted(fast)) {
        return slow.ratio_to(&fast);
    }
    let [one, two] = [slow, fast].map(|figures| {
        let value = rate(figures);
        let interval = figures.interval.as_ref();
        let uncertainty = interval.and_then(|interval| {
            let [low, high] = [interval.low_ratio, interval.high_ratio].map(|end| value * end);
            FigureUncertainty::of_interval(value, low, high)
        });
        UncertainFigure { value, uncertainty }
    });
    RatioEstimate::of_figures(one, two)
}

fn predicted(figures: &TestFigures) -> Option<PredictedRate<'_>> {
    let PagePrediction { target, test, drawn, path } = figures.prediction.as_ref()?;
    Some(PredictedRate { target, test, rate: rate(figures), drawn, path: path.as_ref() })
}

/// Returns whether no difference is shown. Without an interval, only rates within 3% are level.
fn is_level(estimate: RatioEstimate) -> bool {
    match estimate.verdict() {
        RatioVerdict::Same => true,
        RatioVerdict::Higher | RatioVerdict::Lower => false,
        RatioVerdict::NotShown => {
            let ratio = estimate.ratio();
            estimate.interval_80().is_some() || ratio.max(1.0 / ratio) < SAME_WITHIN
        }
    }
}

/// Returns a ratio with its interval, such as `1.2 (0.81 to 1.7)`.
fn times_text(estimate: RatioEstimate) -> String {
    format!("{}{}", times(estimate.ratio()), interval_text(estimate))
}

/// Returns the interval of a ratio in parentheses, after a space; nothing if the interval is not known.
fn interval_text(estimate: RatioEstimate) -> String {
    estimate
        .interval_80()
        .map_or(String::new(), |(low, high)| format!(" ({} to {})", times(low), times(high)))
}

/// Returns the hop at which the slower system spends the most additional time.
fn slowest_hop<'f>(slow: &'f TestFigures, fast: &TestFigures) -> Option<&'f HopFigures> {
    let time_at_hop =
        |hop: &HopFigures| fast.hops.iter().find(|other| other.id == hop.id).map_or(0.0, time);
    busiest_hop(slow).or_else(|| {
        let excess = |hop: &&HopFigures| time(hop) - time_at_hop(hop);
        slow.hops
            .iter()
            .filter(|hop| excess(hop) > 0.0)
            .max_by(|one, other| excess(one).total_cmp(&excess(other)))
    })
}

/// Returns the mean duration of a flush of `slow`, if it exceeds a flush of `fast` by more than a request takes at any
/// hop.
fn slowest_flush(slow: &TestFigures, fast: &TestFigures) -> Option<String> {
    let flush = slow.flush_mean_us.filter(|_| busiest_hop(slow).is_none())?;
    let excess = flush - fast.flush_mean_us.unwrap_or_default();
    slow.hops.iter().all(|hop| time(hop) < excess).then(|| latency(flush))
}

/// Returns the name of a hop, with a note if its speed is assumed.
fn hop_phrase(hop: &HopFigures, figures: &TestFigures) -> String {
    let is_assumed =
        figures.limit.as_ref().is_some_and(|limit| limit.is_assumed && limit.id == hop.id);
    if is_assumed { format!("{}, whose speed is assumed,", hop.name) } else { hop.name.clone() }
}

/// Returns the name of a hop with its verb, such as `PCIe 3.0 x4 limits` or `flash dies limit`.
fn limits_phrase(hop: &HopFigures, figures: &TestFigures) -> String {
    let is_rate = ["us", "/s"].iter().any(|end| hop.name.ends_with(end));
    let verb = match hop.name.as_str() {
        name if name.ends_with("limits") => "constrain",
        name if name.ends_with('s') && !is_rate => "limit",
        _ => "limits",
    };
    format!("{} {verb}", hop_phrase(hop, figures))
}

/// Returns the hop that is busy nearly all the time.
fn busiest_hop(figures: &TestFigures) -> Option<&HopFigures> {
    let most =
        figures.hops.iter().max_by(|one, other| one.utilisation.total_cmp(&other.utilisation));
    most.filter(|hop| hop.utilisation >= BUSY)
}

fn longest(figures: &TestFigures) -> Option<&HopFigures> {
    figures.hops.iter().max_by(|one, other| time(one).total_cmp(&time(other)))
}

fn time(hop: &HopFigures) -> f64 {
    hop.wait_us + hop.service_us
}

fn caution(systems: &[(String, &TestFigures)]) -> Option<String> {
    let mut cautions = Vec::new();
    // Systems with the same assumed value share one sentence.
    let mut assumed: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, figures) in systems {
        let limit = figures.limit.as_ref().filter(|limit| limit.is_assumed);
        let Some(value) = limit.and_then(|limit| limit.value.as_deref()) else { continue };
        match assumed.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(name),
            None => assumed.push((value, vec![name])),
        }
    }
    cautions.extend(assumed.into_iter().map(|(value, names)| match systems.len() {
        1 => format!("That limit is assumed: {value}."),
        _ => format!("The limit of {} is assumed: {value}.", joined(&names)),
    }));
    if systems.iter().any(|(_, figures)| figures.failed > 0) {
        cautions.push("Failed requests are not included in any rate.".to_owned());
    }
    (!cautions.is_empty()).then(|| cautions.join(" "))
}

/// Formats a ratio, such as `0.0020`, `1.04`, `2.30` or `14`.
fn times(ratio: f64) -> String {
    match ratio {
        ratio if ratio > 0.0 && ratio < 0.0995 => {
            let digits = (1.0 - ratio.log10().floor()).min(12.0) as usize;
            format!("{ratio:.digits$}")
        }
        ratio if ratio < 9.95 => format!("{ratio:.2}"),
        ratio => significant(ratio.round()).trim_end_matches(".0").to_owned(),
    }
}

fn joined(names: &[&str]) -> String {
    joined_texts(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
}

fn joined_texts(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns the text with an upper-case first letter.
pub(crate) fn upper(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    first + letters.as_str()
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

fn latency(us: f64) -> String {
    latency_text(us * 1e3)
}

#[cfg(test)]
mod tests;
