//! MariaDB and MySQL, through the synchronous `mysql` crate. Each connection prepares its statements once; a load
//! inserts rows in batches.
//!
//! All tables are in one database, which is created if it does not exist. Transactions use the isolation level read
//! committed, which is PostgreSQL's default. MySQL does not support RETURNING, and MariaDB does not support it for
//! UPDATE, so a statement with RETURNING becomes two: the change, and a query for the changed row. The row is locked,
//! so the query sees only this change. TLS is not supported.

mod database;

use std::time::Duration;

use mysql::prelude::Queryable as _;
use mysql::{Conn, Opts, OptsBuilder, Params};

use crate::error::OltpError;
use crate::schema::Table;
use crate::session::{Connection, RowSource};
use crate::statement::Statement;
use crate::value::{Row, Value};
pub(crate) use database::MysqlDatabase;

/// Number of rows per INSERT while loading.
const BATCH: usize = 256;
/// Number of prepared statements that a connection caches, for transactions and for loading.
const PREPARED: usize = 128;
/// Statement that sets up every connection. Double quotes mark names, as in the other databases.
const SETTINGS: &str = "SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES', \
    SESSION transaction_isolation = 'READ-COMMITTED'";
/// The statement for servers that know only the older variable name.
const SETTINGS_OLDER: &str = "SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES', \
    SESSION tx_isolation = 'READ-COMMITTED'";

pub(crate) struct MysqlConnection {
    client: Conn,
    prepared: Vec<Option<Vec<PreparedStatement>>>,
    open: bool,
}

/// A prepared statement, with the index of each parameter's value.
#[derive(Clone)]
struct PreparedStatement {
    statement: mysql::Statement,
    values: Vec<usize>,
}

/// Returns the server and account in a name, and the database.
fn parse(name: &str) -> Result<(Opts, String), OltpError> {
    let address_error = || OltpError::Name("the address after mysql:".to_owned());
    let name = name.replacen("mariadb:", "mysql:", 1);
    let opts = Opts::from_url(&name).map_err(|_| address_error())?;
    let database = opts.get_db_name().filter(|name| !name.is_empty()).ok_or_else(address_error)?;
    let database = database.to_owned();
    Ok((opts, database))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl MysqlConnection {
    /// Connects to `database` of a server, and creates the database if `create` is set. Error messages call the
    /// database `display_name`.
    fn connect(
        opts: Opts,
        database: &str,
        display_name: &str,
        create: bool,
    ) -> Result<Self, OltpError> {
        let opts = OptsBuilder::from_opts(opts)
            .db_name(None::<String>)
            .stmt_cache_size(PREPARED)
            .tcp_connect_timeout(Some(Duration::from_secs(10)));
        let mut client = Conn::new(opts).map_err(|error| OltpError::Unreachable {
            database: display_name.to_owned(),
            reason: error.to_string(),
        })?;
        let mut run =
            |sql: &str| client.query_drop(sql).map_err(|error| at_opening(display_name, error));
        run(SETTINGS).or_else(|_| run(SETTINGS_OLDER))?;
        let database = quoted(database);
        if create {
            run(&format!("CREATE DATABASE IF NOT EXISTS {database}"))?;
        }
        run(&format!("USE {database}"))?;
        Ok(Self { client, prepared: vec![None; Statement::ALL.len()], open: false })
    }

    fn prepare(&mut self, statement: Statement) -> Result<Vec<PreparedStatement>, OltpError> {
        if let Some(prepared) = &self.prepared[statement as usize] {
            return Ok(prepared.clone());
        }
        let prepare = |text: &String| {
            let (sql, values) = with_marks(text);
            let statement = self.client.prep(sql).map_err(from_mysql)?;
            Ok(PreparedStatement { statement, values })
        };
        let prepared =
            parts(statement.text()).iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
        self.prepared[statement as usize] = Some(prepared.clone());
        Ok(prepared)
    }
}

/// Returns a statement in a form that MySQL accepts; a RETURNING clause becomes a query.
fn parts(text: &str) -> Vec<String> {
    let text = text.replace("AS INTEGER)", "AS SIGNED)").replace("AS BIGINT)", "AS SIGNED)");
    let Some((change, returned)) = text.split_once(" RETURNING ") else { return vec![text] };
    let table = change.split(' ').nth(1).unwrap_or_default();
    let rows = change.rsplit_once(" WHERE ").map_or("", |(_, rows)| rows);
    vec![change.to_owned(), format!("SELECT {returned} FROM {table} WHERE {rows}")]
}

/// Returns the statement with a question mark for each parameter, and the index of each parameter's value.
fn with_marks(text: &str) -> (String, Vec<usize>) {
    let mut pieces = text.split('$');
    let mut sql = pieces.next().unwrap_or_default().to_owned();
    let mut values = Vec::new();
    for piece in pieces {
        let end = piece.find(|one: char| !one.is_ascii_digit()).unwrap_or(piece.len());
        values.push(piece[..end].parse::<usize>().map_or(0, |number| number - 1));
        sql.push('?');
        sql += &piece[end..];
    }
    (sql, values)
}

fn parameter(value: &Value<'_>) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Int(number) => mysql::Value::Int(*number),
        Value::Text(text) => mysql::Value::Bytes(text.as_bytes().to_vec()),
    }
}

impl PreparedStatement {
    fn parameters(&self, values: &[Value<'_>]) -> Params {
        if self.values.is_empty() {
            Params::Empty
        } else {
            Params::Positional(self.values.iter().map(|&at| parameter(&values[at])).collect())
        }
    }
}

/// Returns the columns of a row; a value that is neither a number nor text becomes NULL.
fn columns(row: mysql::Row) -> Row {
    let column = |value| match value {
        mysql::Value::Int(number) => Value::Int(number),
        mysql::Value::UInt(number) => Value::Int(number.cast_signed()),
        mysql::Value::Bytes(text) => Value::from(String::from_utf8_lossy(&text).into_owned()),
        _ => Value::Null,
    };
    row.unwrap().into_iter().map(column).collect()
}

impl Connection for MysqlConnection {
    fn begin(&mut self, writes: bool) -> Result<(), OltpError> {
        let sql = if writes { "START TRANSACTION" } else { "START TRANSACTION READ ONLY" };
        self.client.query_drop(sql).map_err(from_mysql)?;
        self.open = true;
        Ok(())
    }

    fn begin_still(&mut self) -> Result<(), OltpError> {
        // This statement sets the level only for the next transaction.
        let level = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
        self.client.query_drop(level).map_err(from_mysql)?;
        let sql = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";
        self.client.query_drop(sql).map_err(from_mysql)?;
        self.open = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), OltpError> {
        self.client.query_drop("COMMIT").map_err(from_mysql)?;
        self.open = false;
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), OltpError> {
        if std::mem::take(&mut self.open) {
            self.client.query_drop("ROLLBACK").map_err(from_mysql)?;
        }
        Ok(())
    }

    fn query(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<Vec<Row>, OltpError> {
        let mut found = Vec::new();
        for part in self.prepare(statement)? {
            let rows = self.client.exec_iter(&part.statement, part.parameters(values));
            let rows = rows.map_err(from_mysql)?;
            found =
                rows.map(|row| row.map(columns).map_err(from_mysql)).collect::<Result<_, _>>()?;
        }
        Ok(found)
    }

    fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<u64, OltpError> {
        let mut changed = 0;
        for part in self.prepare(statement)? {
            let parameters = part.parameters(values);
            self.client.exec_drop(&part.statement, parameters).map_err(from_mysql)?;
            changed += self.client.affected_rows();
        }
        Ok(changed)
    }

    fn script(&mut self, sql: &str) -> Result<(), OltpError> {
        let mut outcome = self.client.query_iter(sql).map_err(from_mysql)?;
        // Each statement has a separate result, and any statement may fail.
        while let Some(rows) = outcome.iter() {
            for row in rows {
                row.map_err(from_mysql)?;
            }
        }
        Ok(())
    }

    fn scan(&mut self, sql: &str, each: &mut dyn FnMut(&[Value<'_>])) -> Result<(), OltpError> {
        // The statement is prepared, because only prepared statements return numbers as numbers.
        let rows = self.client.exec_iter(sql, ()).map_err(from_mysql)?;
        for row in rows {
            each(&columns(row.map_err(from_mysql)?));
        }
        Ok(())
    }

    fn fill(&mut self, table: Table, produce: &mut RowSource<'_>) -> Result<(), OltpError> {
        let name = table.name();
        let columns = table.column_names();
        let width = table.columns().len();
        let one_row = format!("({})", vec!["?"; width].join(", "));
        let mut insert = |held: &mut Vec<mysql::Value>| {
            let rows = vec![one_row.as_str(); held.len() / width].join(", ");
            let sql = format!("INSERT INTO {name} ({columns}) VALUES {rows}");
            let given = Params::Positional(std::mem::take(held));
            self.client.exec_drop(sql, given).map_err(from_mysql)
        };
        let mut held = Vec::with_capacity(BATCH * width);
        produce(&mut |row| {
            held.extend(row.iter().map(parameter));
            if held.len() == BATCH * width { insert(&mut held) } else { Ok(()) }
        })?;
        if held.is_empty() { Ok(()) } else { insert(&mut held) }
    }

    fn transactions_counted(&mut self) -> Result<Option<u64>, OltpError> {
        let sql = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_commit', 'Com_rollback')";
        let count_of_row = |row: &Row| row[1].text().parse().unwrap_or(0);
        Ok(Some(self.rows(sql)?.iter().map(count_of_row).sum()))
    }
}

/// Converts an error of the client library that occurs while a database is opened.
fn at_opening(display_name: &str, error: mysql::Error) -> OltpError {
    if matches!(&error, mysql::Error::MySqlError(answer) if answer.code == 1049) {
        return OltpError::NotLoaded(display_name.to_owned());
    }
    from_mysql(error)
}

/// Converts an error of the client library that occurs during a run, by the server's error number.
#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn from_mysql(error: mysql::Error) -> OltpError {
    let mysql::Error::MySqlError(answer) = &error else {
        return OltpError::Database(error.to_string());
    };
    let text = answer.message.clone();
    match answer.code {
        // The row has changed, a lock request timed out, or there was a deadlock.
        1020 | 1205 | 1213 => OltpError::Conflict(text),
        1021 | 1114 => OltpError::Full(text),
        1044 | 1142 | 1227 | 1370 => {
            OltpError::Rights { database: "MySQL".to_owned(), reason: text }
        }
        _ => OltpError::Database(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_is_used_twice_is_given_twice() {
        let (sql, values) = with_marks("SET a = $1 + $2, b = $1 WHERE c = $12");
        assert_eq!(sql, "SET a = ? + ?, b = ? WHERE c = ?");
        assert_eq!(values, [0, 1, 0, 11]);
    }

    #[test]
    fn the_values_that_a_change_returns_are_selected_from_the_same_rows() {
        assert_eq!(
            parts(Statement::TakeOrderNumber.text()),
            [
                "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2",
                "SELECT d_next_o_id - 1, d_tax FROM district WHERE d_w_id = $1 AND d_id = $2",
            ]
        );
        for &statement in Statement::ALL {
            let parts = parts(statement.text());
            assert_eq!(parts.len(), 1 + usize::from(statement.text().contains("RETURNING")));
            assert!(parts.iter().all(|part| !part.contains("RETURNING")), "{statement:?}");
        }
    }

    #[test]
    fn a_name_needs_a_database() {
        assert!(parse("mysql://root@localhost/oltp").is_ok());
        assert!(parse("mariadb://root@localhost/oltp?socket=/run/x").is_ok());
        for name in ["mysql://root@localhost", "mysql://root@localhost/", "mysql://"] {
            assert!(matches!(parse(name), Err(OltpError::Name(_))), "{name}");
        }
    }
}
