//! The trait that a database's module implements, and the code that all databases share.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::OltpError;
use crate::observer::{DatabaseObserver, TransactionCounter};
use crate::schema::{INDEXES, Scale};
use crate::schemes::DATA_VERSION;
use crate::session::Connection;
use crate::value::Row;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseContents {
    /// The database does not contain tables.
    Nothing,
    /// Tables that are not Lanemark's.
    Foreign,
    /// Data that Lanemark loaded.
    Ours(LoadedData),
}

/// The data that Lanemark loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedData {
    pub version: i64,
    pub scale: Scale,
    pub warehouses: i64,
    /// Whether all parts are loaded.
    pub complete: bool,
}

/// Number of bytes that loaded data occupies in a database, derived from its file sizes after 1 and 3 warehouses were
/// loaded.
#[derive(Clone, Copy)]
pub(crate) struct Footprint {
    /// Size of the items in bytes, independent of the number of warehouses.
    pub(crate) items: u64,
    /// Size of a warehouse, in bytes.
    pub(crate) warehouse: u64,
}

impl Footprint {
    /// Returns the size in bytes of `warehouses` warehouses of a scale, including the items if `items` is set.
    pub(crate) fn bytes(self, scale: &Scale, warehouses: i64, items: bool) -> u64 {
        let items = if items { self.items } else { 0 };
        let warehouses = self.warehouse.saturating_mul(warehouses.unsigned_abs());
        (items.saturating_add(warehouses)) / scale.divisor.unsigned_abs().max(1)
    }
}

/// A type of database. The second group of methods has defaults that a database may override; the third group uses the
/// first two.
pub(crate) trait Backend: Send + Sync {
    /// Returns the database's name, without a password.
    fn name(&self) -> String;

    /// Returns the type of the database, as reports print it.
    fn kind(&self) -> &'static str;

    /// Connects to the database; creates it first if `create` is set and it does not exist.
    fn open(&self, create: bool) -> Result<Box<dyn Connection>, OltpError>;

    fn examine_contents(&self) -> Result<DatabaseContents, OltpError>;

    /// Removes the contents, regardless of the program that created them.
    fn remove(&self) -> Result<(), OltpError>;

    /// Returns SQL that creates the empty tables.
    fn tables(&self) -> String;

    /// Returns SQL for the name and value of the program's version and of each setting that affects the durability of
    /// commits.
    fn settings(&self) -> &'static str;

    /// Returns SQL for the sizes of the database's own cache and of the loaded data, in bytes.
    fn cache(&self) -> &'static str;

    /// Returns the folder or file with the data, if it is on this machine and the account may query it.
    fn data_path(&self) -> Option<PathBuf>;

    /// Returns the number of bytes that the tables and indexes occupy.
    fn footprint(&self) -> Footprint;

    /// Returns whether the database runs inside the driver, with one writing connection at a time.
    fn is_embedded(&self) -> bool {
        false
    }

    /// Returns SQL for the keys and indexes that are created after all rows are loaded.
    fn keys(&self) -> String {
        INDEXES.to_owned()
    }

    /// Returns SQL that collects the planner's statistics.
    fn analysis(&self) -> String {
        "ANALYZE".to_owned()
    }

    /// Returns the maximum size of the log while `missing` warehouses are loaded, whose tables occupy `data` bytes.
    fn log(&self, _scale: &Scale, _missing: i64, _data: u64) -> Result<u64, OltpError> {
        Ok(0)
    }

    /// Returns the known number of bytes that become free when the contents are removed.
    fn freed_by_removal(&self) -> u64 {
        self.cache_and_data().map_or(0, |(_, data)| data)
    }

    fn observe(&self) -> Result<Box<dyn DatabaseObserver>, OltpError> {
        Ok(Box::new(TransactionCounter(self.open(false)?)))
    }

    /// Returns the settings by name; settings without a value are omitted.
    fn settings_read(&self) -> Result<Vec<(String, String)>, OltpError> {
        let rows = self.open(false)?.rows(self.settings())?;
        let pairs = rows.iter().map(|row| (row[0].text().to_owned(), row[1].text().to_owned()));
        Ok(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// Returns the sizes of the database's own cache and of the loaded data, in bytes.
    fn cache_and_data(&self) -> Result<(u64, u64), OltpError> {
        let rows = self.open(false)?.rows(self.cache())?;
        let sizes = |row: &Row| (row[0].int().cast_unsigned(), row[1].int().cast_unsigned());
        Ok(rows.first().map_or((0, 0), sizes))
    }

    /// Returns the loaded data.
    ///
    /// # Errors
    /// Returns an error if the data is absent, is incomplete or has a different version.
    fn loaded(&self) -> Result<LoadedData, OltpError> {
        match self.examine_contents()? {
            DatabaseContents::Ours(loaded) if loaded.version != DATA_VERSION => {
                Err(OltpError::Version { database: self.name(), found: loaded.version })
            }
            DatabaseContents::Ours(loaded) if !loaded.complete => Err(OltpError::Incomplete {
                database: self.name(),
                loaded: loaded.warehouses,
                warehouses: loaded.scale.warehouses,
            }),
            DatabaseContents::Ours(loaded) => Ok(loaded),
            _ => Err(OltpError::NotLoaded(self.name())),
        }
    }

    /// Returns the error for data whose scale or seed differs from the requested data.
    fn differs(&self, loaded: &LoadedData, wanted: &Scale) -> OltpError {
        OltpError::Different {
            database: self.name(),
            found: loaded.scale.to_string(),
            wanted: wanted.to_string(),
        }
    }
}

/// Classifies the contents of a server by its tables, which the statement `tables` lists.
pub(crate) fn judged_contents(
    connection: &mut dyn Connection,
    tables: &str,
) -> Result<DatabaseContents, OltpError> {
    let rows = connection.rows(tables)?;
    Ok(if rows.iter().any(|row| row[0].text() == "lanemark_oltp") {
        read_loaded(connection).map_or(DatabaseContents::Foreign, DatabaseContents::Ours)
    } else if rows.is_empty() {
        DatabaseContents::Nothing
    } else {
        DatabaseContents::Foreign
    })
}

/// Returns the record of a load, or `None` if Lanemark did not write it.
pub(crate) fn read_loaded(connection: &mut dyn Connection) -> Option<LoadedData> {
    let notes = connection.rows(r#"SELECT "key", value FROM lanemark_oltp"#).ok()?;
    let notes: BTreeMap<_, _> = notes.iter().map(|row| (row[0].text(), row[1].int())).collect();
    let counted = "SELECT COUNT(*) FROM lanemark_progress WHERE part > 0";
    let warehouses = connection.rows(counted).ok()?.first()?[0].int();
    Some(LoadedData {
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
