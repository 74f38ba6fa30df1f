//! SQLite, which is built in: one file with a write-ahead log (WAL) next to it, and one writer at a time.
//!
//! Every commit reaches the drive (`synchronous = FULL`), which is not the usual setting for WAL. SQLite's cache holds
//! pages of the file, in addition to the system's page cache.

mod companions;
mod file;
mod opened;
mod ownership;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ffi;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, OpenFlags, ToSql, params_from_iter};

use crate::error::OltpError;
use crate::schema::Table;
use crate::session::{Connection, RowSource};
use crate::statement::Statement;
use crate::value::{Row, Value};
pub(crate) use file::SqliteFile;
use lanemark_schema::result::{DatabaseCounter, DatabaseCounters};
use opened::OpenEntry;

/// First bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Maximum time that a writer waits for another writer.
const BUSY: Duration = Duration::from_secs(60);
/// Number of prepared statements that a connection caches.
const PREPARED: usize = 64;

/// Statement that sets up every connection.
const SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
    PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536;";

/// Size of the header of each page in the log, in bytes (file format of SQLite, section 4.1).
const FRAME_HEAD: u64 = 24;

pub(crate) struct SqliteConnection {
    inner: rusqlite::Connection,
    counted: DatabaseCounters,
    /// Dropped after the connection.
    _entry: OpenEntry,
}

impl SqliteConnection {
    /// Opens `path`, and creates it if `create` is set.
    pub(crate) fn open(path: &Path, create: bool) -> Result<Self, OltpError> {
        if create {
            refuse_link_without_target(path)?;
        }
        companions::check(path)?;
        let create = if create { OpenFlags::SQLITE_OPEN_CREATE } else { OpenFlags::empty() };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
        let (inner, entry) =
            opened::connect(path, path, flags).map_err(|error| at_opening(path, &error))?;
        inner.busy_timeout(BUSY).map_err(from_sqlite)?;
        inner.set_prepared_statement_cache_capacity(PREPARED);
        inner.execute_batch(SETTINGS).map_err(|error| at_opening(path, &error))?;
        Ok(Self { inner, counted: DatabaseCounters::default(), _entry: entry })
    }

    /// Returns the increase of a counter of this connection since the last call; SQLite keeps the counter in 32 bits.
    fn take_status(&self, status: std::ffi::c_int) -> Option<u64> {
        let mut now = 0;
        let mut highest = 0;
        // SAFETY: the handle belongs to an open connection, which no other thread uses while `self` is borrowed, and
        // both pointers refer to variables that outlive the call.
        let code = unsafe {
            let handle = self.inner.handle();
            ffi::sqlite3_db_status64(handle, status, &raw mut now, &raw mut highest, 1)
        };
        (code == ffi::SQLITE_OK).then(|| now.cast_unsigned())
    }

    pub(crate) fn files(path: &Path) -> [PathBuf; 3] {
        [path.to_owned(), companion_path(path, "-wal"), companion_path(path, "-shm")]
    }
}

/// Rejects a link whose target does not exist, because SQLite would create the target.
fn refuse_link_without_target(path: &Path) -> Result<(), OltpError> {
    let is_link = path.symlink_metadata().is_ok_and(|there| there.is_symlink());
    if !is_link || path.exists() {
        return Ok(());
    }
    let reason = "is a link without a target; remove it, or name a new file".to_owned();
    Err(OltpError::System { what: path.display().to_string(), reason })
}

/// Returns `path` with `ending` appended to the file name.
fn companion_path(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// Returns the columns of a row as borrowed values.
fn columns<'r>(row: &'r rusqlite::Row<'_>, count: usize) -> rusqlite::Result<Vec<Value<'r>>> {
    (0..count)
        .map(|at| {
            Ok(match row.get_ref(at)? {
                ValueRef::Integer(number) => Value::Int(number),
                ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text)),
                ValueRef::Real(number) => Value::Int(number as i64),
                ValueRef::Null | ValueRef::Blob(_) => Value::Null,
            })
        })
        .collect()
}

impl Connection for SqliteConnection {
    fn begin(&mut self, writes: bool) -> Result<(), OltpError> {
        let sql = if writes { "BEGIN IMMEDIATE" } else { "BEGIN" };
        let mut begin = self.inner.prepare_cached(sql).map_err(from_sqlite)?;
        begin.execute(()).map(|_| ()).map_err(from_sqlite)
    }

    fn commit(&mut self) -> Result<(), OltpError> {
        let mut commit = self.inner.prepare_cached("COMMIT").map_err(from_sqlite)?;
        commit.execute(()).map(|_| ()).map_err(from_sqlite)
    }

    fn rollback(&mut self) -> Result<(), OltpError> {
        if self.inner.is_autocommit() {
            return Ok(());
        }
        self.inner.execute_batch("ROLLBACK").map_err(from_sqlite)
    }

    fn query(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<Vec<Row>, OltpError> {
        let mut prepared = self.inner.prepare_cached(statement.text()).map_err(from_sqlite)?;
        let count = prepared.column_count();
        let mut rows = prepared.query(params_from_iter(values)).map_err(from_sqlite)?;
        let mut found = Vec::new();
        // All rows are read, because a statement that changes rows has not changed all of them until it ends.
        while let Some(row) = rows.next().map_err(from_sqlite)? {
            let row = columns(row, count).map_err(from_sqlite)?;
            found.push(row.into_iter().map(Value::into_owned).collect());
        }
        Ok(found)
    }

    fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<u64, OltpError> {
        let mut prepared = self.inner.prepare_cached(statement.text()).map_err(from_sqlite)?;
        let changed = prepared.execute(params_from_iter(values)).map_err(from_sqlite)?;
        Ok(changed as u64)
    }

    fn script(&mut self, sql: &str) -> Result<(), OltpError> {
        self.inner.execute_batch(sql).map_err(from_sqlite)
    }

    fn scan(&mut self, sql: &str, each: &mut dyn FnMut(&[Value<'_>])) -> Result<(), OltpError> {
        let mut prepared = self.inner.prepare(sql).map_err(from_sqlite)?;
        let count = prepared.column_count();
        let mut rows = prepared.query(()).map_err(from_sqlite)?;
        while let Some(row) = rows.next().map_err(from_sqlite)? {
            each(&columns(row, count).map_err(from_sqlite)?);
        }
        Ok(())
    }

    fn fill(&mut self, table: Table, produce: &mut RowSource<'_>) -> Result<(), OltpError> {
        let name = table.name();
        let columns = table.column_names();
        let marks = vec!["?"; table.columns().len()].join(", ");
        let sql = format!("INSERT INTO {name} ({columns}) VALUES ({marks})");
        let mut insert = self.inner.prepare_cached(&sql).map_err(from_sqlite)?;
        produce(&mut |row| insert.execute(params_from_iter(row)).map(|_| ()).map_err(from_sqlite))
    }

    fn own_counters(&mut self) -> Result<DatabaseCounters, OltpError> {
        let page: u64 = self
            .inner
            .pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0))
            .map_or(0, i64::cast_unsigned);
        for (counter, status) in [
            (DatabaseCounter::BufferHits, ffi::SQLITE_DBSTATUS_CACHE_HIT),
            (DatabaseCounter::BufferMisses, ffi::SQLITE_DBSTATUS_CACHE_MISS),
            (DatabaseCounter::WalFullPages, ffi::SQLITE_DBSTATUS_CACHE_WRITE),
        ] {
            if let Some(pages) = self.take_status(status) {
                self.counted.add(&[(counter, pages)].into_iter().collect());
            }
        }
        if let Some(pages) = self.counted.get(DatabaseCounter::WalFullPages) {
            self.counted.set(DatabaseCounter::WalBytes, pages * (page + FRAME_HEAD));
        }
        Ok(self.counted.clone())
    }
}

/// Converts an error of the library that occurs while a file is opened.
fn at_opening(path: &Path, error: &rusqlite::Error) -> OltpError {
    let database = path.display().to_string();
    let reason = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            OltpError::Rights { database, reason }
        }
        // Another program is creating or changing the file.
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            OltpError::InUse(format!("{database}: {reason}"))
        }
        _ => OltpError::Unreachable { database, reason },
    }
}

/// Converts an error of the library that occurs during a run.
#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn from_sqlite(error: rusqlite::Error) -> OltpError {
    // For statements that cannot be prepared, the crate's message contains their whole text.
    let text = match &error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        _ => error.to_string(),
    };
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OltpError::Conflict(text),
        Some(ErrorCode::DiskFull) => OltpError::Full(text),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            OltpError::Rights { database: "SQLite".to_owned(), reason: text }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => OltpError::Damaged(text),
        _ => OltpError::Database(text),
    }
}
