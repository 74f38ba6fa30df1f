//! Templates as databases, which are created with CREATE DATABASE … TEMPLATE.
//!
//! Restoring a template replaces the whole database, so a database with more than our schema, or with separate
//! privileges or settings, is rejected. Servers of version 15 or later copy files, so that the data is not written to
//! the log as well. Servers of version 18 or later share blocks if the file system supports this.

use super::PostgresConnection;
use super::database::PostgresDatabase;
use super::errors::server_version;
use crate::backend::{Backend as _, Templates, read_loaded};
use crate::error::OltpError;
use crate::session::Connection as _;
use crate::value::Row;

/// Comment on a template that Lanemark created.
const MARK: &str = "kept by Lanemark";
/// Prefix of the databases' names.
const START: &str = "lanemark_kept_";

impl Templates for PostgresDatabase {
    fn others(&self) -> &'static str {
        "SELECT ('schema ' || nspname)::TEXT FROM pg_namespace \
            WHERE nspname NOT IN ('lanemark_oltp', 'public', 'information_schema') AND nspname !~ '^pg_' \
        UNION ALL SELECT ('table or view ' || relname)::TEXT FROM pg_class \
            WHERE relnamespace = to_regnamespace('public') \
        UNION ALL SELECT ('function ' || proname)::TEXT FROM pg_proc \
            WHERE pronamespace = to_regnamespace('public') \
        UNION ALL SELECT ('type ' || typname)::TEXT FROM pg_type \
            WHERE typnamespace = to_regnamespace('public') \
        UNION ALL SELECT ('extension ' || extname)::TEXT FROM pg_extension WHERE extname <> 'plpgsql' \
        UNION ALL SELECT ('large object ' || oid)::TEXT FROM pg_largeobject_metadata \
        UNION ALL SELECT 'separate rights'::TEXT FROM pg_database \
            WHERE datname = current_database() AND datacl IS NOT NULL \
        UNION ALL SELECT 'separate settings'::TEXT FROM pg_db_role_setting JOIN pg_database \
            ON pg_database.oid = setdatabase WHERE datname = current_database()"
    }

    fn keep(&self, name: &str, overwrite: bool) -> Result<(), OltpError> {
        self.refuse_others()?;
        let mut server = self.beside("postgres")?;
        let comment_text = format!("{START}{name}");
        match comment(&mut server, &comment_text)? {
            None => {}
            Some(_) if !overwrite => {
                return Err(OltpError::Kept { database: self.name(), name: name.to_owned() });
            }
            Some(mark) if mark != MARK => return Err(OltpError::Foreign(comment_text)),
            Some(_) => server.script(&format!("DROP DATABASE {}", quoted(&comment_text)))?,
        }
        copy(&mut server, self.own_name()?, &comment_text)?;
        server.script(&format!("COMMENT ON DATABASE {} IS '{MARK}'", quoted(&comment_text)))
    }

    /// The database may have been removed.
    fn restore(&self, name: &str, overwrite: bool) -> Result<(), OltpError> {
        let mut server = self.beside("postgres")?;
        let (database, kept) = (self.own_name()?, format!("{START}{name}"));
        match comment(&mut server, &kept)? {
            None => {
                let rows = server.rows("SELECT datname::TEXT FROM pg_database")?;
                let kept = |row: &Row| row[0].text().strip_prefix(START).map(str::to_owned);
                return Err(self.not_kept(name, rows.iter().filter_map(kept).collect()));
            }
            Some(mark) if mark != MARK => return Err(OltpError::Foreign(kept)),
            Some(_) => {}
        }
        let loaded = read_loaded(&mut self.beside(&kept)?);
        let scale = loaded.ok_or_else(|| OltpError::Foreign(kept.clone()))?.scale;
        if comment(&mut server, database)?.is_some() {
            if !overwrite {
                self.refuse_other(&scale)?;
            }
            server.script(&format!("DROP DATABASE {}", quoted(database)))?;
        }
        copy(&mut server, &kept, database)
    }
}

impl PostgresDatabase {
    /// Connects to another database on the same server.
    fn beside(&self, name: &str) -> Result<PostgresConnection, OltpError> {
        let mut config = self.config.clone();
        config.dbname(name);
        PostgresConnection::open(config, &self.name())
    }

    /// Returns the name of the database. Without a name, PostgreSQL would use the name of the account.
    fn own_name(&self) -> Result<&str, OltpError> {
        let no_database_error = || OltpError::Name("a server without a database".to_owned());
        self.config.get_dbname().or(self.config.get_user()).ok_or_else(no_database_error)
    }
}

/// Returns a database's comment: empty if there is no comment, `None` if there is no such database.
fn comment(server: &mut PostgresConnection, name: &str) -> Result<Option<String>, OltpError> {
    let sql = "SELECT datname::TEXT, COALESCE(shobj_description(oid, 'pg_database'), '')::TEXT \
        FROM pg_database";
    let rows = server.rows(sql)?;
    let found = rows.iter().find(|row| row[0].text() == name);
    Ok(found.map(|row| row[1].text().to_owned()))
}

fn copy(server: &mut PostgresConnection, from: &str, to: &str) -> Result<(), OltpError> {
    let version = server_version(&mut server.client)?;
    let files = if version >= 15 { " STRATEGY FILE_COPY" } else { "" };
    let sql = format!("CREATE DATABASE {} TEMPLATE {}{files}", quoted(to), quoted(from));
    if version >= 18 {
        server.script("SET file_copy_method = clone")?;
        match server.script(&sql) {
            // The file system cannot share blocks.
            Err(OltpError::Database(_)) => server.script("SET file_copy_method = copy")?,
            outcome => return outcome,
        }
    }
    server.script(&sql)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
