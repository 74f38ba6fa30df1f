//! A trial is a program that runs on several served systems in turn. This file writes the answer, a table of the
//! systems, and the power cuts.
//!
//! Times are the program's times, in which the part that a time scale stretched is converted back. A ratio pairs the
//! turns of two systems in the order in which they ran. A system is not ranked if it delivered its answers too late, or
//! if this machine failed some of its requests.

use lanemark_schema::result::{
    LiveDelivery, PairedRatio, PowerCut, PowerCutOutcome, PowerCutResults, RequestErrors,
    RunResult, Sample, Statistic,
};
use lanemark_schema::workload::AverageMethod;

use crate::Style;
use crate::credits;
use crate::number::{fixed, grouped, or_absent, percent_whole, ratio, significant};
use crate::table::{Cell, CellEmphasis, Column, Table};
use crate::terminal::TerminalText;

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
    fn over(&self, other: &Self) -> Option<PairedRatio> {
        let pairs: Vec<(f64, f64)> = other.times().into_iter().zip(self.times()).collect();
        PairedRatio::from_pairs(&pairs)
    }
}

/// Returns the answer of a trial in one or two sentences; `None` if the runs are not a trial.
pub fn trial_answer(runs: &[&RunResult]) -> Option<String> {
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
    let factor = ratio(found.value);
    let turns = first.turns.len().min(other.turns.len());
    let Some((low, high)) = found.interval_95 else {
        return format!(
            "{} takes {factor} the time of {} in one turn, without an interval",
            other.name, first.name
        );
    };
    let interval = format!("95% interval {} to {} over {turns} turns", ratio(low), ratio(high));
    if found.is_shown() {
        format!("{} finishes {factor} sooner than {} ({interval})", first.name, other.name)
    } else {
        format!(
            "No difference between {} and {} is shown: the times differ by {factor} ({interval})",
            first.name, other.name
        )
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
pub fn trial_text(runs: &[&RunResult], cuts: &[PowerCutResults], style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    if let Some(answer) = trial_answer(runs) {
        sheet.answer(&answer);
        sheet.blank();
    }
    if let Some(table) = table(runs) {
        sheet.table(&table);
    }
    let systems: Vec<TrialResults<'_>> =
        runs.iter().filter_map(|run| TrialResults::from_run(run)).collect();
    let ends = systems.iter().filter_map(|system| Some((system.name, system.end_of_credits()?)));
    for (number, (name, end)) in ends.enumerate() {
        if number == 0 {
            sheet.blank();
        }
        sheet.paragraph(&format!("{name}: {end}"));
    }
    let scales = systems.iter().map(|system| system.time_scale());
    if let Some(scale) = scales.filter(|scale| *scale != 1.0).reduce(f64::max) {
        sheet.blank();
        sheet.minor_paragraph(&format!(
            "Served at time scale {}: simulated time passed more slowly by this factor, and the stated times are converted back.",
            significant(scale)
        ));
    }
    if !cuts.is_empty() {
        sheet.blank();
        cuts.iter().for_each(|system| sheet.paragraph(&cut_text(system)));
        for system in cuts {
            for text in system.cuts.iter().filter_map(|cut| outcome_text(&system.system, cut)) {
                sheet.item("- ", &text, CellEmphasis::Warning);
            }
        }
    }
    sheet.finish()
}

/// Describes the power cuts of a system.
fn cut_text(results: &PowerCutResults) -> String {
    let lost = match results.count(|cut| cut.outcome.is_lost()) {
        0 => None,
        count => Some(format!("ACKNOWLEDGED DATA WAS LOST in {count}")),
    };
    let unknown = match results.count(|cut| cut.outcome.is_unknown()) {
        0 => None,
        count => Some(format!("it is not known in {count} whether acknowledged data was lost")),
    };
    let kept = match results.count(|cut| cut.outcome == PowerCutOutcome::Kept) {
        0 => None,
        count if count == results.cuts.len() => Some("no acknowledged data was lost".to_owned()),
        count => Some(format!("no acknowledged data was lost in {count}")),
    };
    let outcomes: Vec<String> = [lost, unknown, kept].into_iter().flatten().collect();
    let late = match results.count(|cut| cut.finished_before) {
        0 => String::new(),
        count => format!(" {count} happened after the command had ended."),
    };
    format!(
        "{} power cuts on {}: {}. In {} of them the drive lost writes that no flush had stored.{late}",
        results.cuts.len(),
        results.system,
        outcomes.join("; "),
        results.count(|cut| cut.lost_writes)
    )
}

/// Describes a cut after which the data was not kept, or is not known to be kept.
fn outcome_text(system: &str, cut: &PowerCut) -> Option<String> {
    let found = match &cut.outcome {
        PowerCutOutcome::Kept => return None,
        PowerCutOutcome::Lost { output } => format!("the check reports a loss: {output}"),
        PowerCutOutcome::Unknown { cause } => format!("the outcome is not known: {cause}"),
    };
    let after = time_text(cut.after_s);
    Some(format!("{system}, cut {}, after {after}: {}", cut.cut, found.replace('\n', "; ")))
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
            Cell::plain(or_absent(against.map(|found| found.value), ratio)),
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
