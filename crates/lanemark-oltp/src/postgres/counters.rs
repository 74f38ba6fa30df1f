//! PostgreSQL's own statistics: its cumulative counters and the waits of its sessions.
//!
//! The sources are "The Cumulative Statistics System" in PostgreSQL's documentation and `monitoring.sgml` of versions
//! 14 to 18. The observer keeps one transaction open from its first query to its last, so that it does not add
//! transactions. The observer does not hold a snapshot between queries, so it does not delay cleanup. A backend adds
//! its work to these statistics when it is idle and a second has passed since it last did so. In version 15 and later,
//! `pg_stat_force_next_flush` makes the backend add its work immediately; users call this function when counting begins
//! and ends.

use crate::error::OltpError;
use crate::observer::DatabaseObserver;
use crate::processor::ProcessFamily;
use crate::session::Connection;
use crate::value::Value;
use lanemark_schema::result::WaitClass;
use lanemark_schema::result::{DatabaseCounter, DatabaseCounters};

/// The first version that provides `pg_stat_force_next_flush`.
const REPORTS_FROM: u32 = 150_000;

/// Discards the statistics that this transaction has read before.
const AFRESH: &str = "SELECT pg_stat_clear_snapshot()";

/// A connection that observes a run.
pub(crate) struct PostgresObserver {
    connection: Box<dyn Connection>,
    version: u32,
    process: Option<u32>,
    counters: Vec<(DatabaseCounter, String)>,
}

impl PostgresObserver {
    /// Observes a run on `connection`, which must not be used for other work.
    pub(crate) fn new(mut connection: Box<dyn Connection>) -> Result<Self, OltpError> {
        let sql = "SELECT current_setting('server_version_num')::int, pg_backend_pid(), \
            (inet_server_addr() IS NULL OR inet_server_addr() = inet_client_addr())::int";
        let mut version = 0;
        let mut process = None;
        connection.scan(sql, &mut |row| {
            version = number(&row[0]).unwrap_or(0);
            process = number(&row[1]).filter(|_| number::<u32>(&row[2]) == Some(1));
        })?;
        connection.script("SET idle_in_transaction_session_timeout TO 0; BEGIN READ ONLY")?;
        Ok(Self { connection, version, process, counters: expressions(version) })
    }
}

/// Returns the number in a column.
fn number<T: TryFrom<i64>>(value: &Value<'_>) -> Option<T> {
    match value {
        Value::Int(number) => T::try_from(*number).ok(),
        _ => None,
    }
}

/// Returns a scalar SQL expression for each counter that this version of the server provides.
fn expressions(version: u32) -> Vec<(DatabaseCounter, String)> {
    let mut found = Vec::new();
    let mut add_expression = |counter, what: &str, view: &str| {
        found.push((counter, format!("(SELECT ({what})::bigint FROM {view})")));
    };
    let database_view = "pg_stat_database WHERE datname = current_database()";
    add_expression(DatabaseCounter::Commits, "xact_commit", database_view);
    add_expression(DatabaseCounter::Rollbacks, "xact_rollback", database_view);
    add_expression(DatabaseCounter::BufferHits, "blks_hit", database_view);
    add_expression(DatabaseCounter::BufferMisses, "blks_read", database_view);
    add_expression(DatabaseCounter::Deadlocks, "deadlocks", database_view);
    add_expression(DatabaseCounter::TemporaryFiles, "temp_files", database_view);
    if version >= 140_000 {
        add_expression(DatabaseCounter::WalRecords, "wal_records", "pg_stat_wal");
        add_expression(DatabaseCounter::WalBytes, "wal_bytes", "pg_stat_wal");
        add_expression(DatabaseCounter::WalFullPages, "wal_fpi", "pg_stat_wal");
    }
    let log = "pg_stat_io WHERE object = 'wal'";
    match version {
        180_000.. => {
            add_expression(DatabaseCounter::WalWrites, "sum(writes)", log);
            add_expression(DatabaseCounter::WalFlushes, "sum(fsyncs)", log);
        }
        140_000.. => {
            add_expression(DatabaseCounter::WalWrites, "wal_write", "pg_stat_wal");
            add_expression(DatabaseCounter::WalFlushes, "wal_sync", "pg_stat_wal");
        }
        _ => {}
    }
    match version {
        170_000.. => {
            add_expression(
                DatabaseCounter::Checkpoints,
                "num_timed + num_requested",
                "pg_stat_checkpointer",
            );
        }
        _ => add_expression(
            DatabaseCounter::Checkpoints,
            "checkpoints_timed + checkpoints_req",
            "pg_stat_bgwriter",
        ),
    }
    found
}

/// Returns the wait class for PostgreSQL's description of a session: its state, and the type and name of its wait event
/// (documentation, tables from 28.4). The names cover versions 14 to 18, which use different upper and lower case.
fn class_of(state: &str, kind: &str, event: &str) -> WaitClass {
    let event = event.to_ascii_lowercase();
    let log = event.starts_with("wal");
    match kind {
        _ if state.starts_with("idle") => WaitClass::Client,
        "" => WaitClass::Processor,
        "Client" => WaitClass::Client,
        "Lock" => WaitClass::Lock,
        "LWLock" | "IO" if log => WaitClass::Log,
        "IPC" if event == "syncrep" => WaitClass::Log,
        // Another session reads the page that this session needs.
        "IPC" | "LWLock" if event == "bufferio" => WaitClass::Read,
        "IO" if event.ends_with("read") || event.ends_with("prefetch") => WaitClass::Read,
        // In version 18, reads can be asynchronous; writes cannot.
        "IO" if event.starts_with("aio") => WaitClass::Read,
        "IO" => WaitClass::Write,
        "LWLock" | "BufferPin" | "Buffer" | "IPC" => WaitClass::Latch,
        "Timeout" if event == "spindelay" => WaitClass::Latch,
        _ => WaitClass::Other,
    }
}

impl DatabaseObserver for PostgresObserver {
    fn counters(&mut self) -> Result<DatabaseCounters, OltpError> {
        let counters = &self.counters;
        let mut found = DatabaseCounters::default();
        let values: Vec<&str> = counters.iter().map(|(_, sql)| sql.as_str()).collect();
        self.connection.script(AFRESH)?;
        self.connection.scan(&format!("SELECT {}", values.join(", ")), &mut |row| {
            let pairs = counters.iter().zip(row);
            found = pairs
                .filter_map(|((counter, _), value)| Some((*counter, number(value)?)))
                .collect();
        })?;
        Ok(found)
    }

    fn counts_late(&self) -> bool {
        self.version >= REPORTS_FROM
    }

    fn look(
        &mut self,
        sessions: &[i64],
        between: bool,
        found: &mut dyn FnMut(WaitClass, u64),
    ) -> Result<bool, OltpError> {
        let pids: Vec<String> = sessions.iter().map(i64::to_string).collect();
        // The function that the view uses does not look up the names of databases and accounts, which the view does.
        let sql = format!(
            "SELECT COALESCE(state, ''), COALESCE(wait_event_type, ''), COALESCE(wait_event, ''), \
             count(*) FROM pg_stat_get_activity(NULL) WHERE pid = ANY('{{{}}}') GROUP BY 1, 2, 3",
            pids.join(",")
        );
        self.connection.script(AFRESH)?;
        self.connection.scan(&sql, &mut |row| {
            let state = row[0].text();
            let kind = row[1].text();
            let event = row[2].text();
            if let Some(count) = number(&row[3])
                && !(between && state == "idle")
            {
                found(class_of(state, kind, event), count);
            }
        })?;
        Ok(true)
    }

    fn family(&self) -> Option<ProcessFamily> {
        ProcessFamily::find(self.process?, "postgres")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_queried_in_its_own_views() {
        let sql = |version, wanted| {
            let found = expressions(version).into_iter().find(|(counter, _)| *counter == wanted);
            found.map(|(_, sql)| sql).unwrap_or_default()
        };
        assert_eq!(sql(130_000, DatabaseCounter::WalBytes), "");
        assert!(sql(140_000, DatabaseCounter::WalFlushes).contains("wal_sync"));
        assert!(sql(180_000, DatabaseCounter::WalFlushes).contains("pg_stat_io"));
        assert!(sql(160_000, DatabaseCounter::Checkpoints).contains("pg_stat_bgwriter"));
        assert!(sql(170_000, DatabaseCounter::Checkpoints).contains("pg_stat_checkpointer"));
    }

    #[test]
    fn waits_go_to_their_classes() {
        for (state, kind, event, class) in [
            ("active", "", "", WaitClass::Processor),
            ("active", "IO", "DataFileRead", WaitClass::Read),
            ("active", "IPC", "BufferIO", WaitClass::Read),
            ("active", "IPC", "BufferIo", WaitClass::Read),
            ("active", "IO", "AioIoCompletion", WaitClass::Read),
            ("active", "IO", "DataFileExtend", WaitClass::Write),
            ("active", "IO", "DataFileWrite", WaitClass::Write),
            ("active", "IO", "WALSync", WaitClass::Log),
            ("active", "IO", "WalSync", WaitClass::Log),
            ("active", "LWLock", "WALWrite", WaitClass::Log),
            ("active", "IPC", "SyncRep", WaitClass::Log),
            ("active", "Lock", "transactionid", WaitClass::Lock),
            ("active", "Lock", "tuple", WaitClass::Lock),
            ("active", "LWLock", "BufferContent", WaitClass::Latch),
            ("active", "BufferPin", "BufferPin", WaitClass::Latch),
            ("active", "Timeout", "SpinDelay", WaitClass::Latch),
            ("idle in transaction", "Client", "ClientRead", WaitClass::Client),
            ("idle", "Client", "ClientRead", WaitClass::Client),
            ("active", "Client", "ClientWrite", WaitClass::Client),
            ("active", "Timeout", "VacuumDelay", WaitClass::Other),
            ("active", "Extension", "Extension", WaitClass::Other),
        ] {
            assert_eq!(class_of(state, kind, event), class, "{kind} {event}");
        }
    }
}
