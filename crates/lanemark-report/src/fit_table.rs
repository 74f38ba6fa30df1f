//! The model of a fitted drive: its values with their intervals, the values that the measurements leave undetermined,
//! and the residuals.

use lanemark_schema::result::{FigureKind, FittedDrive, FittedFigure, FittedParameter, Standing};

use crate::Style;
use crate::number::{ABSENT, LatencyUnit, fixed, percent, percent_signed, significant};
use crate::run_table::warnings;
use crate::table::{Cell, Column, Ink, Table};
use crate::terminal::Sheet;

/// Relative error above which a figure is marked.
const ERROR_DOUBTFUL: f64 = 0.10;

/// Writes the values of a fitted drive as a table, every figure next to the model's, the undetermined values, and the
/// warnings.
pub fn fit_table(fitted: &FittedDrive, style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    let FittedDrive { measured, platform, port, template, .. } = fitted;
    sheet.heading(&format!("{measured}, fitted in {port} of {platform}, like {template}"));
    sheet.blank();
    sheet.table(&values(fitted));
    for setting in &fitted.host {
        let (parameter, value) = (&setting.parameter, &setting.value);
        let reason = setting.reason.as_deref().unwrap_or("as measured");
        sheet.item("- ", &format!("{parameter} = {value}: {reason}"), Ink::Faint);
    }
    sheet.blank();
    sheet.heading("Measured, and predicted by the fitted model");
    sheet.blank();
    sheet.table(&figures(fitted));
    sheet.blank();
    sheet.paragraph(&errors(fitted));
    open(&mut sheet, fitted);
    let doubts: Vec<(String, &'static str)> =
        fitted.doubts.iter().map(|doubt| (doubt.to_string(), doubt.advice())).collect();
    warnings(&mut sheet, &doubts);
    sheet.finish()
}

fn values(fitted: &FittedDrive) -> Table {
    let mut table = Table::new(vec![
        Column::name("value"),
        Column::text("fitted"),
        Column::text("80% from"),
        Column::text("to"),
        Column::text("template").optional(2),
        Column::text("told").optional(1),
    ]);
    let absent = || ABSENT.to_owned();
    for parameter in &fitted.parameters {
        let FittedParameter { value, range_80, template, standing, .. } = parameter;
        let (low, high) = range_80.clone().unwrap_or_else(|| (absent(), absent()));
        let (ink, told) = match standing {
            Standing::Identified => (Ink::Strong, ""),
            Standing::Open { kept_template: true, .. } => (Ink::Faint, "no: template value"),
            Standing::Open { .. } => (Ink::Plain, "as a bound"),
        };
        let none = || "no limit".to_owned();
        table.push(vec![
            Cell::plain(&parameter.parameter),
            Cell::inked(value.clone().unwrap_or_else(none), ink),
            Cell::plain(low),
            Cell::plain(high),
            Cell::inked(template.clone().unwrap_or_else(none), Ink::Faint),
            Cell::inked(told, Ink::Faint),
        ]);
    }
    table
}

/// Builds a row for each test, and one more for the writes of a mixed test.
fn figures(fitted: &FittedDrive) -> Table {
    let means = [FigureKind::ReadMean, FigureKind::WriteMean];
    let latencies = fitted.figures.iter().filter(|figure| means.contains(&figure.kind));
    let unit = LatencyUnit::fitting(latencies.map(|figure| figure.measured));
    let mut table = Table::new(vec![
        Column::name("test"),
        Column::number("MB/s", "10^6 B/s"),
        Column::number("model", "10^6 B/s"),
        Column::number("error", ""),
        Column::number("IOPS", "1/s").optional(2),
        Column::number("model", "1/s").optional(2),
        Column::number("mean", unit.name()).optional(1),
        Column::number("model", unit.name()).optional(1),
        Column::number("error", "").optional(1),
        Column::number("p99 error", "").optional(3),
    ]);
    let mut tests: Vec<&str> = Vec::new();
    for figure in &fitted.figures {
        if !tests.contains(&figure.test.as_str()) {
            tests.push(&figure.test);
        }
    }
    for test in tests {
        let of = |kind| fitted.figures.iter().find(|one| one.test == test && one.kind == kind);
        let directions = [
            (FigureKind::ReadMean, FigureKind::ReadTail),
            (FigureKind::WriteMean, FigureKind::WriteTail),
        ];
        let there = directions.into_iter().filter(|(mean, _)| of(*mean).is_some());
        for (row, (mean, tail)) in there.enumerate() {
            let rate = if row == 0 { of(FigureKind::Throughput) } else { None };
            let name = if row == 0 { test.to_owned() } else { format!("{test}, its writes") };
            let mut cells = vec![Cell::plain(name)];
            cells.extend(pair(rate, |rate| significant(rate / 1e6)));
            cells.push(error(rate));
            let request = rate.map_or(1.0, |rate| rate.request_bytes);
            cells.extend(pair(rate, |rate| fixed(rate / request, 0)));
            cells.extend(pair(of(mean), |ns| significant(unit.of(ns))));
            cells.push(error(of(mean)));
            cells.push(error(of(tail)));
            table.push(cells);
        }
    }
    table
}

fn pair(figure: Option<&FittedFigure>, text: impl Fn(f64) -> String) -> [Cell; 2] {
    match figure {
        Some(figure) => [figure.measured, figure.modelled].map(|value| Cell::plain(text(value))),
        None => [ABSENT, ABSENT].map(Cell::plain),
    }
}

fn error(figure: Option<&FittedFigure>) -> Cell {
    match figure {
        Some(figure) if figure.error().abs() > ERROR_DOUBTFUL => {
            Cell::inked(percent_signed(figure.error()), Ink::Doubt)
        }
        Some(figure) => Cell::plain(percent_signed(figure.error())),
        None => Cell::plain(ABSENT),
    }
}

fn errors(fitted: &FittedDrive) -> String {
    let errors = fitted.errors();
    let (Some(middle), Some(most)) = (errors.get(errors.len() / 2), errors.last()) else {
        return "No figure is left to compare the model with.".to_owned();
    };
    format!(
        "The throughput error is at most {} in half of the {} tests, and at most {} in all. {} short simulations.",
        percent(*middle),
        errors.len(),
        percent(*most),
        fitted.simulations,
    )
}

/// Writes the undetermined values, with the measurements that would determine them.
fn open(sheet: &mut Sheet, fitted: &FittedDrive) {
    sheet.blank();
    sheet.heading("Not determined by these measurements");
    for parameter in &fitted.parameters {
        let Standing::Open { kept_template, with, needs } = &parameter.standing else { continue };
        let value = parameter.value.as_deref().unwrap_or("no limit");
        let kept = if *kept_template { "the template's" } else { "the closest value that fits" };
        let goes = with.as_ref().map(|with| format!(", tied to {with}")).unwrap_or_default();
        let name = &parameter.parameter;
        sheet.item(
            "- ",
            &format!("{name}: {value} is {kept}{goes}. It requires {needs}."),
            Ink::Plain,
        );
    }
    for unseen in &fitted.unseen {
        sheet.item("- ", &format!("{}: {}.", unseen.parameter, unseen.needs), Ink::Faint);
    }
}
