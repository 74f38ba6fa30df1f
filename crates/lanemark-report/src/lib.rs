//! Results as terminal text, as self-contained HTML files, and as drawings.
//!
//! The crate only presents results: its output depends on nothing except the result and the [`Style`] that the caller
//! passes. The crate does not use the file system, the clock or the environment, and does not detect terminals. A value
//! that a result does not contain is shown as "–", never as zero. Every warning in a result is shown with its advice.
//!
//! Every table is built once, from columns with one unit each, and drawn for a terminal and for a page, so that the two
//! views always agree.
//!
//! The crate does not compute figures other than ratios, shares and means of the figures in the result. It does not fit
//! or smooth figures, and does not omit figures that look odd.

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod answer;
mod block;
mod blocks;
mod budget;
mod calibration;
mod compare_table;
mod concurrent;
mod credits;
mod database;
mod drive;
mod durable;
mod energy;
mod entry;
mod error_summary;
mod explanation;
mod faults;
mod figure_table;
mod fit_table;
mod flash_writes;
mod html;
mod inspection;
mod lead;
mod metric;
mod number;
mod over_time;
pub mod palette;
mod path;
mod plan;
mod ranking;
mod rate_phases;
mod readings;
mod results_answer;
mod run_table;
#[cfg(test)]
mod run_tests;
mod sensitivity;
mod sparkline;
mod study_table;
mod style;
mod summary;
mod sweep;
mod table;
mod target;
mod terminal;
mod test_detail;
mod time;
mod transactions;
mod trial;
mod verdict;
mod verified;
mod warnings;
mod whatif;
mod wrong;

pub use answer::answer;
pub use compare_table::{baseline_text, compare_baseline, compare_runs, compare_table};
pub use database::{
    ChangeVerdict, FigureChange, SavedServers, compare, database_compare_text, database_text,
    nodes_saved, warnings,
};
pub use drive::{DriveRating, DriveValue, OriginCounts, drive_answer, drive_text, ratings_text};
pub use entry::{
    EntryTest, PlatformLink, PlatformPort, platform_answer, platform_text, workload_text,
};
pub use explanation::ceilings_text;
pub use faults::range;
pub use fit_table::fit_table;
pub use html::{PLOT_MARK, PlotStyle, ResultChart, ResultPlot, SAVE_BUTTONS, html, plot};
pub use inspection::{inspection_svg, inspection_text};
pub use lead::sentence_text;
pub use path::{path_sentence, path_svg, path_table};
pub use plan::plan_text;
pub use ranking::{RankedRow, TargetVerdict, ranking_answer, ranking_text};
pub use rate_phases::phases_sentence;
pub use results_answer::results_answer;
pub use run_table::{run_evidence, run_table};
pub use sensitivity::bottlenecks;
pub use study_table::{study_answer, study_table};
pub use style::Style;
pub use sweep::{sweep_answer, sweep_html, sweep_text};
pub use terminal::{figure_rows, paragraph};
pub use test_detail::test_details;
pub use trial::{power_cut_verdict, trial_answer, trial_text};
pub use verified::{verified_text, written_text};
pub use whatif::{whatif_evidence, whatif_text};
pub use wrong::wrong_outcome;
