//! fio's JSON output, written from a result and read into one.
//!
//! The layout follows fio 3.33, as `stat.c` writes it (`show_thread_status_json`, `add_ddir_status_json`).
//!
//! | file | contents |
//! |---|---|
//! | `layout` | JSON with fio's order, spacing and decimals |
//! | `write` | a result as the output of fio |
//! | `options` | a test as fio's options |
//! | `read` | the output of fio, entry by entry |
//! | `documents` | the documents in a file: snapshots of a run, successive runs, lists |
//! | `own` | Lanemark's additions to its export: the repeats and their statistic |
//! | `sampled` | one job's figures |
//! | `draft` | one job with its test |
//! | `results` | the files of one target as a result |

mod documents;
mod draft;
mod lanemark_keys;
mod layout;
mod options;
mod read;
mod results;
pub(crate) mod sampled;
mod write;

pub use draft::SuppliedSettings;
pub use read::{FioOutput, read};
pub use results::{Imported, results};
pub use write::write;
