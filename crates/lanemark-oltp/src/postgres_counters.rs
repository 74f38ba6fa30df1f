//! What PostgreSQL tells of itself: its cumulative statistics and what sessions wait for.
//!
//! Sources: its documentation, "The Cumulative Statistics System" and `monitoring.sgml` of versions 14 to 18. The
//! observer keeps one transaction open from its first look to its last, so that it counts none of its own; it takes
//! no snapshot between looks and holds nothing back. A backend adds what it has done to these statistics when it is
//! idle and its last addition is a second ago; from version 15 on `pg_stat_force_next_flush` makes it do so at once,
//! which users ask for where counting begins and ends ([`REPORT`]).

use postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use crate::budget::WaitClass;
use crate::counters::{Counter, Counters};
use crate::error::OltpError;
use crate::observer::Observer;
use crate::postgres::{Postgres, from_postgres};
use crate::processor::Family;

/// Makes a session's work count now; one transaction, or none before version 15.
pub(crate) const REPORT: &str = "SELECT pg_stat_force_next_flush()";
/// The version from which on there is [`REPORT`].
pub(crate) const REPORTS_FROM: u32 = 150_000;

/// Forgets what was read of the statistics before in this transaction.
const AFRESH: &str = "SELECT pg_stat_clear_snapshot();";

/// A connection that looks on.
pub(crate) struct PostgresObserver {
    client: Client,
    version: u32,
    process: Option<u32>,
    counters: Vec<(Counter, String)>,
}

impl PostgresObserver {
    /// Connects to `name`, which is `shown` in errors.
    pub(crate) fn connect(name: &str, shown: &str) -> Result<Self, OltpError> {
        let mut client = Postgres::connect(name, shown)?.into_client();
        let sql = "SELECT current_setting('server_version_num'), pg_backend_pid(), \
            inet_server_addr() IS NULL OR inet_server_addr() = inet_client_addr()";
        let mut found = (0, None);
        for row in rows(&mut client, sql)? {
            let local = row.get(2) == Some("t");
            found = (number(&row, 0).unwrap_or(0), number(&row, 1).filter(|_| local));
        }
        let (version, process) = found;
        client
            .batch_execute("SET idle_in_transaction_session_timeout TO 0; BEGIN READ ONLY")
            .map_err(from_postgres)?;
        Ok(Self { client, version, process, counters: expressions(version) })
    }
}

/// The number in a column.
fn number<T: std::str::FromStr>(row: &SimpleQueryRow, column: usize) -> Option<T> {
    row.get(column)?.parse().ok()
}

/// The rows of statements, as text.
fn rows(client: &mut Client, sql: &str) -> Result<Vec<SimpleQueryRow>, OltpError> {
    let messages = client.simple_query(sql).map_err(from_postgres)?;
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    };
    Ok(messages.into_iter().filter_map(row).collect())
}

/// What gives each counter in a version of the server, as a scalar.
fn expressions(version: u32) -> Vec<(Counter, String)> {
    let mut found = Vec::new();
    let mut put = |counter, what: &str, place: &str| {
        found.push((counter, format!("(SELECT ({what})::bigint FROM {place})")));
    };
    let own = "pg_stat_database WHERE datname = current_database()";
    put(Counter::Commits, "xact_commit", own);
    put(Counter::Rollbacks, "xact_rollback", own);
    put(Counter::BufferHits, "blks_hit", own);
    put(Counter::BufferMisses, "blks_read", own);
    put(Counter::Deadlocks, "deadlocks", own);
    put(Counter::TemporaryFiles, "temp_files", own);
    if version >= 140_000 {
        put(Counter::WalRecords, "wal_records", "pg_stat_wal");
        put(Counter::WalBytes, "wal_bytes", "pg_stat_wal");
        put(Counter::WalFullPages, "wal_fpi", "pg_stat_wal");
    }
    let log = "pg_stat_io WHERE object = 'wal'";
    match version {
        180_000.. => {
            put(Counter::WalWrites, "sum(writes)", log);
            put(Counter::WalFlushes, "sum(fsyncs)", log);
        }
        140_000.. => {
            put(Counter::WalWrites, "wal_write", "pg_stat_wal");
            put(Counter::WalFlushes, "wal_sync", "pg_stat_wal");
        }
        _ => {}
    }
    match version {
        170_000.. => {
            put(Counter::Checkpoints, "num_timed + num_requested", "pg_stat_checkpointer");
        }
        _ => put(Counter::Checkpoints, "checkpoints_timed + checkpoints_req", "pg_stat_bgwriter"),
    }
    found
}

impl Observer for PostgresObserver {
    fn counters(&mut self) -> Result<Counters, OltpError> {
        let values: Vec<&str> = self.counters.iter().map(|(_, sql)| sql.as_str()).collect();
        let found = rows(&mut self.client, &format!("{AFRESH} SELECT {}", values.join(", ")))?;
        // The first row is that of the snapshot.
        let row =
            found.last().ok_or_else(|| OltpError::Database("it counts nothing".to_owned()))?;
        let told = self.counters.iter().enumerate();
        Ok(told.filter_map(|(at, (counter, _))| Some((*counter, number(row, at)?))).collect())
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
        // The function below the view: without the names of databases and accounts that the view looks up.
        let sql = format!(
            "{AFRESH} SELECT state, wait_event_type, wait_event, count(*) \
             FROM pg_stat_get_activity(NULL) WHERE pid = ANY('{{{}}}') GROUP BY 1, 2, 3",
            pids.join(",")
        );
        for row in rows(&mut self.client, &sql)? {
            let Some(count) = (row.len() == 4).then(|| number(&row, 3)).flatten() else { continue };
            let column = |at| row.get(at).unwrap_or("");
            if between && column(0) == "idle" {
                continue;
            }
            found(WaitClass::of_postgres(column(0), column(1), column(2)), count);
        }
        Ok(true)
    }

    fn family(&self) -> Option<Family> {
        Family::of(self.process?, "postgres")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_is_asked_where_it_keeps_its_counters() {
        let sql = |version, wanted| {
            let found = expressions(version).into_iter().find(|(counter, _)| *counter == wanted);
            found.map(|(_, sql)| sql).unwrap_or_default()
        };
        assert_eq!(sql(130_000, Counter::WalBytes), "");
        assert!(sql(140_000, Counter::WalFlushes).contains("wal_sync"));
        assert!(sql(180_000, Counter::WalFlushes).contains("pg_stat_io"));
        assert!(sql(160_000, Counter::Checkpoints).contains("pg_stat_bgwriter"));
        assert!(sql(170_000, Counter::Checkpoints).contains("pg_stat_checkpointer"));
    }
}
