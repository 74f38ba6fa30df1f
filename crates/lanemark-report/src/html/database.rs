//! Comparison of transactions on real and simulated databases: a panel of bars for each figure, and a table of all
//! figures.
//!
//! A run keeps its colour in all panels. Each panel has its own scale from zero. There is no panel for a figure that is
//! unknown in all runs of a group.

use lanemark_schema::result::{RunResult, Target, TestResult};
use maud::{Markup, html};

use super::chart::{self, BarPanel};
use super::{grid, time_split};
use crate::database::{FIGURES, TransactionFigure, groups, table};

/// Draws a comparison of the transactions of `runs`; `None` if there are no transactions.
pub(super) fn side_by_side(runs: &[(&str, &RunResult)]) -> Option<Markup> {
    let groups = groups(runs);
    (!groups.is_empty()).then(|| {
        html! {
            p class="soft" { (kinds(runs)) }
            @for (name, tests) in &groups {
                h3 { (name) }
                div class="panels" {
                    @for (panel, unit) in of_group(runs, tests) { (panel.draw_all(unit)) }
                }
                @if let Some(split) = time_split::section(tests) { (split) }
                (grid::grid(&table(tests), name))
            }
        }
    })
}

/// Returns the panels of one group of tests; each bar has the colour of its run.
fn of_group(
    runs: &[(&str, &RunResult)],
    tests: &[(&str, &TestResult)],
) -> Vec<(BarPanel, &'static str)> {
    let colour = |label: &str| {
        let index = runs.iter().position(|(own, _)| *own == label).unwrap_or(0);
        chart::system_colour(index)
    };
    let panel = |figure: &TransactionFigure| {
        let bars = tests.iter().filter_map(|(label, test)| {
            Some(((*label).to_owned(), colour(label), test.over_samples(figure.of)?))
        });
        Some((chart::panel(figure.name, figure.unit, bars.collect())?, figure.unit))
    };
    FIGURES.iter().filter(|figure| figure.drawn).filter_map(panel).collect()
}

/// States which runs are real and which are simulated, and the meaning of their figures.
fn kinds(runs: &[(&str, &RunResult)]) -> String {
    let relevant =
        runs.iter().filter(|(_, run)| run.tests.iter().any(|test| test.has_transactions()));
    let mut real = Vec::new();
    let mut simulated = Vec::new();
    for (label, run) in relevant {
        match &run.target {
            Target::Database(_) => real.push(*label),
            Target::Simulated(_) | Target::Measured(_) => simulated.push(*label),
        }
    }
    let mut text = String::new();
    if !real.is_empty() {
        text += &format!(
            "Real: {}, derived from TPC-C; not a TPC result. Requests include all requests of the \
             device that holds the data, as the kernel counts them. ",
            real.join(", ")
        );
    }
    if !simulated.is_empty() {
        text +=
            &format!("Simulated: {}, users of a database in a closed loop. ", simulated.join(", "));
    }
    text + "Each panel has its own scale from zero, and whiskers from the minimum to the maximum \
            repeat. The device's share is the time of all requests over the time of all \
            transactions, and may exceed 100% if requests overlap."
}
