//! Databases by name, and whether what they hold is ours.

use std::path::PathBuf;
use std::str::FromStr;

use crate::error::{OltpError, base_name};
use crate::known::DATA_VERSION;
#[cfg(feature = "mysql")]
use crate::mysql;
#[cfg(feature = "postgres")]
use crate::postgres;
use crate::schema::{Scale, Table};
use crate::session::Connection;
use crate::sqlite::{Sqlite, whose};

/// A database that can be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Database {
    /// A file with an SQLite database.
    Sqlite(PathBuf),
    /// The schema `lanemark_oltp` in a database of a PostgreSQL server.
    #[cfg(feature = "postgres")]
    Postgres(String),
    /// A database of a MariaDB or MySQL server.
    #[cfg(feature = "mysql")]
    Mysql(String),
}

/// The contents of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// No tables.
    Nothing,
    /// Something that is not ours.
    Foreign,
    /// Data that Lanemark loaded.
    Ours(Loaded),
}

/// The data that Lanemark loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The version of the data.
    pub version: i64,
    /// Scale of the data.
    pub scale: Scale,
    /// Warehouses that are there.
    pub warehouses: i64,
    /// Whether all is there.
    pub complete: bool,
}

impl FromStr for Database {
    type Err = OltpError;

    fn from_str(name: &str) -> Result<Self, OltpError> {
        match name.split_once(':') {
            // SQLite takes this name for contents that every connection has of its own.
            Some(("sqlite", ":memory:")) => Err(OltpError::Name(name.to_owned())),
            Some(("sqlite", file)) if !file.is_empty() => Ok(Self::Sqlite(PathBuf::from(file))),
            #[cfg(feature = "postgres")]
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                postgres::parse(name).map(|_| Self::Postgres(name.to_owned()))
            }
            #[cfg(feature = "mysql")]
            Some(("mysql" | "mariadb", rest)) if rest.starts_with("//") => {
                mysql::parse(name).map(|_| Self::Mysql(name.to_owned()))
            }
            #[cfg(not(feature = "postgres"))]
            Some(("postgres" | "postgresql", _)) => {
                Err(OltpError::NotBuiltIn { database: "PostgreSQL", feature: "postgres" })
            }
            #[cfg(not(feature = "mysql"))]
            Some(("mysql" | "mariadb", _)) => {
                Err(OltpError::NotBuiltIn { database: "MariaDB and MySQL", feature: "mysql" })
            }
            _ => Err(OltpError::Name(without_password(name))),
        }
    }
}

/// A database's name as it may be shown.
fn without_password(name: &str) -> String {
    let mut shown = name.to_owned();
    if let Some((scheme, rest)) = name.split_once("://") {
        // What is behind ? may hold a password too, and is of no use to a reader.
        let rest = rest.split('?').next().unwrap_or(rest);
        shown = match rest.rsplit_once('@') {
            Some((account, place)) => {
                let user = account.split(':').next().unwrap_or(account);
                format!("{scheme}://{user}@{place}")
            }
            None => format!("{scheme}://{rest}"),
        };
    }
    shown
}

impl Database {
    /// Returns the database's name, without a password.
    pub fn name(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            #[cfg(feature = "postgres")]
            Self::Postgres(name) => without_password(name),
            #[cfg(feature = "mysql")]
            Self::Mysql(name) => without_password(name),
        }
    }

    /// Returns the kind of database.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "SQLite",
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => "PostgreSQL",
            #[cfg(feature = "mysql")]
            Self::Mysql(_) => "MariaDB/MySQL",
        }
    }

    /// Whether several connections can load at once.
    pub(crate) fn loads_in_parallel(&self) -> bool {
        !matches!(self, Self::Sqlite(_))
    }

    /// A connection to what is there.
    pub fn connect(&self) -> Result<Box<dyn Connection>, OltpError> {
        self.open(false)
    }

    /// A connection for a user, whose transactions are procedures of the server where that is asked for.
    pub fn connect_user(&self, procedures: bool) -> Result<Box<dyn Connection>, OltpError> {
        match self {
            _ if !procedures => self.connect(),
            #[cfg(feature = "postgres")]
            Self::Postgres(name) => {
                let connection = postgres::Postgres::connect(name, &self.name())?;
                Ok(Box::new(connection.use_procedures()?))
            }
            _ => Err(OltpError::Lacks {
                what: "procedures".to_owned(),
                reason: format!("{} has none here; PostgreSQL does", self.kind()),
            }),
        }
    }

    fn open(&self, create: bool) -> Result<Box<dyn Connection>, OltpError> {
        match self {
            Self::Sqlite(path) if !create && !path.exists() => {
                Err(OltpError::NotLoaded(self.name()))
            }
            Self::Sqlite(path) => Ok(Box::new(Sqlite::open(path, create)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(name) => Ok(Box::new(postgres::Postgres::connect(name, &self.name())?)),
            #[cfg(feature = "mysql")]
            Self::Mysql(name) => Ok(Box::new(mysql::Mysql::connect(name, &self.name(), create)?)),
        }
    }

    /// Returns the contents of the database.
    pub fn holding(&self) -> Result<Holding, OltpError> {
        match self {
            Self::Sqlite(path) => whose::holding(path),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => held(self.connect()?.as_mut(), postgres::TABLES),
            #[cfg(feature = "mysql")]
            Self::Mysql(_) => match self.connect() {
                Err(OltpError::NotLoaded(_)) => Ok(Holding::Nothing),
                outcome => held(outcome?.as_mut(), mysql::TABLES),
            },
        }
    }

    /// Returns the loaded data; an error unless it is all there, and of this version.
    pub fn loaded(&self) -> Result<Loaded, OltpError> {
        match self.holding()? {
            Holding::Ours(loaded) if loaded.version != DATA_VERSION => {
                Err(OltpError::Version { database: self.name(), found: loaded.version })
            }
            Holding::Ours(loaded) if !loaded.complete => Err(OltpError::Incomplete {
                database: self.name(),
                loaded: loaded.warehouses,
                warehouses: loaded.scale.warehouses,
            }),
            Holding::Ours(loaded) => Ok(loaded),
            _ => Err(OltpError::NotLoaded(self.name())),
        }
    }

    /// Makes empty tables; in one transaction, so that there are all or none. MySQL has no such transactions: what
    /// was cut short there counts as somebody else's.
    pub(crate) fn create(&self, scale: &Scale) -> Result<(), OltpError> {
        let mut connection = self.open(true)?;
        let mut sql = String::from("BEGIN;\n");
        match self {
            Self::Sqlite(_) => Table::ALL.iter().for_each(|&table| sql += &sqlite_table(table)),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => sql += &postgres::tables(),
            #[cfg(feature = "mysql")]
            Self::Mysql(_) => sql += &mysql::tables(),
        }
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
        connection.script(&(sql + "COMMIT;"))
    }

    /// Finishes loading when all rows are there: keys, indexes, and the mark that it is complete.
    pub(crate) fn finish(&self, connection: &mut dyn Connection) -> Result<(), OltpError> {
        let complete = "UPDATE lanemark_oltp SET value = 1 WHERE \"key\" = 'complete';\nCOMMIT;\n";
        #[cfg(feature = "mysql")]
        if matches!(self, Self::Mysql(_)) {
            return connection.script(&format!("BEGIN;\n{complete}{}", mysql::analysis()));
        }
        let mut sql = String::from("BEGIN;\n");
        #[cfg(feature = "postgres")]
        if matches!(self, Self::Postgres(_)) {
            sql += &postgres::keys();
        }
        for (name, columns) in crate::schema::INDEXES {
            sql += &format!("CREATE INDEX {name} ON {columns};\n");
        }
        sql = sql + complete + "ANALYZE;";
        connection.script(&sql)
    }

    /// Whether `--overwrite` names this database.
    pub(crate) fn is_called(&self, given: &str) -> bool {
        let name = self.name();
        given == base_name(&name) || given == name
    }

    /// About what a freshly loaded `scale` takes there, in bytes, without its log.
    pub fn footprint(&self, scale: &Scale) -> u64 {
        crate::room::footprint(self, scale)
    }

    /// Bytes that are free when what is there is removed, as far as it is known.
    pub(crate) fn freed_by_removal(&self) -> u64 {
        match self {
            Self::Sqlite(path) => {
                let files = Sqlite::files(path);
                files.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum()
            }
            #[cfg(any(feature = "postgres", feature = "mysql"))]
            _ => self.cache_and_data().map_or(0, |(_, data)| data),
        }
    }

    /// Removes what is there, ours or not. The caller has asked.
    pub(crate) fn remove(&self) -> Result<(), OltpError> {
        match self {
            // A device, a pipe or a folder is never replaced, whatever was asked.
            Self::Sqlite(path) if path.metadata().is_ok_and(|found| !found.is_file()) => {
                let reason = "is no regular file, and is not replaced".to_owned();
                Err(OltpError::System { what: self.name(), reason })
            }
            Self::Sqlite(path) => {
                Sqlite::files(path).iter().try_for_each(|file| match std::fs::remove_file(file) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        let what = file.display().to_string();
                        Err(OltpError::System { what, reason: error.to_string() })
                    }
                    _ => Ok(()),
                })
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => self.connect()?.script("DROP SCHEMA lanemark_oltp CASCADE"),
            #[cfg(feature = "mysql")]
            Self::Mysql(name) => {
                let (_, database) = mysql::parse(name)?;
                let quoted = database.replace('"', "\"\"");
                self.connect()?.script(&format!("DROP DATABASE \"{quoted}\""))
            }
        }
    }

    /// The program's version and the settings that decide what a commit means.
    pub fn settings(&self) -> Result<Vec<(String, String)>, OltpError> {
        match self {
            Self::Sqlite(_) => Ok([
                ("version", rusqlite::version()),
                ("journal_mode", "WAL"),
                ("synchronous", "FULL"),
                ("cache_size", "64 MiB a connection"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => postgres::settings(self.connect()?.as_mut()),
            #[cfg(feature = "mysql")]
            Self::Mysql(_) => mysql::settings(self.connect()?.as_mut()),
        }
    }

    /// Returns the sizes of the database's own cache and of the loaded data, in bytes; SQLite's cache is that of each
    /// connection.
    pub fn cache_and_data(&self) -> Result<(u64, u64), OltpError> {
        let sql = match self {
            Self::Sqlite(_) => crate::sqlite::CACHE,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => postgres::CACHE,
            #[cfg(feature = "mysql")]
            Self::Mysql(_) => mysql::CACHE,
        };
        let mut found = (0, 0);
        self.connect()?.scan(sql, &mut |row| {
            found = (row[0].int().cast_unsigned(), row[1].int().cast_unsigned());
        })?;
        Ok(found)
    }

    /// The folder or file with its data, where that is on this machine and may be known.
    pub fn data_path(&self) -> Option<PathBuf> {
        match self {
            Self::Sqlite(path) => Some(path.clone()),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => postgres::data_path(self.connect().ok()?.as_mut()),
            #[cfg(feature = "mysql")]
            Self::Mysql(name) => mysql::data_path(name, self.connect().ok()?.as_mut()),
        }
    }
}

/// Returns the contents of a server by its tables, which the statement `tables` lists.
#[cfg(any(feature = "postgres", feature = "mysql"))]
fn held(connection: &mut dyn Connection, tables: &str) -> Result<Holding, OltpError> {
    let (mut any, mut ours) = (false, false);
    connection.scan(tables, &mut |row| {
        any = true;
        ours |= row[0].text() == "lanemark_oltp";
    })?;
    if !ours {
        return Ok(if any { Holding::Foreign } else { Holding::Nothing });
    }
    Ok(read_loaded(connection).map_or(Holding::Foreign, Holding::Ours))
}

/// The notes of a load; nothing where they are not of our making.
pub(crate) fn read_loaded(connection: &mut dyn Connection) -> Option<Loaded> {
    let mut notes = std::collections::BTreeMap::new();
    let mut note = |row: &[crate::value::Value<'_>]| {
        notes.insert(row[0].text().to_owned(), row[1].int());
    };
    connection.scan(r#"SELECT "key", value FROM lanemark_oltp"#, &mut note).ok()?;
    let mut warehouses = 0;
    let counted = "SELECT COUNT(*) FROM lanemark_progress WHERE part > 0";
    connection.scan(counted, &mut |row| warehouses = row[0].int()).ok()?;
    Some(Loaded {
        version: *notes.get("version")?,
        scale: Scale {
            warehouses: *notes.get("warehouses")?,
            divisor: *notes.get("divisor")?,
            seed: notes.get("seed")?.cast_unsigned(),
        },
        warehouses,
        complete: *notes.get("complete")? == 1,
    })
}

/// A table of SQLite's, which lies in the order of its key.
fn sqlite_table(table: Table) -> String {
    let column = |(name, kind): &crate::schema::Column| match kind {
        crate::schema::Kind::Text => format!("{name} TEXT"),
        _ => format!("{name} INTEGER"),
    };
    let mut columns: Vec<String> = table.columns().iter().map(column).collect();
    let mut ending = "";
    if let Some(key) = table.key() {
        columns.push(format!("PRIMARY KEY ({key})"));
        ending = " WITHOUT ROWID";
    }
    format!("CREATE TABLE {} ({}){ending};\n", table.name(), columns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_without_passwords() {
        for (given, shown) in [
            ("postgres://me:secret@host:5432/db?password=x", "postgres://me@host:5432/db"),
            ("postgres://host/db", "postgres://host/db"),
            ("sqlite:a.db", "sqlite:a.db"),
        ] {
            assert_eq!(without_password(given), shown);
        }
    }

    #[test]
    fn what_names_no_database_is_refused() {
        for name in ["", "x", "sqlite:", "sqlite::memory:", "oracle://x"] {
            assert!(matches!(name.parse::<Database>(), Err(OltpError::Name(_))), "{name}");
        }
    }
}
