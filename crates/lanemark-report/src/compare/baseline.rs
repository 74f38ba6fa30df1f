//! Compares a new result with earlier results of the same work on the same target.
//!
//! Each earlier result counts as one value, so the interval of a ratio includes the differences between runs, which the
//! repeats of one run do not show. A single earlier result is compared by the repeats of both runs.

use lanemark_schema::result::{
    ComparedFigure, ComparedRun, ComparedRuns, FigureMetric, RatioEstimate, RatioVerdict,
    RunResult, SCHEMA_VERSION,
};

use super::answer::clauses;
use super::pair::{RunPair, figure};
use crate::terminal::{Style, TerminalText};
use crate::text::number::{ABSENT, has_latency, percent_signed, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};
use crate::text::verdict::{NOT_SHOWN, SAME, interval_of_change};

/// The compared metrics.
const METRICS: [FigureMetric; 2] = [FigureMetric::Throughput, FigureMetric::Latency];

/// Compares the run `new`, given with the name of its file, with the `earlier` results in `folder`.
pub fn compare_baseline(
    folder: &str,
    earlier: &[RunResult],
    new: (&str, &RunResult),
) -> ComparedRuns {
    let run = new.1;
    let mut figures = Vec::new();
    for metric in METRICS {
        let known =
            run.tests.iter().filter(|test| metric != FigureMetric::Latency || has_latency(test));
        for test in known {
            let name = &test.test.name;
            let value = |run: &RunResult| Some(figure(metric, run.test(name)?)?.value);
            let values: Vec<f64> = earlier.iter().filter_map(value).collect();
            let Some(b) = value(run) else { continue };
            let ratio = match earlier {
                [only] => only.test(name).and_then(|earlier| {
                    RunPair::new(only, run).figures(metric, earlier, test).ratio
                }),
                _ => RatioEstimate::of_new_value(&values, b),
            };
            let Some(ratio) = ratio else { continue };
            figures.push(ComparedFigure {
                test: name.clone(),
                metric,
                unit: metric.unit().to_owned(),
                a: b / ratio.ratio(),
                b,
                ratio,
            });
        }
    }
    let target = run.target_name();
    let name = match earlier.len() {
        0 => "no earlier result".to_owned(),
        1 => "1 earlier result".to_owned(),
        count => format!("{count} earlier results"),
    };
    let rates = figures.iter().filter(|figure| figure.metric == FigureMetric::Throughput);
    let pairs: Vec<(&str, RatioEstimate)> =
        rates.map(|figure| (figure.test.as_str(), figure.ratio)).collect();
    let answer = if pairs.is_empty() {
        format!("{folder} contains no earlier result of {target} with these tests.")
    } else {
        format!("{}.", clauses(&name, new.0, &pairs).join("; "))
    };
    ComparedRuns {
        schema_version: SCHEMA_VERSION,
        answer,
        a: ComparedRun { file: folder.to_owned(), name },
        b: ComparedRun { file: new.0.to_owned(), name: target },
        figures,
        only_in_a: Vec::new(),
        only_in_b: Vec::new(),
    }
}

/// Writes the answer and a table of all figures of [`compare_baseline`].
pub fn baseline_text(compared: &ComparedRuns, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.answer(&compared.answer);
    let mut table = Table::new(vec![
        Column::name("test"),
        Column::number("earlier", ""),
        Column::number("new", ""),
        Column::text("unit"),
        Column::number("change", ""),
        Column::text("its 80% interval"),
        Column::text("verdict"),
    ]);
    for figure in &compared.figures {
        let is_rate = figure.metric == FigureMetric::Throughput;
        let verdict = match (figure.ratio.verdict(), is_rate) {
            (RatioVerdict::Higher, true) => "faster",
            (RatioVerdict::Lower, true) => "slower",
            (RatioVerdict::Higher, false) => "longer",
            (RatioVerdict::Lower, false) => "shorter",
            (RatioVerdict::Same, _) => SAME,
            (RatioVerdict::NotShown, _) => NOT_SHOWN,
        };
        table.push(vec![
            Cell::plain(&figure.test),
            Cell::plain(significant(figure.a)),
            Cell::strong(significant(figure.b)),
            Cell::inked(figure.unit.clone(), CellEmphasis::Faint),
            Cell::strong(percent_signed(figure.ratio.ratio() - 1.0)),
            Cell::plain(interval_of_change(figure.ratio).unwrap_or_else(|| ABSENT.to_owned())),
            Cell::plain(verdict),
        ]);
    }
    if !compared.figures.is_empty() {
        sheet.table(&table);
    }
    sheet.finish()
}
