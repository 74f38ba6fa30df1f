//! The comparison of another path with the present path.

mod contradiction;

use lanemark_schema::result::{RatioEstimate, RatioVerdict, WhatIf, WhatIfFigures, WhatIfTest};

use super::compare_table::shared_warnings;
use crate::blocks::budget::path_limit;
use crate::path::loss_sentence;
use crate::run::credits;
use crate::run::run_table::{wide_of, widest_of};
use crate::terminal::warnings::write_warnings;
use crate::terminal::{Style, TerminalText};
use crate::text::number::{
    ABSENT, LatencyUnit, fixed, grouped, interval_text, latency_text, percent_signed,
    percent_whole, significant,
};
use crate::text::table::{Cell, CellEmphasis, Column, Table};
use crate::text::target::merged_warnings;
use crate::text::verdict::{NOT_SHOWN, SAME, interval_of_change, is_shown, size_of_change};

/// Maximum number of tests whose latencies the answer states.
const TESTS_MAX: usize = 3;

/// Writes the answer as a sentence, then both systems by test, and the bottleneck of each system.
pub fn whatif_text(whatif: &WhatIf, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    let contradictions = contradiction::sentences(whatif);
    if let Some(sentences) = &contradictions {
        sheet.answer(sentences);
        if whatif.tests.is_empty() {
            return sheet.finish();
        }
    }
    sheet.answer(&format!("{}{}", answer(whatif), credit_ends(whatif)));
    if whatif.other == whatif.present {
        sheet.heading(&format!("{} with other values", whatif.other));
    } else {
        sheet.heading(&format!("{} instead of {}", whatif.other, whatif.present));
    }
    for changed in &whatif.changed {
        sheet.item("Changed: ", changed, CellEmphasis::Plain);
    }
    sheet.blank();
    let measured = whatif.measured.is_some();
    let mut columns = vec![Column::name("test")];
    if measured {
        columns.push(Column::number("measured", ""));
    }
    columns.extend([
        Column::number("model now", ""),
        Column::number("then", ""),
        Column::text("unit"),
        Column::number("change", ""),
        Column::text("its 80% interval"),
        Column::number("mean now", "µs").optional(1),
        Column::number("then", "µs").optional(1),
    ]);
    let mut table = Table::new(columns);
    for test in &whatif.tests {
        table.push(cells(test, measured));
    }
    sheet.table(&table);
    let described: Vec<&WhatIfTest> =
        whatif.tests.iter().filter(|test| is_described(whatif, test)).collect();
    if !described.is_empty() {
        sheet.blank();
    }
    for test in described {
        sheet.item("- ", &description(test), CellEmphasis::Plain);
    }
    let intervals = whatif.tests.iter().filter_map(|test| test.interval.as_ref());
    if let Some(wide) = wide_of(intervals) {
        sheet.blank();
        sheet.paragraph(&wide);
    }
    let tests: Vec<&str> = whatif.tests.iter().map(|test| test.test.as_str()).collect();
    let sides = whatif.warnings.each_ref().map(|side| merged_warnings(side.iter(), &tests));
    write_warnings(&mut sheet, &shared_warnings(sides, ["now", "then", "now and then"]));
    sheet.finish()
}

/// Returns whether the text describes a test: the only test, or a test that changes.
fn is_described(whatif: &WhatIf, test: &WhatIfTest) -> bool {
    whatif.tests.len() == 1 || is_shown(test.change)
}

/// Writes the evidence of a what-if: the tests that do not change, how a measured figure was transferred to the other
/// system, which value widens the intervals most, and which tests were shortened. Empty if there is nothing to state.
pub fn whatif_evidence(whatif: &WhatIf, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    let others = whatif.tests.iter().filter(|test| !is_described(whatif, test));
    let mut texts: Vec<String> = others.map(description).collect();
    if let Some(name) = &whatif.measured {
        let scaled = |test: &&WhatIfTest| test.carried.is_some();
        texts.push(match whatif.tests.iter().filter(scaled).count() {
            0 => format!("The limit of every test moves to a part that was not measured, so \"then\" is the model's figure and does not use the measured one ({name})."),
            _ => format!(
                "\"then\" is the model's figure, multiplied by the ratio of the measured figure \
                 ({name}) to the modelled figure now. This removes the error of the current \
                 system's model. The links of the other system limit the result. For five or more \
                 tests that differ only in depth and threads, this correction is a smooth mean. If \
                 the limit moves to a part of the path that did not limit any of these tests, \
                 \"then\" is the model's figure."
            ),
        });
    }
    texts.extend(widest_interval_note(whatif));
    let shortened = whatif.tests.iter().filter_map(|test| test.shortened_to);
    if let Some(most) = shortened.clone().max() {
        let count = shortened.count();
        let all = whatif.tests.len();
        texts.push(format!(
            "{count} of {all} tests were simulated in shortened form, with at most {most} counted requests."
        ));
    }
    if texts.is_empty() {
        return String::new();
    }
    texts.iter().for_each(|text| sheet.paragraph(text));
    sheet.finish()
}

/// Returns a sentence such as `samsung-850-pro-1tb in sata-3g instead of sata-6g: you lose 9% (RND4K Q1T1 read) to 50%
/// (SEQ1M Q8T1 read)`.
fn answer(whatif: &WhatIf) -> String {
    let pair = parties(whatif);
    if whatif.tests.is_empty() {
        return format!("{pair}: no test has ended.");
    }
    if let Some(nothing) = unchanged_note(whatif) {
        return format!("{pair}: {nothing}");
    }
    if let [test] = whatif.tests.as_slice() {
        let unit = if test.random { "IOPS" } else { "MB/s" };
        let rate = |outlook: &WhatIfFigures, scale: f64| {
            if test.random {
                grouped(&fixed(outlook.iops * scale, 0))
            } else {
                grouped(&significant(outlook.bytes_per_second * scale / 1e6))
            }
        };
        let scale = test.expected() / test.other.bytes_per_second;
        let now = rate(test.measured.as_ref().unwrap_or(&test.present), 1.0);
        let other_rate = rate(&test.other, scale);
        return format!(
            "{pair}: {} in {}, {other_rate} instead of {now} {unit}.",
            gain(test),
            test.test
        );
    }
    let tests_that_change = |wanted: RatioVerdict, verb: &str| {
        let relevant = whatif.tests.iter().filter(|test| test.change.verdict() == wanted);
        let mut relevant: Vec<&WhatIfTest> = relevant.collect();
        relevant.sort_by(|a, b| size(a).total_cmp(&size(b)));
        let change_of_test =
            |test: &WhatIfTest| format!("{} in {}", size_of_change(test.change), test.test);
        match relevant.as_slice() {
            [] => None,
            [only] => Some(format!("you {verb} {}", change_of_test(only))),
            [least, .., most] => {
                Some(format!("you {verb} {} to {}", change_of_test(least), change_of_test(most)))
            }
        }
    };
    let count =
        |of: fn(RatioEstimate) -> bool| whatif.tests.iter().filter(|test| of(test.change)).count();
    let tests =
        |count: usize| if count == 1 { "1 test".to_owned() } else { format!("{count} tests") };
    let same = count(|change| change.verdict() == RatioVerdict::Same);
    let not_shown = count(|change| {
        change.verdict() == RatioVerdict::NotShown && change.interval_80().is_some()
    });
    let parts = [
        tests_that_change(RatioVerdict::Higher, "gain"),
        tests_that_change(RatioVerdict::Lower, "lose"),
        (not_shown > 0).then(|| {
            format!("{NOT_SHOWN} in {} ({})", tests(not_shown), widest_of_not_shown(whatif))
        }),
        (same > 0).then(|| format!("{SAME} in {}", tests(same))),
        without_interval(whatif),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{pair}: {}.", parts.join("; "))
}

/// Describes the tests whose change does not have an interval, if there are any. Equal rates are a given load,
/// so that the latencies are the difference.
fn without_interval(whatif: &WhatIf) -> Option<String> {
    let is_unknown = |test: &&WhatIfTest| {
        test.change.verdict() == RatioVerdict::NotShown && test.change.interval_80().is_none()
    };
    let unknown: Vec<&WhatIfTest> = whatif.tests.iter().filter(is_unknown).collect();
    let is_served =
        unknown.iter().all(|test| size(test) < 0.005 && test.other.latency_mean_ns > 0.0);
    match unknown.as_slice() {
        [] => None,
        [..] if is_served && unknown.len() <= TESTS_MAX => {
            let times = unknown.iter().map(|test| {
                let [now, then] = [&test.present, &test.other]
                    .map(|outlook| latency_text(outlook.latency_mean_ns));
                format!("{then} instead of {now} in {}", test.test)
            });
            let times = times.collect::<Vec<_>>().join(" and ");
            Some(format!("equal rates; a request takes {times} (interval not known)"))
        }
        [_] => Some("the interval is not known in 1 test".to_owned()),
        tests => Some(format!("the interval is not known in {} tests", tests.len())),
    }
}

/// Returns the range that contains the intervals of all changes without a shown difference.
fn widest_of_not_shown(whatif: &WhatIf) -> String {
    let changes = whatif.tests.iter().map(|test| test.change);
    let ends = changes.filter(|change| change.verdict() == RatioVerdict::NotShown);
    let ends = ends.filter_map(RatioEstimate::interval_80);
    let range = ends.reduce(|one, two| (one.0.min(two.0), one.1.max(two.1)));
    range.map_or(String::new(), |(low, high)| {
        format!("{} to {}", percent_signed(low - 1.0), percent_signed(high - 1.0))
    })
}

/// Returns the size of a change, for sorting.
fn size(test: &WhatIfTest) -> f64 {
    (test.change.ratio() - 1.0).abs()
}

/// Names both systems by the parts in which they differ, as in `DRIVE in m2 instead of sata` or `DRIVE instead of
/// DRIVE`.
fn parties(whatif: &WhatIf) -> String {
    let WhatIf { present, other, .. } = whatif;
    if other == present {
        return format!("{other} with other values");
    }
    // The name of the system is followed by a queue depth.
    if other.strip_prefix(present.as_str()).is_some_and(|rest| rest.starts_with(' ')) {
        return other.clone();
    }
    let parts = |system: &'_ str| -> Option<(String, String, String)> {
        let (drive, rest) = system.split_once('@')?;
        let (platform, port) = rest.split_once(':')?;
        Some((drive.to_owned(), platform.to_owned(), port.to_owned()))
    };
    match (parts(other), parts(present)) {
        (Some(new), Some(old)) if new.0 == old.0 && new.1 == old.1 => {
            format!("{} in {} instead of {}", new.0, new.2, old.2)
        }
        (Some(new), Some(old)) if new.1 == old.1 => {
            format!("{} in {} instead of {} in {}", new.0, new.2, old.0, old.2)
        }
        _ => format!("{other} instead of {present}"),
    }
}

/// Returns the answer if nothing changes: both systems are identical, or the throughput is the same in every test and
/// no change of throughput or mean latency is large enough to be shown.
fn unchanged_note(whatif: &WhatIf) -> Option<&'static str> {
    if whatif.tests.iter().all(|test| test.change == RatioEstimate::Identical) {
        return Some("nothing changes, because both are the same system with the same values.");
    }
    let is_same = |test: &WhatIfTest| {
        let waits = test.other.latency_mean_ns / test.present.latency_mean_ns - 1.0;
        test.change.verdict() == RatioVerdict::Same
            && [size(test), waits.abs()].iter().all(|change| percent_whole(*change) == "0%")
    };
    let is_unchanged = whatif.tests.iter().all(is_same);
    is_unchanged.then_some("nothing changes; no test gains or loses as much as 0.5%.")
}

fn cells(test: &WhatIfTest, measured: bool) -> Vec<Cell> {
    let rate =
        |bytes: f64, iops: f64| if test.random { fixed(iops, 0) } else { significant(bytes / 1e6) };
    let rate_of = |outlook: &WhatIfFigures| rate(outlook.bytes_per_second, outlook.iops);
    let us = |outlook: &WhatIfFigures| significant(outlook.latency_mean_ns / 1e3);
    let mut cells = vec![Cell::plain(&test.test)];
    if measured {
        let measured_text = test.measured.as_ref().map(rate_of);
        cells.push(Cell::plain(measured_text.unwrap_or_else(|| ABSENT.to_owned())));
    }
    let expected = test.expected();
    // Requests have the same size on both systems, so the request rate is proportional to the data rate.
    let requests = test.other.iops * expected / test.other.bytes_per_second;
    cells.extend([
        Cell::plain(rate_of(&test.present)),
        Cell::strong(rate(expected, requests)),
        Cell::inked(if test.random { "IOPS" } else { "MB/s" }, CellEmphasis::Faint),
        Cell::strong(percent_signed(test.change.ratio() - 1.0)),
        Cell::inked(
            interval_of_change(test.change).unwrap_or_else(|| ABSENT.to_owned()),
            CellEmphasis::Faint,
        ),
        Cell::plain(us(&test.present)),
        Cell::plain(us(&test.other)),
    ]);
    cells
}

/// Returns `you lose 41% (30 to 52%)` or what else the interval of the change shows.
fn gain(test: &WhatIfTest) -> String {
    let change = test.change;
    match (change.verdict(), change.interval_80()) {
        (RatioVerdict::Higher, _) => format!("you gain {}", size_of_change(change)),
        (RatioVerdict::Lower, _) => format!("you lose {}", size_of_change(change)),
        (RatioVerdict::Same, _) => SAME.to_owned(),
        (RatioVerdict::NotShown, Some(_)) => {
            format!("{NOT_SHOWN} ({})", interval_of_change(change).unwrap_or_default())
        }
        (RatioVerdict::NotShown, None) => {
            format!("{} without a known interval", percent_signed(change.ratio() - 1.0))
        }
    }
}

/// Returns a text such as `SEQ1M Q8T1 read: you lose 41%. Now … Then … You lose 41% to DMI 3.0, which 2 drives share:
/// …`.
fn description(test: &WhatIfTest) -> String {
    let answer = gain(test);
    let mut text = format!("{}: {answer}.", test.test);
    if let Some(assumed) = &test.other.assumed {
        text += &format!(" It is then {assumed}; {}.", assumed.advice());
    }
    for (when, outlook) in [("Now", &test.present), ("Then", &test.other)] {
        let limit = outlook.path.as_ref().and_then(path_limit);
        let limit = limit.unwrap_or_else(|| "its hops are not known".to_owned());
        text += &format!(" {when}: {limit}.");
        text += &credits::of_load(&outlook.credits).map_or(String::new(), |end| format!(" {end}"));
    }
    text += &expected_interval(test).map_or(String::new(), |sentence| format!(" {sentence}"));
    if let Some(loss) = test.other.path.as_ref().and_then(|path| path.loss.as_ref()) {
        text += &format!(" {}", loss_sentence(loss, test.random));
    }
    text + &tail_note(test).map_or(String::new(), |sentence| format!(" {sentence}"))
}

/// States the 80% interval of the other system's throughput, as in `Then 825–3,300 IOPS in 80%`.
fn expected_interval(test: &WhatIfTest) -> Option<String> {
    let interval = test.interval.as_ref()?;
    let expected = test.expected();
    // Requests have the same size on both systems, so the request rate is proportional to the data rate.
    let requests = test.other.iops * expected / test.other.bytes_per_second;
    let text = |ratio: f64| {
        if test.random {
            grouped(&fixed(requests * ratio, 0))
        } else {
            grouped(&significant(expected * ratio / 1e6))
        }
    };
    let unit = if test.random { "IOPS" } else { "MB/s" };
    let ends = interval_text(interval.low_ratio, interval.high_ratio, text);
    Some(format!("The 80% interval of the rate is {ends} {unit}."))
}

/// States the latency percentiles that have intervals, as in `Latency then: p99 95.0 µs (80% in 80.1–130) instead of
/// 101`.
fn tail_note(test: &WhatIfTest) -> Option<String> {
    type PercentileOf = fn(&WhatIfFigures) -> Option<f64>;
    let percentiles: [(f64, &str, PercentileOf); 2] = [
        (99.0, "p99", |figures| figures.latency_p99_ns),
        (99.9, "p99.9", |figures| figures.latency_p999_ns),
    ];
    let percentile_phrase = |(percentile, name, of): (f64, &str, PercentileOf)| {
        let interval = test.interval.as_ref()?.percentile(percentile)?;
        let now = of(&test.present)?;
        let then = of(&test.other)?;
        let [low, high] = [interval.low_ratio, interval.high_ratio].map(|ratio| ratio * then);
        let unit = LatencyUnit::fitting([now, then].into_iter());
        let text = |ns: f64| grouped(&significant(unit.convert(ns)));
        let ends = interval_text(low, high, text);
        let unit = unit.name();
        Some(format!("{name} {} {unit} (80% in {ends}) instead of {}", text(then), text(now)))
    };
    let parts: Vec<String> = percentiles.into_iter().filter_map(percentile_phrase).collect();
    (!parts.is_empty()).then(|| format!("Latency then: {}.", parts.join("; ")))
}

/// States for both systems when the first burst credits run out, if a volume has credits that run out.
fn credit_ends(whatif: &WhatIf) -> String {
    type Side = fn(&WhatIfTest) -> &WhatIfFigures;
    let sides: [(&str, Side); 2] = [("Now", |test| &test.present), ("Then", |test| &test.other)];
    let end = |(when, of): (&str, Side)| {
        let loads =
            whatif.tests.iter().map(|test| (test.test.as_str(), of(test).credits.as_slice()));
        let sentence = credits::of_loads(&loads.collect::<Vec<_>>())?;
        Some(format!(" {when}: {sentence}"))
    };
    sides.into_iter().filter_map(end).collect()
}

/// Names the value that widens the intervals most.
fn widest_interval_note(whatif: &WhatIf) -> Option<String> {
    widest_of(whatif.tests.iter().filter_map(|test| test.interval.as_ref()))
}

#[cfg(test)]
mod tests;
