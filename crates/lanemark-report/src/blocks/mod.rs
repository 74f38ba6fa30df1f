//! The text of a test as a list of blocks, which the terminal and the page draw.
//!
//! A block that is added here appears in both views. The charts of a page are drawn separately (`html`).
//!
//! The time budget is averaged over repeats, and its rows sum to the mean latency. Utilisation is a property of one
//! hop; a busy hop may add little latency, and an idle hop may add much. A single run cannot show the gain from a
//! faster hop. The gain is reported if additional runs determined it ([`sensitivity`]).

pub(crate) mod budget;
pub(crate) mod energy;
pub(crate) mod explanation;
mod faults;
mod flash_writes;
mod latency;
mod outcome;
pub(crate) mod over_time;
mod readings;
pub(crate) mod sensitivity;
mod test_detail;
pub(crate) mod wrong;

use lanemark_schema::result::{Sample, TestResult};

use crate::database;
use crate::text::block::Block;
use budget::Budget;

pub use explanation::ceilings_text;
pub use faults::range;
pub use sensitivity::bottlenecks;
pub use test_detail::test_details;
pub use wrong::wrong_outcome;

/// Returns the blocks of a test, in groups.
pub(crate) fn test_blocks(test: &TestResult) -> Vec<Vec<Block<'_>>> {
    let mut groups = vec![
        outcome::blocks(test),
        latency::blocks(test),
        over_time_blocks(test),
        limit_blocks(test),
        explanation::blocks(test),
        flash_writes::sentence(test).map(Block::Text).into_iter().collect(),
        energy::blocks(test),
    ];
    groups.extend(database::blocks(test));
    groups.retain(|group| !group.is_empty());
    groups
}

/// Returns the first repeat that has a series or rounds.
fn over_time_blocks(test: &TestResult) -> Vec<Block<'_>> {
    let has_series = |sample: &&Sample| sample.series.is_some() || sample.steady.is_some();
    let Some(sample) = test.samples.iter().find(has_series) else { return Vec::new() };
    let Some(table) = over_time::table(sample) else { return Vec::new() };
    let mut blocks: Vec<Block<'_>> =
        over_time::sentences(sample).into_iter().map(Block::Text).collect();
    blocks.extend(sample.series.as_ref().map(Block::Rates));
    blocks.push(Block::Table("Over time", table));
    blocks
}

/// Returns the time budget and the limit of a simulated test, or the machine's readings during a measured test.
fn limit_blocks(test: &TestResult) -> Vec<Block<'_>> {
    let Some(budget) = Budget::from_result(test) else {
        return readings::sentences(test).into_iter().map(Block::Text).collect();
    };
    let mut blocks = vec![Block::Table("Time budget", budget::table(&budget))];
    match &test.sensitivity {
        Some(sensitivity) => blocks.extend(sensitivity::blocks(sensitivity)),
        None => {
            let limit = budget.busiest().map(|hop| budget::limit(hop, &budget, test));
            blocks.extend(limit.map(Block::Text));
        }
    }
    blocks
}
