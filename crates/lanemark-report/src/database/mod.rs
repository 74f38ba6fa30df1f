//! Runs on real databases: one as text, two compared, and real and simulated ones side by side.
//!
//! | file | what is in it |
//! |---|---|
//! | `figures` | the figures of a database's transactions, which real and simulated runs share |
//! | `text` | one run |
//! | `change`, `compared` | two runs: what their repeats show, and how that reads |
//!
//! Not done here: no figure is taken from a model to fill a gap in what was measured.

mod change;
mod compared;
mod figures;
mod text;

pub use change::{Change, NodesSaved, Verdict, compare, doubts, interval, nodes_saved};
pub use compared::{WIDTH, database_compare_text, wrapped};
pub(crate) use figures::{FIGURES, Figure, groups, table};
pub use text::database_text;
