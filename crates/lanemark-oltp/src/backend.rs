//! The trait by which the module of a database says all that is particular to it, and what all databases share.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::OltpError;
use crate::known::DATA_VERSION;
use crate::observer::{Counted, Observer};
use crate::schema::{INDEXES, Scale, Table};
use crate::session::Connection;
use crate::value::Row;

/// The longest name of kept contents.
const KEPT_NAME_MAX: usize = 40;

/// The contents of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// No tables.
    Nothing,
    /// Tables that are not Lanemark's.
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

/// Bytes that a database takes for what is loaded, by its files after loading 1 and 3 warehouses.
#[derive(Clone, Copy)]
pub(crate) struct Footprint {
    /// The items, which are there once.
    pub(crate) items: u64,
    /// Size of a warehouse, in bytes.
    pub(crate) warehouse: u64,
}

impl Footprint {
    /// The bytes of so many warehouses of a scale, and of the items where they are asked for.
    pub(crate) fn bytes(self, scale: &Scale, warehouses: i64, items: bool) -> u64 {
        let items = if items { self.items } else { 0 };
        let warehouses = self.warehouse.saturating_mul(warehouses.unsigned_abs());
        (items.saturating_add(warehouses)) / scale.divisor.unsigned_abs().max(1)
    }
}

/// A database of one kind. The second group of methods has defaults, which a database overrides where it does
/// otherwise; the third follows from the others.
pub(crate) trait Backend: Send + Sync {
    /// The database's name, without a password.
    fn name(&self) -> String;

    /// The kind of database, as a reader knows it.
    fn kind(&self) -> &'static str;

    /// A connection to what is there; the database is made where `create` says so and there is none.
    fn open(&self, create: bool) -> Result<Box<dyn Connection>, OltpError>;

    /// The contents of the database.
    fn holding(&self) -> Result<Holding, OltpError>;

    /// Removes what is there, ours or not.
    fn remove(&self) -> Result<(), OltpError>;

    /// SQL that makes the empty tables.
    fn tables(&self) -> String;

    /// SQL for the program's version and the settings that decide what a commit means: each one's name and value.
    fn settings(&self) -> &'static str;

    /// SQL for the sizes of the database's own cache and of the loaded data, in bytes.
    fn cache(&self) -> &'static str;

    /// The folder or file with its data, where that is on this machine and may be known.
    fn data_path(&self) -> Option<PathBuf>;

    /// Bytes that its tables and indexes take.
    fn footprint(&self) -> Footprint;

    /// Whether the database is inside the driver, where one connection at a time writes.
    fn is_embedded(&self) -> bool {
        false
    }

    /// A connection whose transactions are procedures of the server.
    fn open_procedures(&self) -> Result<Box<dyn Connection>, OltpError> {
        Err(self.lacks("procedures", "has none here; PostgreSQL does"))
    }

    /// SQL that makes what is left for when all rows are there: keys and indexes.
    fn keys(&self) -> String {
        INDEXES.to_owned()
    }

    /// SQL that gathers the planner's figures.
    fn analysis(&self) -> String {
        "ANALYZE".to_owned()
    }

    /// Bytes of log that loading `missing` warehouses takes at the most, whose tables take `data` bytes.
    fn log(&self, _scale: &Scale, _missing: i64, _data: u64) -> Result<u64, OltpError> {
        Ok(0)
    }

    /// Bytes that are free when what is there is removed, as far as it is known.
    fn freed_by_removal(&self) -> u64 {
        self.cache_and_data().map_or(0, |(_, data)| data)
    }

    /// Returns the backend's way to keep contents, where it has one.
    fn templates(&self) -> Option<&dyn Templates> {
        None
    }

    /// The observer of the database while users work.
    fn observe(&self) -> Result<Box<dyn Observer>, OltpError> {
        Ok(Box::new(Counted(self.open(false)?)))
    }

    /// The error for what this kind of database lacks.
    fn lacks(&self, what: &str, why: &str) -> OltpError {
        OltpError::Lacks { what: what.to_owned(), reason: format!("{} {why}", self.kind()) }
    }

    /// The settings by name, without those that have no value.
    fn settings_read(&self) -> Result<Vec<(String, String)>, OltpError> {
        let rows = self.open(false)?.rows(self.settings())?;
        let pairs = rows.iter().map(|row| (row[0].text().to_owned(), row[1].text().to_owned()));
        Ok(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The sizes of the database's own cache and of the loaded data, in bytes.
    fn cache_and_data(&self) -> Result<(u64, u64), OltpError> {
        let rows = self.open(false)?.rows(self.cache())?;
        let sizes = |row: &Row| (row[0].int().cast_unsigned(), row[1].int().cast_unsigned());
        Ok(rows.first().map_or((0, 0), sizes))
    }

    /// The loaded data; an error unless it is all there, and of this version.
    fn loaded(&self) -> Result<Loaded, OltpError> {
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

    /// The error for data of another scale or seed than the one that is asked for.
    fn differs(&self, loaded: &Loaded, wanted: &Scale) -> OltpError {
        OltpError::Different {
            database: self.name(),
            found: loaded.scale.to_string(),
            wanted: wanted.to_string(),
        }
    }
}

/// Contents kept under a name beside a database.
pub(crate) trait Templates: Backend {
    /// SQL for what is there beside our tables.
    fn others(&self) -> &'static str;

    /// Keeps what is there as `name`, in the place of what has this name where `overwrite` says so.
    fn keep(&self, name: &str, overwrite: bool) -> Result<(), OltpError>;

    /// Brings back what was kept as `name`, in the place of other contents where `overwrite` says so.
    fn restore(&self, name: &str, overwrite: bool) -> Result<(), OltpError>;

    /// Refuses to lose contents that are not those of `scale`.
    fn refuse_other(&self, scale: &Scale) -> Result<(), OltpError> {
        match self.holding()? {
            Holding::Nothing => Ok(()),
            Holding::Foreign => Err(OltpError::Foreign(self.name())),
            Holding::Ours(loaded) if loaded.scale != *scale => Err(self.differs(&loaded, scale)),
            Holding::Ours(_) => self.refuse_others(),
        }
    }

    /// Refuses what holds anything beside our tables.
    fn refuse_others(&self) -> Result<(), OltpError> {
        let rows = self.open(false)?.rows(self.others())?;
        let ours = |name: &str| {
            name.starts_with("lanemark_") || Table::ALL.iter().any(|one| one.name() == name)
        };
        match rows.iter().map(|row| row[0].text()).find(|name| !ours(name)) {
            None => Ok(()),
            Some(what) => Err(OltpError::Beside { database: self.name(), what: what.to_owned() }),
        }
    }

    /// The error for a name under which nothing is kept, with the names that are `kept`.
    fn not_kept(&self, name: &str, mut kept: Vec<String>) -> OltpError {
        kept.sort();
        OltpError::NotKept { database: self.name(), name: name.to_owned(), kept }
    }
}

/// Returns the contents of a server by its tables, which the statement `tables` lists.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) fn held(connection: &mut dyn Connection, tables: &str) -> Result<Holding, OltpError> {
    let rows = connection.rows(tables)?;
    Ok(match rows.iter().any(|row| row[0].text() == "lanemark_oltp") {
        true => read_loaded(connection).map_or(Holding::Foreign, Holding::Ours),
        false if rows.is_empty() => Holding::Nothing,
        false => Holding::Foreign,
    })
}

/// The notes of a load; nothing where they are not of our making.
pub(crate) fn read_loaded(connection: &mut dyn Connection) -> Option<Loaded> {
    let notes = connection.rows(r#"SELECT "key", value FROM lanemark_oltp"#).ok()?;
    let notes: BTreeMap<_, _> = notes.iter().map(|row| (row[0].text(), row[1].int())).collect();
    let counted = "SELECT COUNT(*) FROM lanemark_progress WHERE part > 0";
    let warehouses = connection.rows(counted).ok()?.first()?[0].int();
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

/// A database's name as it may be shown.
pub(crate) fn without_password(name: &str) -> String {
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

/// Whether a name can be part of a file's and of a database's name.
pub(crate) fn check_kept_name(name: &str) -> Result<(), OltpError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    match !name.is_empty() && name.len() <= KEPT_NAME_MAX && name.bytes().all(plain) {
        true => Ok(()),
        false => Err(OltpError::KeptName(name.to_owned())),
    }
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
    fn names_are_plain() {
        assert!(check_kept_name("fresh_100w").is_ok());
        for name in ["", "a/b", "Fresh", "x\"; DROP", &"x".repeat(41)] {
            assert!(check_kept_name(name).is_err(), "{name}");
        }
    }
}
