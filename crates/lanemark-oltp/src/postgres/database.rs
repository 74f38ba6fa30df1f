//! A database on a PostgreSQL server: our schema and its tables, settings, data folder and size.

use std::path::PathBuf;

use postgres::Config;

use super::counters::PostgresObserver;
use super::{PostgresConnection, parse};
use crate::backend::{Backend, DatabaseContents, Footprint, judged_contents};
use crate::error::OltpError;
use crate::observer::DatabaseObserver;
use crate::schema::{ColumnType, INDEXES, Scale, Table};
use crate::secrets::without_password;
use crate::session::Connection;

/// The schema `lanemark_oltp` in a database on a server.
pub(crate) struct PostgresDatabase {
    url: String,
    pub(super) config: Config,
}

impl PostgresDatabase {
    pub(crate) fn new(url: &str) -> Result<Self, OltpError> {
        Ok(Self { url: url.to_owned(), config: parse(url)? })
    }

    fn connect(&self) -> Result<PostgresConnection, OltpError> {
        PostgresConnection::open(self.config.clone(), &self.name())
    }
}

impl Backend for PostgresDatabase {
    fn name(&self) -> String {
        without_password(&self.url)
    }

    fn kind(&self) -> &'static str {
        "PostgreSQL"
    }

    fn open(&self, _create: bool) -> Result<Box<dyn Connection>, OltpError> {
        Ok(Box::new(self.connect()?))
    }

    fn examine_contents(&self) -> Result<DatabaseContents, OltpError> {
        let tables = "SELECT table_name::text FROM information_schema.tables \
            WHERE table_schema = 'lanemark_oltp'";
        judged_contents(&mut self.connect()?, tables)
    }

    fn remove(&self) -> Result<(), OltpError> {
        self.connect()?.script("DROP SCHEMA lanemark_oltp CASCADE")
    }

    /// Returns SQL that creates our schema and its tables; keys are created after the rows.
    fn tables(&self) -> String {
        let kind = |_: &str, kind| match kind {
            ColumnType::Small => "SMALLINT",
            ColumnType::Int => "INTEGER",
            ColumnType::Big => "BIGINT",
            // Names are sorted by their bytes, as in the other databases.
            ColumnType::Text => "TEXT COLLATE \"C\"",
        };
        let tables = Table::ALL.map(|table| table.sql(kind, false, ""));
        format!("CREATE SCHEMA lanemark_oltp;\n{}", tables.concat())
    }

    fn keys(&self) -> String {
        let keyed = Table::ALL.into_iter().filter_map(|table| Some((table.name(), table.key()?)));
        let key = |(name, key)| format!("ALTER TABLE {name} ADD PRIMARY KEY ({key});\n");
        keyed.map(key).collect::<String>() + INDEXES
    }

    fn settings(&self) -> &'static str {
        "SELECT CASE name WHEN 'server_version' THEN 'version' ELSE name END::text, \
            current_setting(name)::text FROM pg_settings WHERE name IN ('server_version', \
            'shared_buffers', 'fsync', 'synchronous_commit', 'full_page_writes', \
            'wal_sync_method', 'max_wal_size', 'checkpoint_timeout', 'max_connections', \
            'debug_io_direct') ORDER BY 1"
    }

    fn cache(&self) -> &'static str {
        "SELECT (SELECT setting::BIGINT * current_setting('block_size')::BIGINT \
            FROM pg_settings WHERE name = 'shared_buffers'), \
            COALESCE(SUM(pg_total_relation_size(oid)), 0)::BIGINT FROM pg_class \
            WHERE relnamespace = 'lanemark_oltp'::regnamespace AND relkind = 'r'"
    }

    /// Returns the server's data folder, if the account is permitted to know it and the server is on this machine.
    fn data_path(&self) -> Option<PathBuf> {
        let sql = "SELECT current_setting('data_directory')::text \
            WHERE inet_server_addr() IS NULL OR inet_server_addr() = inet_client_addr()";
        Some(self.connect().ok()?.rows(sql).ok()?.first()?[0].text().into())
    }

    fn footprint(&self) -> Footprint {
        // Measured with version 15 and 8 KiB pages.
        Footprint { items: 12_500_000, warehouse: 109_000_000 }
    }

    /// All data is written to the log, and the server keeps as much of the log as its settings allow. If the settings
    /// are unknown, the server is assumed to keep the whole log.
    fn log(&self, _scale: &Scale, _missing: i64, data: u64) -> Result<u64, OltpError> {
        let sql = "SELECT setting::BIGINT FROM pg_settings WHERE name = 'max_wal_size'";
        let rows = self.connect()?.rows(sql).unwrap_or_default();
        let most = rows.first().and_then(|row| u64::try_from(row[0].int()).ok());
        Ok(most.map_or(data, |mib| data.min(mib << 20)))
    }

    fn observe(&self) -> Result<Box<dyn DatabaseObserver>, OltpError> {
        Ok(Box::new(PostgresObserver::new(self.open(false)?)?))
    }
}
