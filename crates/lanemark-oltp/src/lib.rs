//! A workload derived from TPC-C 5.11 on real databases: load, run, check, compare.
//!
//! | file | what it is |
//! |---|---|
//! | [`schema`] | the nine tables, and how much they hold |
//! | [`population`] | the contents of a fresh database |
//! | [`input`], [`profile`], `nurand`, `text` | what users ask for, drawn from a seed |
//! | `statement`, `transactions` | the five transactions in SQL |
//! | [`session`], `backend` | the seams behind which databases differ: a connection, and all else |
//! | `sqlite`, `postgres`, `mysql` | the databases |
//! | [`managed`], [`download`] | a PostgreSQL server of our own, and its programs |
//! | [`database`] | databases by name, and what they hold |
//! | [`load`](mod@load), [`run`](mod@run), [`check`](mod@check), [`contents`](mod@contents) | what is done with them |
//! | `room` | what an error has to do with a full file system |
//! | `user`, `look` | who works in a run, and who looks on |
//! | [`device`], [`processor`] | what the machine did meanwhile |
//! | `observer` | what the database tells of itself |
//! | `notes` | what all users have done |
//! | [`live`] | how a run goes on while it does |
//! | [`template`] | contents that are kept and brought back |
//! | [`outcome`], [`former`] | what came out, as a result; what earlier versions saved |
//!
//! The workload is *derived from* TPC-C and is no TPC result: nothing was audited, terminals have no screens, think times
//! are left out unless asked for, and money is in cents. Its figures are comparable with each other, not with
//! those of other programs.

mod asked;
mod backend;
pub mod check;
pub mod contents;
pub mod database;
pub mod device;
#[cfg(feature = "postgres")]
pub mod download;
mod error;
pub mod former;
pub mod input;
mod known;
pub mod live;
pub mod load;
mod look;
#[cfg(feature = "postgres")]
pub mod managed;
#[cfg(feature = "mysql")]
mod mysql;
mod notes;
mod nurand;
mod observer;
pub mod outcome;
pub mod population;
#[cfg(feature = "postgres")]
mod postgres;
pub mod processor;
pub mod profile;
mod room;
pub mod run;
pub mod schema;
pub mod session;
mod sqlite;
mod statement;
pub mod template;
mod text;
mod transactions;
mod user;
mod value;

pub use asked::{WORKLOAD_MARK, workload};
pub use database::Database;
pub use error::OltpError;
pub use nurand::{Constants, nurand};
pub use profile::{Profile, TransactionKind};
pub use statement::Statement;
pub use text::last_name;
pub use transactions::{DeliveryOutcome, NewOrderOutcome};
pub use value::{Row, Value};
