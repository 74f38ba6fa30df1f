//! A file as a database: its tables, which are stored in the order of their keys, its path and size.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::{Sqlite, companions, whose};
use crate::backend::{Backend, DatabaseContents, Footprint, Templates};
use crate::error::OltpError;
use crate::schema::{ColumnType, Scale, Table};
use crate::session::Connection;

/// A file with an SQLite database.
pub(crate) struct SqliteFile(pub(crate) PathBuf);

impl Backend for SqliteFile {
    fn name(&self) -> String {
        format!("sqlite:{}", self.0.display())
    }

    fn kind(&self) -> &'static str {
        "SQLite"
    }

    fn is_embedded(&self) -> bool {
        true
    }

    fn open(&self, create: bool) -> Result<Box<dyn Connection>, OltpError> {
        if !create && !self.0.exists() {
            return Err(OltpError::NotLoaded(self.name()));
        }
        Ok(Box::new(Sqlite::open(&self.0, create)?))
    }

    fn holding(&self) -> Result<DatabaseContents, OltpError> {
        whose::holding(&self.0)
    }

    fn remove(&self) -> Result<(), OltpError> {
        // A device, a pipe or a folder is never replaced, regardless of the options.
        if self.0.metadata().is_ok_and(|found| !found.is_file()) {
            let reason = "is not a regular file and is not replaced".to_owned();
            return Err(OltpError::System { what: self.name(), reason });
        }
        companions::check(&self.0)?;
        Sqlite::files(&self.0).iter().try_for_each(|file| match std::fs::remove_file(file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let what = file.display().to_string();
                Err(OltpError::System { what, reason: error.to_string() })
            }
            _ => Ok(()),
        })
    }

    fn freed_by_removal(&self) -> u64 {
        let files = Sqlite::files(&self.0);
        files.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    }

    fn tables(&self) -> String {
        let kind = |_: &str, kind| if kind == ColumnType::Text { "TEXT" } else { "INTEGER" };
        let ending = |table: Table| if table.key().is_some() { " WITHOUT ROWID" } else { "" };
        Table::ALL.map(|table| table.sql(kind, true, ending(table))).concat()
    }

    fn settings(&self) -> &'static str {
        "SELECT 'version', sqlite_version() UNION ALL SELECT 'journal_mode', 'WAL' \
            UNION ALL SELECT 'synchronous', 'FULL' \
            UNION ALL SELECT 'cache_size', '64 MiB a connection'"
    }

    fn cache(&self) -> &'static str {
        // The cache of each connection, as set by the connection's settings.
        "SELECT 65536 * 1024, page_count * page_size FROM pragma_page_count, pragma_page_size"
    }

    fn data_path(&self) -> Option<PathBuf> {
        Some(self.0.clone())
    }

    fn footprint(&self) -> Footprint {
        // Measured with version 3.53 and pages of 4 KiB.
        Footprint { items: 7_300_000, warehouse: 73_200_000 }
    }

    fn log(&self, scale: &Scale, missing: i64, _data: u64) -> Result<u64, OltpError> {
        // A part is one transaction, which is in the log before it is in the file.
        Ok(self.footprint().bytes(scale, missing.min(1), false))
    }

    fn templates(&self) -> Option<&dyn Templates> {
        Some(self)
    }
}
