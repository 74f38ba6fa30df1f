//! Runs compared: two runs, a run and its baseline, several runs, ranked systems, and changes to a system.

pub(crate) mod answer;
mod baseline;
mod compare_table;
pub(crate) mod pair;
mod ranking;
pub(crate) mod summary;
mod whatif;

pub use baseline::{baseline_text, compare_baseline};
pub use compare_table::{compare_runs, compare_table};
pub use ranking::{RankedRow, TargetVerdict, ranking_answer, ranking_text};
pub use whatif::{whatif_evidence, whatif_text};
