//! Studies and fits as text: the answer, the figures, the errors of the model, and the calibrated values.

mod answer;
pub(crate) mod calibration;
pub(crate) mod error_summary;
pub(crate) mod figure_table;
mod fit_table;
mod study_table;

pub use answer::answer;
pub use fit_table::fit_table;
pub use study_table::{study_answer, study_table};
