//! fio's normal output and its terse output, as results.
//!
//! | file | contents |
//! |---|---|
//! | `options` | the options of a job in the normal output |
//! | `normal` | the output of fio 2 and 3 without `--output-format` |
//! | `terse` | `--output-format=terse` (`--minimal`), versions 3 to 5 |
//! | `parts` | latencies, clones of a job, errors |
//!
//! The normal output states the options `rw`, `bs`, `ioengine` and `iodepth`; the terse output does not state options.

mod normal;
mod options;
mod parts;
mod terse;

pub(crate) use normal::{is_ours as is_normal, read as read_normal};
pub(crate) use terse::{is_ours as is_terse, is_terse_2, read as read_terse};
