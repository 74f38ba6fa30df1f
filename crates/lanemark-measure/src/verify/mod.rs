//! Writing so that everything can be judged afterwards, and judging it: after a kill, after a power cut, or at rest.
//!
//! [`Verification`] runs the writes, trims and flushes of a workload. Every unit of every write says what it is
//! (`unit`), and a journal (`journal`, `record`) keeps what was asked for and what was answered. [`Check`] reads all of
//! it back and judges each unit (`judge`) by what the journal says was done to it (`history`); `account` adds up.
//! `load` is the loop of one thread that writes, over the engines of the measuring side.
//!
//! **What is judged right.** Changes to one unit are ordered only as far as the journal is: A was before B if A's answer
//! had come before B was asked for. So
//!
//! | case | what may be there |
//! |---|---|
//! | one write acknowledged, nothing after it | that write |
//! | writes that overlap and were under way at once, both acknowledged | either, sector by sector |
//! | a write asked for and not acknowledged | it, what was there before, or sectors of both |
//! | a write not acknowledged, and a later one that was | either: the first may have come last |
//! | a request answered with an error | as if not acknowledged |
//! | a trim | zeros, by the same rules |
//! | acknowledged, no flush acknowledged that was asked for after that, then a kill | that write: page cache and device kept it |
//! | the same, then a power cut | that write or what was there before (*unflushed*), unless the device claims to have no volatile cache |
//! | acknowledged and flushed, or marked durable, then a power cut | that write |
//!
//! **What is wrong** is told apart by what is there: what was there right before (*lost*), older (*stale*), a part of
//! the write elsewhere (*torn*), a unit of another place (*misplaced*), of another run (*foreign*), one that the journal
//! does not know (*unrecorded*), not readable (*unreadable*), or anything else (*corrupt*).
//!
//! **What cannot be told**: a write that was lost and then overwritten; whether a write that was not acknowledged was
//! done in time; an order that the journal's own order leaves open. Whether a cut happened is taken from the kernel's
//! boot id, and can be said.
//!
//! Requests follow each other as fast as they are answered: the times of a workload (open loop, think time) are not
//! kept, its places, sizes, order, depth and threads are.

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

pub use check::Check;
pub use error::VerifyError;
pub use verification::{Verification, VerifyProgress};
