//! The transactions of a database: their number, their duration, and the drive requests of each transaction.
//!
//! All values are means over repeats. The requests per transaction were counted; they are not taken from the workload's
//! model.

use lanemark_schema::result::{FigureMetric, RunResult, Statistic, TestResult, TransactionFigures};

use crate::text::number::{fixed, known_value, or_absent, percent, significant};
use crate::text::table::{Cell, Column, Table};

/// Builds the table by test and run; `None` if no test has transactions.
pub(crate) fn by_test(runs: &[(&str, &RunResult)]) -> Option<Table> {
    let mut table = Table::new(vec![
        Column::name("test"),
        Column::name("target"),
        Column::number("tpm", "1/min"),
        Column::number("response", "µs"),
        Column::number("reads", "µs"),
        Column::number("writes", "µs"),
        Column::number("all I/O", "µs"),
        Column::number("CPU", ""),
        Column::number("in buffer", "").optional(3),
        Column::number("page reads", "each").optional(2),
        Column::number("page writes", "each").optional(2),
        Column::number("log writes", "each").optional(2),
    ]);
    let mut names: Vec<&str> = Vec::new();
    for result in runs.iter().flat_map(|(_, run)| &run.tests) {
        if !names.contains(&result.test.name.as_str()) {
            names.push(&result.test.name);
        }
    }
    for name in names {
        let mut repeated = false;
        for (label, run) in runs {
            let results = run.tests.iter().filter(|result| result.test.name == name);
            for result in results {
                let Some(cells) = cells(result) else { continue };
                let mut row = vec![Cell::plain(name).repeating(repeated), Cell::plain(*label)];
                row.extend(cells);
                table.push(row);
                repeated = true;
            }
        }
    }
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
}

fn cells(result: &TestResult) -> Option<Vec<Cell>> {
    let mean_of = |figure: fn(&TransactionFigures) -> Option<f64>| result.of_transactions(figure);
    let per_minute = result.transactions_per_minute()?;
    let cell = |statistic: Option<Statistic>, show: fn(f64) -> String| {
        Cell::plain(or_absent(statistic.and_then(|cell| known_value(&cell)), show))
    };
    let latency = |metric: FigureMetric| cell(Some(metric.value_in(result)), significant);
    Some(vec![
        Cell::strong(fixed(per_minute.value, 0)),
        cell(mean_of(|all| all.response_ms().map(|ms| ms * 1e3)), significant),
        latency(FigureMetric::ReadLatency),
        latency(FigureMetric::WriteLatency),
        latency(FigureMetric::Latency),
        cell(mean_of(|all| all.processor_busy), percent),
        cell(mean_of(|all| all.buffer_hit_ratio), percent),
        cell(mean_of(|all| all.page_reads), significant),
        cell(mean_of(|all| all.page_writes), significant),
        cell(mean_of(|all| all.log_writes), significant),
    ])
}
