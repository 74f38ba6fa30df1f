//! Writes data that can be completely judged afterwards, and judges it after a kill, after a power cut, or at rest.
//!
//! [`Verification`] runs the writes, trims and flushes of a workload. Every unit of every write contains its own
//! identity (`unit`), and a journal (`journal`, `record`) stores each request and each answer. [`Check`] reads all
//! units back. `history` reads the changes of each unit from the journal, `judge` compares them with the unit's
//! content, and `account` adds up the verdicts. `load` is the loop of one writing thread, which uses the engines of
//! `lanemark_measure`.
//!
//! # Correct contents
//!
//! The journal defines a partial order of the changes to a unit: A came before B if A was answered before B was
//! requested.
//!
//! | case | correct contents |
//! |---|---|
//! | one write acknowledged, and no later request | that write |
//! | overlapping writes in flight at the same time, both acknowledged | either write, sector by sector |
//! | a write requested and not acknowledged | that write, the previous contents, or sectors of both |
//! | a write not acknowledged, and a later write acknowledged | either write: the first may have been executed last |
//! | a request answered with an error | the same contents as for a write that was not acknowledged |
//! | a trim | zeros, under the same rules |
//! | a write acknowledged and not flushed, then a kill | that write: the page cache and the device kept it |
//! | a write acknowledged and not flushed, then a power cut | that write or the previous contents (*unflushed*), unless the device claims not to have a volatile cache |
//! | a write acknowledged and flushed, or marked durable, then a power cut | that write |
//!
//! # Wrong contents
//!
//! The wrong contents show the kind of fault: the previous contents (*lost*), older contents (*stale*), a part of the
//! write at another offset (*torn*), a unit of another offset (*misplaced*), a unit of another run (*foreign*), a unit
//! that the journal does not contain (*unrecorded*), an unreadable unit (*unreadable*), anything else (*corrupt*).
//!
//! # Limits
//!
//! A check cannot detect a write that was lost and then overwritten, decide whether a write without an acknowledgement
//! was carried out in time, or establish an order that the journal leaves open. The kernel's boot id shows whether the
//! machine was restarted; the caller can state that there was a power cut.
//!
//! Each request is submitted as soon as another completes. The offsets, sizes, order, depth and threads of a workload
//! are used; its times (open loop, think time) are not.

mod account;
mod check;
#[cfg(test)]
mod device;
mod error;
mod history;
mod journal;
mod judge;
mod load;
mod record;
#[cfg(test)]
mod trials;
mod unit;
mod verification;
#[cfg(test)]
mod worked_tests;

pub use check::Check;
pub use error::VerifyError;
pub use verification::{Verification, VerifyProgress};
