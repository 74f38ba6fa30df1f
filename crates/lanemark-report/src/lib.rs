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

mod blocks;
mod charts;
mod compare;
mod database;
mod html;
mod library;
mod path;
mod run;
#[cfg(test)]
mod run_tests;
mod study;
mod sweep;
mod terminal;
mod text;

pub use blocks::{bottlenecks, ceilings_text, range, test_details, wrong_outcome};
pub use charts::palette;
pub use compare::{
    RankedRow, TargetVerdict, baseline_text, compare_baseline, compare_runs, compare_table,
    ranking_answer, ranking_text, whatif_evidence, whatif_text,
};
pub use database::{
    ChangeVerdict, FigureChange, SavedServers, compare, database_compare_text, database_text,
    nodes_saved, warnings,
};
pub use html::{
    PLOT_MARK, PlotStyle, ResultChart, ResultPlot, SAVE_BUTTONS, html, plot, results_answer,
};
pub use library::{
    DriveRating, DriveValue, EntryTest, OriginCounts, PlatformLink, PlatformPort, drive_answer,
    drive_text, plan_text, platform_answer, platform_text, ratings_text, workload_text,
};
pub use path::{inspection_svg, inspection_text, path_sentence, path_svg, path_table};
pub use run::{
    durable_sentence, phases_sentence, power_cut_verdict, run_evidence, run_table, run_warnings,
    trial_answer, trial_text, verified_text, written_text,
};
pub use study::{answer, fit_table, study_answer, study_table};
pub use sweep::{sweep_answer, sweep_html, sweep_text};
pub use terminal::{Style, figure_rows, paragraph};
