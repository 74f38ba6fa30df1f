//! A workload derived from TPC-C 5.11 on real databases: load, run, check, compare.
//!
//! | file | contents |
//! |---|---|
//! | [`schema`] | the nine tables, and their sizes |
//! | [`population`] | the contents of a fresh database |
//! | [`input`], [`profile`], `nurand`, `text` | the inputs of users, drawn from a seed |
//! | `statement`, `transactions` | the five transactions in SQL |
//! | [`session`], `backend` | the interfaces to databases: a connection, and all other operations |
//! | `sqlite`, `postgres`, `mysql` | the databases |
//! | [`managed`] | a PostgreSQL server that Lanemark runs |
//! | [`database`] | databases by name, and their contents |
//! | [`load`](mod@load), [`run`](mod@run), [`check`](mod@check), [`contents`](mod@contents) | operations on databases |
//! | [`secrets`] | names and messages without passwords |
//! | `free_space` | free space, and errors that a full file system causes |
//! | `user`, `observation` | the users of a run, and the thread that observes it |
//! | [`device`], [`processor`] | the counters of the machine during a run |
//! | `observer` | the counters of the database |
//! | `histograms` | the ended transactions of all users |
//! | [`progress`] | the progress of a run |
//! | [`outcome`] | the result of a run |
//!
//! The workload is *derived from* TPC-C and is not a TPC result: it was not audited, the terminals do not have screens,
//! think times are omitted by default, and money is in cents. Its figures can be compared with each other, not with
//! figures of other programs.

mod backend;
pub mod check;
pub mod contents;
pub mod database;
mod derived;
pub mod device;
mod error;
mod free_space;
mod histograms;
pub mod input;
pub mod load;
pub mod managed;
#[cfg(feature = "mysql")]
mod mysql;
mod nurand;
mod observation;
mod observer;
mod options;
pub mod outcome;
pub mod population;
mod postgres;
pub mod processor;
pub mod profile;
pub mod progress;
mod repeat_state;
pub mod run;
pub mod schema;
mod schemes;
pub mod secrets;
pub mod session;
mod sqlite;
mod statement;
mod text;
mod transactions;
mod user;
mod value;

pub use database::Database;
pub use derived::{WORKLOAD_MARK, workload};
pub use error::OltpError;
pub use nurand::{NurandConstants, nurand};
pub use profile::{TransactionKind, TransactionProfile};
pub use statement::Statement;
pub use text::last_name;
pub use transactions::{DeliveryOutcome, NewOrderOutcome};
pub use value::{Row, Value};
