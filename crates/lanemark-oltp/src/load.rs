//! Loads a database in parts. Each part is one transaction, so that an interrupted load can continue.
//!
//! Part 0 contains the items, and part N contains warehouse N. The transaction of a part also writes the row that
//! records the part.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::database::{Database, DatabaseContents};
use crate::error::OltpError;
use crate::population::Population;
use crate::schema::{Scale, Table};
use crate::schemes::DATA_VERSION;
use crate::session::Connection;

/// Number of rows between two checks of the stop flag.
const ROWS_A_LOOK: u64 = 4_096;

#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Scale and seed of the data.
    pub scale: Scale,
    /// Number of connections that load in parallel, if the database supports it.
    pub jobs: usize,
    /// Name of a database whose contents may be replaced.
    pub overwrite: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadReport {
    pub rows: u64,
    /// Warehouses that were loaded before.
    pub kept: i64,
    /// Duration of loading, in seconds.
    pub seconds: f64,
    /// Time from the creation of the empty tables to the last row, in seconds; keys and indexes are created later.
    pub rows_seconds: f64,
}

/// Loads a database. `progress` receives the number of loaded parts and the total number of parts.
pub fn load(
    database: &Database,
    options: &LoadOptions,
    stop: &AtomicBool,
    progress: &(dyn Fn(i64, i64) + Sync),
) -> Result<LoadReport, OltpError> {
    let room = crate::free_space::DataFolder::query(database);
    load_parts(database, options, stop, progress).map_err(|error| room.explain(error))
}

fn load_parts(
    database: &Database,
    options: &LoadOptions,
    stop: &AtomicBool,
    progress: &(dyn Fn(i64, i64) + Sync),
) -> Result<LoadReport, OltpError> {
    options.scale.check()?;
    let begun = Instant::now();
    make_room(database, options)?;
    let rows_begun = Instant::now();
    let mut connection = database.connect()?;
    let parts = connection.rows("SELECT part FROM lanemark_progress")?;
    let there: BTreeSet<i64> = parts.iter().map(|row| row[0].int()).collect();
    let warehouses = options.scale.warehouses;
    let missing: Vec<i64> = (0..=warehouses).filter(|part| !there.contains(part)).collect();
    let done = Mutex::new(there.len() as i64);
    let queue = Mutex::new(missing.into_iter());
    let work = |connection: &mut dyn Connection| {
        let mut rows = 0;
        loop {
            // The lock is released before the part is loaded.
            let next = queue.lock().map(|mut queue| queue.next()).unwrap_or(None);
            let Some(part) = next else { return Ok(rows) };
            rows += load_part(connection, &options.scale, part, stop)?;
            if let Ok(mut done) = done.lock() {
                *done += 1;
                progress(*done, warehouses + 1);
            }
        }
    };
    let embedded = database.backend().is_embedded();
    let helpers = if embedded { 0 } else { options.jobs.saturating_sub(1) };
    let rows = std::thread::scope(|scope| {
        let started: Vec<_> =
            (0..helpers).map(|_| scope.spawn(|| work(database.connect()?.as_mut()))).collect();
        let mut outcomes = vec![work(connection.as_mut())];
        outcomes.extend(started.into_iter().map(|thread| {
            let thread_death_error = || OltpError::System {
                what: "loading".to_owned(),
                reason: "a thread has panicked".to_owned(),
            };
            thread.join().unwrap_or_else(|_| Err(thread_death_error()))
        }));
        outcomes.into_iter().sum::<Result<u64, OltpError>>()
    })?;
    let rows_seconds = rows_begun.elapsed().as_secs_f64();
    if let DatabaseContents::Ours(loaded) = database.examine_contents()?
        && !loaded.complete
    {
        database.finish(connection.as_mut())?;
    }
    let kept = there.iter().filter(|&&part| part > 0).count() as i64;
    Ok(LoadReport { rows, kept, seconds: begun.elapsed().as_secs_f64(), rows_seconds })
}

/// Ensures that the database contains our tables and no other data, or returns an error.
fn make_room(database: &Database, options: &LoadOptions) -> Result<(), OltpError> {
    let backend = database.backend();
    database.check_called(options.overwrite.as_deref())?;
    let overwrite = options.overwrite.is_some();
    match database.examine_contents()? {
        DatabaseContents::Nothing => crate::free_space::require(backend, &options.scale, None, 0)?,
        DatabaseContents::Ours(loaded) if !overwrite => {
            if loaded.version != DATA_VERSION {
                return Err(OltpError::Version {
                    database: database.name(),
                    found: loaded.version,
                });
            }
            if loaded.scale != options.scale {
                return Err(backend.differs(&loaded, &options.scale));
            }
            if !loaded.complete {
                // The items are the first part, before any warehouse.
                let there = (loaded.warehouses > 0).then_some(loaded.warehouses);
                crate::free_space::require(backend, &options.scale, there, 0)?;
            }
            return Ok(());
        }
        DatabaseContents::Foreign if !overwrite => return Err(OltpError::Foreign(database.name())),
        DatabaseContents::Foreign | DatabaseContents::Ours(_) => {
            crate::free_space::require(backend, &options.scale, None, backend.freed_by_removal())?;
            backend.remove()?;
        }
    }
    database.create(&options.scale).map_err(|error| match database.examine_contents() {
        Ok(DatabaseContents::Ours(_)) => loaded_twice(&database.name()),
        _ => error,
    })
}

/// Returns the error for data that another process has loaded in the meantime.
fn loaded_twice(name: &str) -> OltpError {
    OltpError::InUse(format!("{name}: another load is running"))
}

/// Loads and records one part; returns its number of rows.
fn load_part(
    connection: &mut dyn Connection,
    scale: &Scale,
    part: i64,
    stop: &AtomicBool,
) -> Result<u64, OltpError> {
    let population = Population::new(*scale);
    let tables = if part == 0 { &Table::ALL[..1] } else { &Table::ALL[1..] };
    let mut rows = 0;
    let mut fill = |connection: &mut dyn Connection| {
        tables.iter().try_for_each(|&table| {
            connection.fill(table, &mut |sink| {
                population.rows(table, part, &mut |row| {
                    rows += 1;
                    if rows % ROWS_A_LOOK == 0 && stop.load(Ordering::Relaxed) {
                        return Err(OltpError::Stopped);
                    }
                    sink(row)
                })
            })
        })
    };
    connection.begin(true)?;
    let outcome = fill(connection)
        .and_then(|()| connection.script(&format!("INSERT INTO lanemark_progress VALUES ({part})")))
        .and_then(|()| connection.commit());
    if let Err(error) = outcome {
        let _ = connection.rollback();
        let sql = format!("SELECT part FROM lanemark_progress WHERE part = {part}");
        // If another process has loaded the part in the meantime, the rows of that process caused the error.
        let there = connection.rows(&sql).is_ok_and(|rows| !rows.is_empty());
        let meanwhile = matches!(error, OltpError::Database(_)) && there;
        return Err(if meanwhile { loaded_twice("the database") } else { error });
    }
    Ok(rows)
}
