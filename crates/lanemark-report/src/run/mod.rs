//! Runs as text: the answer, the overview of the tests with its notes, trials, and verified targets.

pub(crate) mod concurrent;
pub(crate) mod credits;
pub(crate) mod durable;
pub(crate) mod lead;
pub(crate) mod rate_phases;
pub(crate) mod run_table;
pub(crate) mod transactions;
pub(crate) mod trial;
mod verified;

pub use durable::durable_sentence;
pub use rate_phases::phases_sentence;
pub use run_table::{run_evidence, run_table, run_warnings};
pub use trial::{power_cut_verdict, trial_answer, trial_text};
pub use verified::{verified_text, written_text};
