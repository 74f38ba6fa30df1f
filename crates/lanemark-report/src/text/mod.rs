//! Numbers, tables, and words that all views share. The room imports no other room.

pub(crate) mod block;
pub(crate) mod metric;
pub(crate) mod number;
pub(crate) mod table;
pub(crate) mod target;
pub(crate) mod time;
pub(crate) mod verdict;
