//! Runs on real databases: one run as text, two runs compared, and real runs next to simulated runs.
//!
//! | file | contents |
//! |---|---|
//! | `figures` | the figures of a database's transactions, which real and simulated runs share |
//! | `split` | the parts of a transaction's time |
//! | `text` | one run |
//! | `change`, `compared` | two runs: the changes that the repeats show, and their text |
//!
//! No figure is taken from a model to fill a gap in the measurement.

mod change;
mod compared;
mod figures;
mod split;
mod text;

pub use change::{ChangeVerdict, FigureChange, SavedServers, compare, nodes_saved, warnings};
pub use compared::database_compare_text;
pub(crate) use figures::{FIGURES, TransactionFigure, groups, table};
pub(crate) use split::{TimePart, TimeSplit};
pub(crate) use text::blocks;
pub use text::database_text;
