//! fio's JSON output, written of a result and read into one.
//!
//! The layout is that of fio 3.33, as `stat.c` writes it (`show_thread_status_json`, `add_ddir_status_json`).
//!
//! | file | what is in it |
//! |---|---|
//! | `layout` | JSON with fio's order, spacing and decimals |
//! | `write` | a result as the output of fio |
//! | `options` | a test as fio's options |
//! | `read` | the output of fio, entry by entry |
//! | `sampled` | one job's figures |
//! | `draft` | one job with its test |
//! | `results` | the files of one target as a result |

mod draft;
mod layout;
mod options;
mod read;
mod results;
mod sampled;
mod write;

pub use read::{Printed, read};
pub use results::{Imported, results};
pub use write::write;
