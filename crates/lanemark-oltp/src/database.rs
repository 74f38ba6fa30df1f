//! Databases by name. Only this file maps a name to a module.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use crate::backend::Backend;
pub use crate::backend::{DatabaseContents, LoadedData};
use crate::error::{OltpError, base_name};
#[cfg(feature = "mysql")]
use crate::mysql::MysqlDatabase;
use crate::postgres::PostgresDatabase;
use crate::schema::Scale;
use crate::schemes::DATA_VERSION;
use crate::secrets::without_password;
use crate::session::Connection;
use crate::sqlite::SqliteFile;

#[derive(Clone)]
pub struct Database(Arc<dyn Backend>);

impl FromStr for Database {
    type Err = OltpError;

    fn from_str(name: &str) -> Result<Self, OltpError> {
        match name.split_once(':') {
            // SQLite gives each connection separate contents under this name.
            Some(("sqlite", ":memory:")) => Err(OltpError::Name(name.to_owned())),
            Some(("sqlite", file)) if !file.is_empty() => Ok(Self::sqlite(file)),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Ok(Self(Arc::new(PostgresDatabase::new(name)?)))
            }

            #[cfg(feature = "mysql")]
            Some(("mysql" | "mariadb", rest)) if rest.starts_with("//") => {
                Ok(Self(Arc::new(MysqlDatabase::new(name)?)))
            }

            #[cfg(not(feature = "mysql"))]
            Some(("mysql" | "mariadb", _)) => {
                Err(OltpError::NotBuiltIn { database: "MariaDB and MySQL", feature: "mysql" })
            }
            _ => Err(OltpError::Name(without_password(name))),
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Database").field(&self.name()).finish()
    }
}

impl Database {
    pub fn sqlite(path: impl Into<PathBuf>) -> Self {
        Self(Arc::new(SqliteFile(path.into())))
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.0
    }

    /// Returns the database's name, without a password.
    pub fn name(&self) -> String {
        self.0.name()
    }

    /// Returns the type of database.
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Connects to the existing database.
    pub fn connect(&self) -> Result<Box<dyn Connection>, OltpError> {
        self.0.open(false)
    }

    pub fn examine_contents(&self) -> Result<DatabaseContents, OltpError> {
        self.0.examine_contents()
    }

    /// Returns the loaded data.
    ///
    /// # Errors
    /// Returns an error if the data is absent, is incomplete or has a different version.
    pub fn loaded(&self) -> Result<LoadedData, OltpError> {
        self.0.loaded()
    }

    /// Creates the empty tables in one transaction, so that either all tables exist or no table does. MySQL cannot
    /// create tables in a transaction, so there the tables of an interrupted load count as foreign.
    pub(crate) fn create(&self, scale: &Scale) -> Result<(), OltpError> {
        let mut sql = format!("BEGIN;\n{}", self.0.tables());
        sql += "CREATE TABLE lanemark_progress (part BIGINT PRIMARY KEY);\n";
        sql += "CREATE TABLE lanemark_oltp (\"key\" VARCHAR(32) PRIMARY KEY, value BIGINT NOT NULL);\n";
        for (key, value) in [
            ("version", DATA_VERSION),
            ("warehouses", scale.warehouses),
            ("divisor", scale.divisor),
            ("seed", scale.seed.cast_signed()),
            ("complete", 0),
        ] {
            sql += &format!("INSERT INTO lanemark_oltp VALUES ('{key}', {value});\n");
        }
        self.0.open(true)?.script(&(sql + "COMMIT;"))
    }

    /// Finishes a load after all rows are present: creates keys and indexes, and marks the load as complete.
    pub(crate) fn finish(&self, connection: &mut dyn Connection) -> Result<(), OltpError> {
        let complete = "UPDATE lanemark_oltp SET value = 1 WHERE \"key\" = 'complete';\nCOMMIT;\n";
        let keys = self.0.keys();
        let analysis = self.0.analysis();
        connection.script(&format!("BEGIN;\n{keys}{complete}{analysis}"))
    }

    /// Rejects an `--overwrite` that does not name this database.
    pub(crate) fn check_called(&self, given: Option<&str>) -> Result<(), OltpError> {
        let full_name = self.name();
        let name = base_name(&full_name);
        match given.filter(|&given| given != name && given != full_name) {
            None => Ok(()),
            Some(given) => {
                Err(OltpError::OverwriteMismatch { given: given.to_owned(), name: name.to_owned() })
            }
        }
    }

    /// Returns the estimated size in bytes of a freshly loaded `scale`, without its log.
    pub fn footprint(&self, scale: &Scale) -> u64 {
        self.0.footprint().bytes(scale, scale.warehouses, true)
    }

    /// Returns the program's version and the settings that affect the durability of commits.
    pub fn settings(&self) -> Result<Vec<(String, String)>, OltpError> {
        self.0.settings_read()
    }

    /// Returns the sizes of the database's own cache and of the loaded data, in bytes; for SQLite, the cache size of
    /// each connection.
    pub fn cache_and_data(&self) -> Result<(u64, u64), OltpError> {
        self.0.cache_and_data()
    }

    /// Returns the folder or file with the data, if it is on this machine and the account may query it.
    pub fn data_path(&self) -> Option<PathBuf> {
        self.0.data_path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_database_is_refused() {
        for name in ["", "x", "sqlite:", "sqlite::memory:", "oracle://x"] {
            assert!(matches!(name.parse::<Database>(), Err(OltpError::Name(_))), "{name}");
        }
    }
}
