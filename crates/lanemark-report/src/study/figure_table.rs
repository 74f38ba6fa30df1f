//! The figures of a study: the simulated and published value of each test and system, and the error.
//!
//! There is one table per metric, so each column has one unit. Calibrated figures are faint and their errors are in
//! parentheses, because they are no evidence. A simulated test without a published figure also has a row. A local
//! measurement ran on other hardware, so its error is not shown.

use lanemark_schema::result::{
    BoundKind, FigureCheck, FigureMetric, FigureRole, PublishedFigure, RunResult, Statistic,
    StudyOutcome,
};

use super::calibration::system_label;
use super::error_summary::role_name;
use crate::text::number::{
    ABSENT, ERROR_LARGE, interval_text, known_value, or_absent, percent_signed, published,
    significant, spread,
};
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// A row of the table: a test of a system, and its published figure.
pub(crate) struct FigureRow<'a> {
    pub(crate) test: &'a str,
    pub(crate) system: &'a str,
    pub(crate) simulated: Option<Statistic>,
    /// The bounds of the 80% interval of the simulated value.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) check: Option<&'a FigureCheck>,
}

/// Returns the metrics of the figures, the most frequent one first; only throughput if there are no figures.
pub(crate) fn metrics(outcome: &StudyOutcome) -> Vec<FigureMetric> {
    let count = |metric: FigureMetric| {
        outcome.figures.iter().filter(|check| check.figure.metric == metric).count()
    };
    let mut metrics = FigureMetric::NAMES.map(|(_, metric)| metric).to_vec();
    metrics.retain(|metric| count(*metric) > 0);
    metrics.sort_by_key(|metric| std::cmp::Reverse(count(*metric)));
    if metrics.is_empty() {
        metrics.push(FigureMetric::Throughput);
    }
    metrics
}

/// Returns the rows of `metric`, ordered by test and then by system. Simulated tests without a published figure are
/// among the rows of the first metric.
pub(crate) fn rows(outcome: &StudyOutcome, metric: FigureMetric) -> Vec<FigureRow<'_>> {
    let first = metrics(outcome)[0] == metric;
    let mut rows = Vec::new();
    for test in tests(outcome) {
        for system in systems(outcome) {
            let published =
                |check: &&FigureCheck| check.figure.test == test && check.figure.system == system;
            let mut checks = outcome.figures.iter().filter(published).peekable();
            if checks.peek().is_none() && first {
                let simulated = outcome
                    .systems
                    .iter()
                    .find(|column| column.name == system)
                    .and_then(|column| column.run.test(test));
                rows.extend(simulated.map(|result| FigureRow {
                    test,
                    system,
                    simulated: Some(metric.value_in(result)),
                    interval: metric.interval(result),
                    check: None,
                }));
            }
            let of_metric = checks.filter(|check| check.figure.metric == metric);
            rows.extend(of_metric.map(|check| FigureRow {
                test,
                system,
                simulated: Some(check.simulated),
                interval: outcome.interval(&check.figure),
                check: Some(check),
            }));
        }
    }
    rows
}

/// Builds the table of `metric`, with a column for each run that was measured locally.
pub(crate) fn table(
    outcome: &StudyOutcome,
    metric: FigureMetric,
    measured: &[(String, &RunResult)],
) -> Table {
    let unit = metric.unit();
    // Without published figures, the columns for them are empty, and the code below removes them.
    let figures =
        |column: Column| if outcome.figures.is_empty() { column.optional(1) } else { column };
    let mut columns = vec![
        Column::name("test"),
        Column::name("system"),
        Column::number("simulated", unit),
        Column::text("80% interval"),
        Column::number("spread", "").optional(2),
        figures(Column::number("published", unit)),
        figures(Column::number("error", "")),
        figures(Column::text("role")).optional(3),
    ];
    columns.extend(measured.iter().map(|(name, _)| Column::number(name, unit).optional(1)));
    let mut table = Table::new(columns);
    let mut above = None;
    for row in rows(outcome, metric) {
        let same = above == Some(row.test);
        above = Some(row.test);
        let mut cells = vec![Cell::plain(row.test).repeating(same)];
        cells.extend(row.cells(outcome));
        cells.extend(measured.iter().map(|(_, run)| {
            let value = run.test(row.test).and_then(|result| known_value(&metric.value_in(result)));
            Cell::plain(or_absent(value, significant)).repeating(same)
        }));
        table.push(cells);
    }
    table.without_empty_columns()
}

impl FigureRow<'_> {
    /// Returns the cells from the column of the system to the column of the role.
    fn cells(&self, outcome: &StudyOutcome) -> Vec<Cell> {
        let ink = match self.check.map(|check| check.figure.role) {
            Some(FigureRole::Calibrated) => CellEmphasis::Faint,
            _ => CellEmphasis::Plain,
        };
        let simulated = or_absent(self.simulated.as_ref().and_then(known_value), significant);
        let interval = self
            .interval
            .map_or(ABSENT.to_owned(), |(low, high)| interval_text(low, high, significant));
        // Repeats of a simulation differ only in their random offsets, which add little to the interval.
        let spread = match (&self.simulated, interval == ABSENT) {
            (Some(value), true) => spread(value),
            _ => ABSENT.to_owned(),
        };
        vec![
            Cell::inked(system_label(outcome, self.system), ink),
            Cell::inked(simulated, ink),
            Cell::inked(interval, CellEmphasis::Faint),
            Cell::inked(spread, CellEmphasis::Faint),
            Cell::inked(self.check.map_or(ABSENT.to_owned(), |check| printed(&check.figure)), ink),
            self.error(),
            Cell::inked(self.check.map_or(ABSENT, |check| role_name(check.figure.role)), ink),
        ]
    }

    fn error(&self) -> Cell {
        let Some(check) = self.check else { return Cell::plain(ABSENT) };
        let text = percent_signed(check.error);
        match check.figure.role {
            _ if text == ABSENT => Cell::plain(text),
            FigureRole::Calibrated => Cell::inked(format!("({text})"), CellEmphasis::Faint),
            FigureRole::Predicted if check.error.abs() > ERROR_LARGE => {
                Cell::inked(text, CellEmphasis::Warning)
            }
            FigureRole::Predicted => Cell::strong(text),
        }
    }
}

/// Formats the value as published, with its kind of bound.
pub(crate) fn printed(figure: &PublishedFigure) -> String {
    let value = published(figure.published);
    match figure.bound {
        BoundKind::Exactly => value,
        BoundKind::AtLeast => format!("≥{value}"),
        BoundKind::AtMost => format!("≤{value}"),
    }
}

/// Returns the tests in the order in which they run, followed by tests that only a figure names.
pub(crate) fn tests(outcome: &StudyOutcome) -> Vec<&str> {
    let run = outcome.systems.iter().flat_map(|system| &system.run.tests);
    let published = outcome.figures.iter().map(|check| check.figure.test.as_str());
    unique(run.map(|result| result.test.name.as_str()).chain(published))
}

/// Returns the systems in the order of the study, followed by systems that only a figure names.
fn systems(outcome: &StudyOutcome) -> Vec<&str> {
    let columns = outcome.systems.iter().map(|system| system.name.as_str());
    unique(columns.chain(outcome.figures.iter().map(|check| check.figure.system.as_str())))
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}
