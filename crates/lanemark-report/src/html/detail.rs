//! The text of each test: the blocks that the terminal prints, under the name of the test.

use lanemark_schema::result::RunResult;
use maud::{Markup, html};

use super::grid::grid;
use crate::blocks::test_blocks;
use crate::text::block::Block;

/// Maximum number of tests whose text is visible from the start.
const OPEN_MOST: usize = 1;

/// Returns the content of the section; `None` if no test has ended.
pub(super) fn tests(runs: &[(String, &RunResult)]) -> Option<Markup> {
    let several = runs.len() > 1;
    let all: Vec<_> = runs
        .iter()
        .flat_map(|(label, run)| run.tests.iter().map(move |test| (label, test)))
        .collect();
    (!all.is_empty()).then(|| {
        html! {
            @for (label, result) in &all {
                details open[all.len() <= OPEN_MOST] {
                    @let name = name(&result.test.name, label, several);
                    summary { (name) }
                    @for block in test_blocks(result).iter().flatten() { (draw(block, &name)) }
                }
            }
        }
    })
}

fn name(test: &str, label: &str, several: bool) -> String {
    if several { format!("{test}: {label}") } else { test.to_owned() }
}

fn draw(block: &Block<'_>, test: &str) -> Markup {
    html! {
        @match block {
            Block::Text(text) => p { (text) },
            Block::List(items) => ul { @for item in items { li { (item) } } },
            Block::Table(name, table) => {
                // The name of the test makes the name of the table unique on the page.
                (grid(&table.clone().without_empty_columns(), &format!("{name}, {test}")))
            }
            Block::Rates(_) => {}
        }
    }
}
