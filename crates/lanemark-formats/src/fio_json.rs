//! fio's JSON output, which is written from a result and read into a result.
//!
//! The layout is the layout of fio 3.33, as `stat.c` writes it (`show_thread_status_json`, `add_ddir_status_json`).
//!
//! | file | contents |
//! |---|---|
//! | `layout` | JSON with fio's order, spacing and decimals |
//! | `write` | a result in the format of fio's output |
//! | `options` | a test as options of fio |
//! | `read` | the output of fio, entry by entry |
//! | `documents` | the documents in a file: snapshots of a run, successive runs, or lists |
//! | `lanemark_keys` | Lanemark's additions to its export: the repeats, and the statistic over them |
//! | `sampled` | the figures of one job |
//! | `draft` | one job with its test |
//! | `results` | the files about one target as a result |

mod documents;
mod draft;
mod lanemark_keys;
mod layout;
mod options;
mod read;
mod results;
pub(crate) mod sampled;
mod write;

pub use read::{FioOutput, read};
pub use results::results;
pub use write::write;
