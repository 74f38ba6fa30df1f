//! Databases that keep what was loaded, by CREATE DATABASE … TEMPLATE.
//!
//! A database is replaced as a whole, so one with anything beside our schema, or with rights or settings of its own, is
//! refused. From version 15 on the copy is asked to be of files, which does not write everything into the log as well,
//! and from 18 on to share blocks where the file system can.

use super::{Postgres, parse, server_version};
use crate::database::{Database, read_loaded};
use crate::error::OltpError;
use crate::session::Connection as _;
use crate::template::{not_kept, refuse_other};

/// Comment on a database that Lanemark made.
const MARK: &str = "kept by Lanemark";
/// Prefix of the databases' names.
const START: &str = "lanemark_kept_";

/// Query for the content of a database beside Lanemark's schema, in words.
pub(crate) const OTHERS: &str = "SELECT ('schema ' || nspname)::TEXT FROM pg_namespace \
        WHERE nspname NOT IN ('lanemark_oltp', 'public', 'information_schema') AND nspname !~ '^pg_' \
    UNION ALL SELECT ('table or view ' || relname)::TEXT FROM pg_class \
        WHERE relnamespace = to_regnamespace('public') \
    UNION ALL SELECT ('function ' || proname)::TEXT FROM pg_proc \
        WHERE pronamespace = to_regnamespace('public') \
    UNION ALL SELECT ('type ' || typname)::TEXT FROM pg_type \
        WHERE typnamespace = to_regnamespace('public') \
    UNION ALL SELECT ('extension ' || extname)::TEXT FROM pg_extension WHERE extname <> 'plpgsql' \
    UNION ALL SELECT ('large object ' || oid)::TEXT FROM pg_largeobject_metadata \
    UNION ALL SELECT 'rights of its own'::TEXT FROM pg_database \
        WHERE datname = current_database() AND datacl IS NOT NULL \
    UNION ALL SELECT 'settings of its own'::TEXT FROM pg_db_role_setting JOIN pg_database \
        ON pg_database.oid = setdatabase WHERE datname = current_database()";

/// Keeps the database of `url`.
pub(crate) fn keep(
    database: &Database,
    url: &str,
    name: &str,
    overwrite: bool,
) -> Result<(), OltpError> {
    crate::template::refuse_others(database)?;
    let mut server = beside(url, database, "postgres")?;
    let kept = format!("{START}{name}");
    match comment(&mut server, &kept)? {
        None => {}
        Some(_) if !overwrite => {
            return Err(OltpError::Kept { database: database.name(), name: name.to_owned() });
        }
        Some(mark) if mark != MARK => return Err(OltpError::Foreign(kept)),
        Some(_) => server.script(&format!("DROP DATABASE {}", quoted(&kept)))?,
    }
    copy(&mut server, &own_name(url)?, &kept)?;
    server.script(&format!("COMMENT ON DATABASE {} IS '{MARK}'", quoted(&kept)))
}

/// Puts what was kept in the place of the database of `url`, which may be gone.
pub(crate) fn restore(
    database: &Database,
    url: &str,
    name: &str,
    overwrite: bool,
) -> Result<(), OltpError> {
    let mut server = beside(url, database, "postgres")?;
    let (own, kept) = (own_name(url)?, format!("{START}{name}"));
    match comment(&mut server, &kept)? {
        None => {
            let mut names = Vec::new();
            let sql = "SELECT datname::TEXT FROM pg_database";
            server.scan(sql, &mut |row| {
                names.extend(row[0].text().strip_prefix(START).map(str::to_owned));
            })?;
            return Err(not_kept(database, name, names));
        }
        Some(mark) if mark != MARK => return Err(OltpError::Foreign(kept)),
        Some(_) => {}
    }
    let loaded = read_loaded(&mut beside(url, database, &kept)?);
    let scale = loaded.ok_or_else(|| OltpError::Foreign(kept.clone()))?.scale;
    if comment(&mut server, &own)?.is_some() {
        if !overwrite {
            refuse_other(database, &scale)?;
        }
        server.script(&format!("DROP DATABASE {}", quoted(&own)))?;
    }
    copy(&mut server, &kept, &own)
}

/// A connection to another database of the same server.
fn beside(url: &str, database: &Database, name: &str) -> Result<Postgres, OltpError> {
    let mut config = parse(url)?;
    config.dbname(name);
    Postgres::open(config, &database.name())
}

/// The name of the database of `url`, which is the account's where there is none.
fn own_name(url: &str) -> Result<String, OltpError> {
    let config = parse(url)?;
    let name = config.get_dbname().or(config.get_user());
    name.map(str::to_owned).ok_or_else(|| OltpError::Name("a server without a database".to_owned()))
}

/// A database's comment, empty where it has none; nothing where there is no such database.
fn comment(server: &mut Postgres, name: &str) -> Result<Option<String>, OltpError> {
    let mut found = None;
    let sql = "SELECT datname::TEXT, COALESCE(shobj_description(oid, 'pg_database'), '')::TEXT \
        FROM pg_database";
    server.scan(sql, &mut |row| {
        if row[0].text() == name {
            found = Some(row[1].text().to_owned());
        }
    })?;
    Ok(found)
}

fn copy(server: &mut Postgres, from: &str, to: &str) -> Result<(), OltpError> {
    let version = server_version(&mut server.client)?;
    let files = if version >= 15 { " STRATEGY FILE_COPY" } else { "" };
    let sql = format!("CREATE DATABASE {} TEMPLATE {}{files}", quoted(to), quoted(from));
    if version >= 18 {
        server.script("SET file_copy_method = clone")?;
        match server.script(&sql) {
            // A file system that shares nothing.
            Err(OltpError::Database(_)) => server.script("SET file_copy_method = copy")?,
            outcome => return outcome,
        }
    }
    server.script(&sql)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
