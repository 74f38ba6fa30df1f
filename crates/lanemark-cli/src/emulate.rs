//! The commands that emulate: served systems, and trials of programs and databases on them.

mod database;
mod database_table;
pub(crate) mod serve;
pub(crate) mod trial;
