//! A file as a database: its tables, which are stored in the order of their keys, its path and its size.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::{SqliteConnection, companions, ownership};
use crate::backend::{Backend, DatabaseContents, Footprint};
use crate::error::OltpError;
use crate::schema::{ColumnType, Scale, Table};
use crate::session::Connection;

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
        Ok(Box::new(SqliteConnection::open(&self.0, create)?))
    }

    fn examine_contents(&self) -> Result<DatabaseContents, OltpError> {
        ownership::database_contents(&self.0)
    }

    fn remove(&self) -> Result<(), OltpError> {
        // A device, a pipe or a folder is never replaced, regardless of the options.
        if self.0.metadata().is_ok_and(|found| !found.is_file()) {
            let reason = "is not a regular file and is not replaced".to_owned();
            return Err(OltpError::System { what: self.name(), reason });
        }
        companions::check(&self.0)?;
        SqliteConnection::files(&self.0).iter().try_for_each(|file| {
            match std::fs::remove_file(file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    let what = file.display().to_string();
                    Err(OltpError::System { what, reason: error.to_string() })
                }
                _ => Ok(()),
            }
        })
    }

    fn freed_by_removal(&self) -> u64 {
        let files = SqliteConnection::files(&self.0);
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
        // The cache size of a connection, which `SETTINGS` sets.
        "SELECT 65536 * 1024, page_count * page_size FROM pragma_page_count, pragma_page_size"
    }

    fn data_path(&self) -> Option<PathBuf> {
        Some(self.0.clone())
    }

    fn footprint(&self) -> Footprint {
        // Measured with version 3.53 and 4 KiB pages.
        Footprint { items: 7_300_000, warehouse: 73_200_000 }
    }

    fn log(&self, scale: &Scale, missing: i64, _data: u64) -> Result<u64, OltpError> {
        // A part is one transaction, which is written to the log before it is written to the file.
        Ok(self.footprint().bytes(scale, missing.min(1), false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_frees_the_file_with_its_log_and_its_index() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        let file = SqliteFile(path.clone());
        assert_eq!(file.freed_by_removal(), 0);
        assert!(file.remove().is_ok(), "nothing is there");
        assert!(matches!(file.open(false), Err(OltpError::NotLoaded(_))));
        assert!(!path.exists());
        for (ending, length) in [("", 300), ("-wal", 50), ("-shm", 7)] {
            std::fs::write(format!("{}{ending}", path.display()), vec![0; length]).unwrap();
        }
        assert_eq!(file.freed_by_removal(), 357);
        let other = SqliteFile(folder.path().to_owned());
        assert!(matches!(other.remove(), Err(OltpError::System { .. })), "a folder");
        assert!(folder.path().exists());
        assert_eq!(file.name(), format!("sqlite:{}", path.display()));
        assert_eq!((file.kind(), file.is_embedded()), ("SQLite", true));
        assert_eq!(file.data_path(), Some(path));
    }

    #[test]
    fn tables_with_a_key_are_stored_in_its_order() {
        let tables = SqliteFile(PathBuf::new()).tables();
        assert_eq!(tables.matches("CREATE TABLE").count(), 9);
        assert_eq!(tables.matches(") WITHOUT ROWID;").count(), 8);
        let history = tables.lines().find(|line| line.starts_with("CREATE TABLE history")).unwrap();
        let kinds = "h_c_id INTEGER, h_c_d_id INTEGER, h_c_w_id INTEGER, h_d_id INTEGER, h_w_id INTEGER, \
                     h_date INTEGER, h_amount INTEGER, h_data TEXT";
        assert_eq!(history, format!("CREATE TABLE history ({kinds});"));
    }
}
