//! A trial is a program that runs on several served systems in turn. This file writes the answer, a table of the
//! systems, and the power cuts.
//!
//! Times are the program's times, in which the part that a time scale stretched is converted back. A ratio pairs the
//! turns of two systems in the order in which they ran. A system is not ranked if it delivered its answers too late, or
//! if this machine failed some of its requests.

use lanemark_schema::result::{
    LiveDelivery, PowerCut, PowerCutOutcome, RatioEstimate, RatioVerdict, RequestErrors, RunResult,
    Sample, Statistic,
};
use lanemark_schema::workload::{AverageMethod, FaultKind};

use super::credits;
use crate::terminal::{Style, TerminalText};
use crate::text::number::{fixed, grouped, or_absent, percent_whole, ratio, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};
use crate::text::verdict::ratio_with_interval;

/// The name under which the time for flushes is listed.
const FLUSHES: &str = "flushes";

struct TrialResults<'r> {
    name: &'r str,
    turns: Vec<(&'r Sample, &'r LiveDelivery)>,
}

impl<'r> TrialResults<'r> {
    /// Returns the system of a run; `None` if the run does not belong to a trial.
    fn from_run(run: &'r RunResult) -> Option<Self> {
        let samples = run.tests.iter().flat_map(|test| &test.samples);
        let turns: Vec<_> = samples
            .filter_map(|sample| {
                let live = sample.live.as_ref()?;
                live.program.is_some().then_some((sample, live))
            })
            .collect();
        let name = turns.first()?.1.program.as_ref()?.system.as_str();
        Some(Self { name, turns })
    }

    fn times(&self) -> Vec<f64> {
        self.turns.iter().filter_map(|(_, live)| live.program_s()).collect()
    }

    fn time(&self) -> Statistic {
        Statistic::from_values(&self.times(), AverageMethod::Mean)
    }

    /// Returns whether all answers were delivered in time.
    fn is_in_time(&self) -> bool {
        self.turns.iter().all(|(sample, _)| sample.is_served_in_time())
    }

    /// Returns the requests of all turns that this machine answered with an error.
    fn host_errors(&self) -> RequestErrors {
        let mut errors = RequestErrors::default();
        for turn_errors in self.turns.iter().filter_map(|(sample, _)| sample.host_errors()) {
            errors.merge(turn_errors);
        }
        errors
    }

    fn time_scale(&self) -> f64 {
        self.turns.first().map_or(1.0, |(_, live)| live.time_scale)
    }

    /// Returns the mean of a value over all turns; `None` if a turn does not have the value.
    fn mean(&self, of: impl Fn(&Sample, &LiveDelivery) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> =
            self.turns.iter().map(|(sample, live)| of(sample, live)).collect();
        values.filter(|values| !values.is_empty()).map(|values| {
            let count = values.len() as f64;
            values.into_iter().sum::<f64>() / count
        })
    }

    /// Returns the share of the program's time during which it waits for the system.
    fn waiting_share(&self) -> Option<f64> {
        self.mean(|_, live| live.waiting_share())
    }

    /// Returns the part of the path that accounts for most of the requests' time, and its share: a hop, or the flushes.
    fn largest_part(&self) -> Option<(String, f64)> {
        let (sample, _) = self.turns.first()?;
        let of_flushes = sample.flushes.as_ref().map_or(0.0, |direction| {
            direction.latency.mean_ns() * direction.latency.count() as f64
        });
        let requests = sample.operations() as f64;
        let hops = sample.path.iter().flat_map(|path| &path.hops);
        let mut parts: Vec<(&str, f64)> = hops
            .map(|hop| (hop.name.as_str(), (hop.wait_ns + hop.service_ns) * requests))
            .collect();
        parts.push((FLUSHES, of_flushes));
        let whole: f64 = parts.iter().map(|(_, time)| time).sum();
        let (name, time) =
            parts.into_iter().max_by(|direction, other| direction.1.total_cmp(&other.1))?;
        (whole > 0.0).then(|| (name.to_owned(), time / whole))
    }

    /// States when the burst credits run out at the load of the first turn, if the system has credits.
    fn end_of_credits(&self) -> Option<String> {
        credits::of_load(&self.turns.first()?.0.credits)
    }

    /// Returns the ratio of this system's time to the other system's time.
    fn over(&self, other: &Self) -> Option<RatioEstimate> {
        let pairs: Vec<(f64, f64)> = other.times().into_iter().zip(self.times()).collect();
        RatioEstimate::of_pairs(&pairs)
    }
}

/// Returns the answer of a trial in a few sentences, which begins with the verdict about the data after power cuts;
/// `None` if the runs are not a trial.
pub fn trial_answer(runs: &[&RunResult]) -> Option<String> {
    let time = time_answer(runs)?;
    let verdicts =
        runs.iter().filter_map(|run| power_cut_verdict(TrialResults::from_run(run)?.name, run));
    let mut sentences: Vec<String> = verdicts.collect();
    sentences.push(time);
    Some(sentences.join(" "))
}

/// Returns the comparison of the times of all systems.
fn time_answer(runs: &[&RunResult]) -> Option<String> {
    let systems: Option<Vec<TrialResults<'_>>> =
        runs.iter().map(|run| TrialResults::from_run(run)).collect();
    let mut systems = systems.filter(|systems| !systems.is_empty())?;
    if let Some(failed) = systems.iter().find(|system| !system.host_errors().is_empty()) {
        let name = failed.name;
        let errors = failed.host_errors();
        let unknown = match systems.as_slice() {
            [_] => format!("The command's time on {name} is not known"),
            _ => "The systems cannot be ranked".to_owned(),
        };
        return Some(format!(
            "{unknown}: this machine failed requests to {name} that the drive completed: {errors}. Check its free space and its log."
        ));
    }
    let invalid: Vec<&str> =
        systems.iter().filter(|system| !system.is_in_time()).map(|system| system.name).collect();
    if let ([only], [_]) = (systems.as_slice(), invalid.as_slice()) {
        return Some(format!(
            "The command's time on {} is not known: this machine was too slow. Use a larger --time-scale.",
            only.name
        ));
    }
    if !invalid.is_empty() {
        return Some(format!(
            "The systems cannot be ranked: this machine was too slow for {}. Use a larger --time-scale.",
            invalid.join(" and ")
        ));
    }
    let waits = |trial_system: &TrialResults<'_>| {
        describe_wait(trial_system).map_or(String::new(), |text| format!(" {text}"))
    };
    if let [only] = systems.as_slice() {
        let time = time_text(only.time().value);
        return Some(format!("The command takes {time} on {}.{}", only.name, waits(only)));
    }
    systems.sort_by(|one, other| one.time().value.total_cmp(&other.time().value));
    let (first, others) = systems.split_first()?;
    let parts: Vec<String> = others.iter().map(|other| comparison_text(first, other)).collect();
    let last = others.last()?;
    Some(format!("{}.{}", parts.join("; "), waits(last)))
}

/// Compares the faster system with another one.
fn comparison_text(first: &TrialResults<'_>, other: &TrialResults<'_>) -> String {
    let Some(found) = other.over(first) else {
        return format!("{} and {} cannot be compared", first.name, other.name);
    };
    let turns = first.turns.len().min(other.turns.len());
    let turns = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
    let factor = ratio_with_interval(found);
    match (found.verdict(), found.interval_80()) {
        (RatioVerdict::Higher | RatioVerdict::Lower, _) => {
            format!("{} finishes {factor} sooner than {} ({turns})", first.name, other.name)
        }
        (RatioVerdict::Same, _) => {
            format!("{} and {} take the same time within 3% ({turns})", first.name, other.name)
        }
        (RatioVerdict::NotShown, Some(_)) => format!(
            "No difference between {} and {} is shown: the times differ by {factor} ({turns})",
            first.name, other.name
        ),
        (RatioVerdict::NotShown, None) => format!(
            "{} takes {factor} the time of {} in one turn, without an interval",
            other.name, first.name
        ),
    }
}

/// Returns a sentence such as `On drive@platform:port the command waits for the drive 71% of its time`.
fn describe_wait(system: &TrialResults<'_>) -> Option<String> {
    let share = percent_whole(system.waiting_share()?);
    let (part, of_it) = system.largest_part()?;
    Some(format!(
        "On {} the command waits for the drive {share} of its time; {} of the wait is for {part}.",
        system.name,
        percent_whole(of_it)
    ))
}

/// Writes the answer, a table of the systems, and the effects of the power cuts.
pub fn trial_text(runs: &[&RunResult], style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    if let Some(answer) = trial_answer(runs) {
        sheet.answer(&answer);
        sheet.blank();
    }
    if let Some(table) = table(runs) {
        sheet.table(&table);
    }
    for sentence in notes(runs) {
        sheet.blank();
        sheet.minor_paragraph(&sentence);
    }
    let cuts: Vec<String> = runs.iter().flat_map(|run| cut_texts(run)).collect();
    if !cuts.is_empty() {
        sheet.blank();
    }
    cuts.iter().for_each(|text| sheet.item("- ", text, CellEmphasis::Warning));
    sheet.finish()
}

/// Returns the ends of burst credits and the time scales of all systems.
pub(crate) fn notes(runs: &[&RunResult]) -> Vec<String> {
    let systems: Vec<TrialResults<'_>> =
        runs.iter().filter_map(|run| TrialResults::from_run(run)).collect();
    let ends = systems.iter().filter_map(|system| Some((system.name, system.end_of_credits()?)));
    let mut notes: Vec<String> = ends.map(|(name, end)| format!("{name}: {end}")).collect();
    let scaled = systems.iter().filter(|system| system.time_scale() != 1.0);
    let scaled: Vec<String> = scaled
        .map(|system| format!("{} at time scale {}", system.name, significant(system.time_scale())))
        .collect();
    if !scaled.is_empty() {
        notes.push(format!(
            "Served {}: simulated time passed more slowly by this factor, and the stated times are converted back.",
            scaled.join(", ")
        ));
    }
    notes
}

/// Returns the verdict about the data of the system `name` after its power cuts; `None` without power cuts.
pub fn power_cut_verdict(name: &str, run: &RunResult) -> Option<String> {
    let cuts = &run.power_cuts;
    let count =
        |is_counted: fn(&PowerCut) -> bool| cuts.iter().filter(|cut| is_counted(cut)).count();
    let all = count(|_| true);
    let lost = count(|cut| cut.outcome.is_lost());
    let unknown = count(|cut| cut.outcome.is_unknown());
    let cut_word = if all == 1 { "power cut" } else { "power cuts" };
    let mut text = match (lost, unknown) {
        _ if all == 0 => return None,
        (0, 0) => format!("No acknowledged data was lost in {all} {cut_word} on {name}."),
        (0, _) => format!(
            "It is not known in {unknown} of {all} {cut_word} on {name} whether acknowledged data was lost."
        ),
        (_, 0) => format!(
            "ACKNOWLEDGED DATA WAS LOST in {lost} of {all} {cut_word} on {name}{}.",
            loss_causes(run)
        ),
        (..) => format!(
            "ACKNOWLEDGED DATA WAS LOST in {lost} of {all} {cut_word} on {name}{}; it is not known for {unknown} more.",
            loss_causes(run)
        ),
    };
    let reverted = count(|cut| cut.lost_writes);
    if lost == 0 {
        text += &format!(" In {reverted} of them the drive lost writes that no flush had stored.");
    }
    match count(|cut| cut.finished_before) {
        0 => {}
        1 => text += " 1 happened after the command had ended.",
        late => text += &format!(" {late} happened after the command had ended."),
    }
    Some(text)
}

/// Returns the causes of the losses as a clause.
fn loss_causes(run: &RunResult) -> String {
    let lost = run.power_cuts.iter().filter(|cut| cut.outcome.is_lost());
    let mut causes: Vec<&str> = lost.map(|cut| loss_cause(run, cut)).collect();
    causes.sort_unstable();
    causes.dedup();
    format!(": {}", causes.join("; "))
}

/// Returns why a power cut lost acknowledged data.
fn loss_cause(run: &RunResult, cut: &PowerCut) -> &'static str {
    let lies = run.workload.faults.iter().any(|fault| fault.kind == FaultKind::LyingFlush);
    match (cut.lost_writes, lies) {
        (true, true) => "the drive had answered flushes without storing the data",
        (true, false) => "the drive lost writes that the command had not flushed",
        (false, _) => {
            "the drive lost nothing, so the command had not written the data to the drive"
        }
    }
}

/// Describes the cuts after which the data was not kept, or is not known to be kept.
pub(crate) fn cut_texts(run: &RunResult) -> Vec<String> {
    let Some(system) = TrialResults::from_run(run) else { return Vec::new() };
    let text = |cut: &PowerCut| {
        let outcome = match &cut.outcome {
            PowerCutOutcome::Kept => return None,
            PowerCutOutcome::Lost { output } => {
                format!("{}; the check reports: {output}", loss_cause(run, cut))
            }
            PowerCutOutcome::Unknown { cause } => format!("the outcome is not known: {cause}"),
        };
        let after = time_text(cut.after_s);
        Some(format!(
            "{}, cut {}, after {after}: {}",
            system.name,
            cut.cut,
            outcome.replace('\n', "; ")
        ))
    };
    run.power_cuts.iter().filter_map(text).collect()
}

/// Builds a table with a row per system; `None` if the runs are not a trial.
pub(crate) fn table(runs: &[&RunResult]) -> Option<Table> {
    let systems: Vec<TrialResults<'_>> =
        runs.iter().filter_map(|run| TrialResults::from_run(run)).collect();
    let first = systems.first()?;
    let mut table = Table::new(vec![
        Column::name("system"),
        Column::number("time", "s"),
        Column::text("95%").optional(4),
        Column::text("ratio"),
        Column::number("waiting", ""),
        Column::text("most of that for").optional(1),
        Column::number("CPU", "s").optional(5),
        Column::number("requests", "").optional(3),
        Column::number("flushes", "").optional(3),
        Column::number("queue", "").optional(6),
        Column::text("delivered").optional(2),
    ]);
    for system in &systems {
        let time = system.time();
        let interval = time
            .interval_95
            .map(|(low, high)| format!("{} to {}", significant(low), significant(high)));
        let against = system.over(first).filter(|_| systems.len() > 1);
        let part = system.largest_part();
        let count = |of: fn(&Sample) -> f64| {
            Cell::plain(or_absent(system.mean(|sample, _| Some(of(sample))), |value| {
                grouped(&fixed(value, 0))
            }))
        };
        let flushes =
            |sample: &Sample| sample.flushes.as_ref().map_or(0.0, |one| one.latency.count() as f64);
        let (delivery, ink) = if !system.host_errors().is_empty() {
            ("FAILED", CellEmphasis::Warning)
        } else if system.is_in_time() {
            ("in time", CellEmphasis::Faint)
        } else {
            ("TOO LATE", CellEmphasis::Warning)
        };
        table.push(vec![
            Cell::plain(system.name),
            Cell::strong(significant(time.value)),
            Cell::inked(interval.unwrap_or_default(), CellEmphasis::Faint),
            Cell::plain(or_absent(against.map(RatioEstimate::ratio), ratio)),
            Cell::plain(or_absent(system.waiting_share(), percent_whole)),
            Cell::plain(
                part.map_or(String::new(), |(name, share)| {
                    format!("{name} {}", percent_whole(share))
                }),
            ),
            Cell::plain(or_absent(
                system.mean(|_, live| Some(live.program.as_ref()?.processor_s)),
                significant,
            )),
            count(|sample| sample.operations() as f64),
            count(flushes),
            Cell::plain(or_absent(system.mean(queue_depth), significant)),
            Cell::inked(delivery, ink),
        ]);
    }
    Some(table.without_empty_columns())
}

/// Returns the mean number of requests at the drive while there are any (Little's law).
fn queue_depth(sample: &Sample, live: &LiveDelivery) -> Option<f64> {
    let directions = [&sample.reads, &sample.writes, &sample.flushes, &sample.trims];
    let time_s: f64 = directions
        .into_iter()
        .flatten()
        .map(|direction| direction.latency.mean_ns() * direction.latency.count() as f64 / 1e9)
        .sum();
    let busy_s = live.busy.as_seconds();
    (busy_s > 0.0).then(|| time_s / busy_s)
}

fn time_text(seconds: f64) -> String {
    format!("{} s", significant(seconds))
}
