//! PostgreSQL, through the synchronous `postgres` crate. Each transaction is one call of a procedure; a load uses
//! binary COPY.
//!
//! All tables are in the schema `lanemark_oltp`, so other contents of a database are never changed. Transactions use
//! the server's default isolation level (read committed). A transaction that changes a row locks the row by making that
//! change first. TLS is not supported.

mod counters;
mod database;
mod errors;
mod procedures;

use std::io::Write;

use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, NoTls};

use crate::error::OltpError;
use crate::input::{Delivery, NewOrder, OrderStatus, Payment, StockLevel};
use crate::schema::{ColumnType, Table};
use crate::session::{Connection, RowSource};
use crate::statement::Statement;
use crate::transactions::{DeliveryOutcome, NewOrderOutcome};
use crate::value::{Row, Value};
pub(crate) use database::PostgresDatabase;
use errors::{from_copy, from_postgres, reason};
use lanemark_schema::result::{DatabaseCounter, DatabaseCounters};
use procedures::PreparedCalls;

/// Makes a server of version 15 or later count a session's work now, at the cost of one transaction.
const REPORT: &str = "SELECT pg_stat_force_next_flush()";

/// Bytes that the client collects before it sends them to the server.
const COPY_CHUNK: usize = 64 * 1024;
/// Header of a binary COPY: the signature, without flags or an extension.
const COPY_HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

pub(crate) struct PostgresConnection {
    client: Client,
    prepared: Vec<Option<postgres::Statement>>,
    /// The calls of the procedures, which are prepared before the first transaction.
    calls: Option<PreparedCalls>,
    open: bool,
    /// Number of calls of the five transactions.
    called: u64,
}

/// Returns the server, account and database in a name.
fn parse(name: &str) -> Result<Config, OltpError> {
    name.parse().map_err(|_| OltpError::Name("the address after postgres:".to_owned()))
}

impl PostgresConnection {
    /// Connects to `name`. Error messages call the server `display_name`.
    pub(crate) fn connect(name: &str, display_name: &str) -> Result<Self, OltpError> {
        Self::open(parse(name)?, display_name)
    }

    fn open(mut config: Config, display_name: &str) -> Result<Self, OltpError> {
        config.application_name("lanemark").connect_timeout(std::time::Duration::from_secs(10));
        let mut client = config.connect(NoTls).map_err(|error| {
            let database = display_name.to_owned();
            let reason = reason(&error);
            match error.code().map(|code| code.code()) {
                Some("42501") => OltpError::Rights { database, reason },
                _ => OltpError::Unreachable { database, reason },
            }
        })?;
        let path = "SET search_path TO lanemark_oltp; SET client_min_messages TO warning";
        client.batch_execute(path).map_err(from_postgres)?;
        let prepared = vec![None; Statement::ALL.len()];
        Ok(Self { client, prepared, calls: None, open: false, called: 0 })
    }

    /// Returns the prepared calls, and counts one call. Creates the procedures if they do not exist.
    fn calls(&mut self) -> Result<(&PreparedCalls, &mut Client), OltpError> {
        self.called += 1;
        let calls = match self.calls.take() {
            Some(calls) => calls,
            None => PreparedCalls::make(&mut self.client)?,
        };
        Ok((self.calls.insert(calls), &mut self.client))
    }

    fn prepare(&mut self, statement: Statement) -> Result<postgres::Statement, OltpError> {
        if let Some(prepared) = &self.prepared[statement as usize] {
            return Ok(prepared.clone());
        }
        let prepared = self.client.prepare(statement.text()).map_err(from_postgres)?;
        self.prepared[statement as usize] = Some(prepared.clone());
        Ok(prepared)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => return Ok(IsNull::Yes),
            Self::Int(number) => match *kind {
                Type::INT2 => out.extend_from_slice(&i16::try_from(*number)?.to_be_bytes()),
                Type::INT4 => out.extend_from_slice(&i32::try_from(*number)?.to_be_bytes()),
                _ => out.extend_from_slice(&number.to_be_bytes()),
            },
            Self::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT2 | Type::INT4 | Type::INT8 | Type::TEXT | Type::VARCHAR)
    }

    to_sql_checked!();
}

/// Returns the columns of a row; a value that is neither a number nor text becomes NULL.
fn columns(row: &postgres::Row) -> Result<Vec<Value<'_>>, postgres::Error> {
    let column = |(at, column): (usize, &postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT2 => Value::from(row.try_get::<_, Option<i16>>(at)?.map(i64::from)),
            Type::INT4 => Value::from(row.try_get::<_, Option<i32>>(at)?.map(i64::from)),
            Type::INT8 => Value::from(row.try_get::<_, Option<i64>>(at)?),
            Type::TEXT | Type::VARCHAR => {
                row.try_get::<_, Option<&str>>(at)?.map_or(Value::Null, Value::from)
            }
            _ => Value::Null,
        })
    };
    row.columns().iter().enumerate().map(column).collect()
}

fn parameters<'a>(values: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl Connection for PostgresConnection {
    fn begin(&mut self, _writes: bool) -> Result<(), OltpError> {
        self.client.batch_execute("BEGIN").map_err(from_postgres)?;
        self.open = true;
        Ok(())
    }

    fn begin_still(&mut self) -> Result<(), OltpError> {
        let sql = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        self.client.batch_execute(sql).map_err(from_postgres)?;
        self.open = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), OltpError> {
        self.client.batch_execute("COMMIT").map_err(from_postgres)?;
        self.open = false;
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), OltpError> {
        if std::mem::take(&mut self.open) {
            self.client.batch_execute("ROLLBACK").map_err(from_postgres)?;
        }
        Ok(())
    }

    fn query(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<Vec<Row>, OltpError> {
        let prepared = self.prepare(statement)?;
        let rows = self.client.query(&prepared, &parameters(values)).map_err(from_postgres)?;
        let owned = |row: &postgres::Row| {
            let columns = columns(row).map_err(from_postgres)?;
            Ok(columns.into_iter().map(Value::into_owned).collect())
        };
        rows.iter().map(owned).collect()
    }

    fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<u64, OltpError> {
        let prepared = self.prepare(statement)?;
        self.client.execute(&prepared, &parameters(values)).map_err(from_postgres)
    }

    fn script(&mut self, sql: &str) -> Result<(), OltpError> {
        let outcome = self.client.batch_execute(sql).map_err(from_postgres);
        if outcome.is_err() && !self.open {
            // A script that begins a transaction and then fails leaves the transaction open.
            let _ = self.client.batch_execute("ROLLBACK");
        }
        outcome
    }

    fn scan(&mut self, sql: &str, each: &mut dyn FnMut(&[Value<'_>])) -> Result<(), OltpError> {
        use postgres::fallible_iterator::FallibleIterator as _;
        let none: [&(dyn ToSql + Sync); 0] = [];
        let mut rows = self.client.query_raw(sql, none).map_err(from_postgres)?;
        while let Some(row) = rows.next().map_err(from_postgres)? {
            each(&columns(&row).map_err(from_postgres)?);
        }
        Ok(())
    }

    fn fill(&mut self, table: Table, produce: &mut RowSource<'_>) -> Result<(), OltpError> {
        let name = table.name();
        let columns = table.column_names();
        let sql = format!("COPY {name} ({columns}) FROM STDIN (FORMAT binary)");
        let mut copy = self.client.copy_in(&sql).map_err(from_postgres)?;
        let mut chunk = Vec::with_capacity(COPY_CHUNK + 4096);
        chunk.extend_from_slice(COPY_HEAD);
        produce(&mut |row| {
            put_row(&mut chunk, table, row)?;
            if chunk.len() >= COPY_CHUNK {
                copy.write_all(&chunk).map_err(|error| from_copy(&error))?;
                chunk.clear();
            }
            Ok(())
        })?;
        chunk.extend_from_slice(&(-1i16).to_be_bytes());
        copy.write_all(&chunk).map_err(|error| from_copy(&error))?;
        copy.finish().map(|_| ()).map_err(from_postgres)
    }

    fn transactions_counted(&mut self) -> Result<Option<u64>, OltpError> {
        let sql = "SELECT xact_commit + xact_rollback FROM pg_stat_database \
            WHERE datname = current_database()";
        Ok(self.rows(sql)?.first().and_then(|row| u64::try_from(row[0].int()).ok()))
    }

    fn session(&mut self) -> Result<Option<i64>, OltpError> {
        Ok(self.rows("SELECT pg_backend_pid()")?.first().map(|row| row[0].int()))
    }

    fn report(&mut self) -> Result<(), OltpError> {
        self.script(REPORT)
    }

    fn own_counters(&mut self) -> Result<DatabaseCounters, OltpError> {
        let counted =
            [(DatabaseCounter::Statements, self.called), (DatabaseCounter::Messages, self.called)];
        Ok(counted.into_iter().collect())
    }

    fn new_order(&mut self, input: &NewOrder) -> Result<NewOrderOutcome, OltpError> {
        let (calls, client) = self.calls()?;
        calls.new_order(client, input)
    }

    fn payment(&mut self, input: &Payment) -> Result<i64, OltpError> {
        let (calls, client) = self.calls()?;
        calls.payment(client, input)
    }

    fn order_status(&mut self, input: &OrderStatus) -> Result<usize, OltpError> {
        let (calls, client) = self.calls()?;
        calls.order_status(client, input)
    }

    fn delivery(&mut self, input: &Delivery) -> Result<DeliveryOutcome, OltpError> {
        let (calls, client) = self.calls()?;
        calls.delivery(client, input)
    }

    fn stock_level(&mut self, input: &StockLevel) -> Result<i64, OltpError> {
        let (calls, client) = self.calls()?;
        calls.stock_level(client, input)
    }
}

/// Appends a row in the format of binary COPY: the number of fields, followed by the length and bytes of each field.
fn put_row(chunk: &mut Vec<u8>, table: Table, row: &[Value<'_>]) -> Result<(), OltpError> {
    let length_error = |number: i64| {
        let table = table.name();
        let text = "a number is too long for its column";
        OltpError::Damaged(format!("{table}: {text}: {number}"))
    };
    chunk.extend_from_slice(&(row.len() as i16).to_be_bytes());
    row.iter().zip(table.columns()).try_for_each(|(value, (_, kind))| {
        let mut put_bytes = |bytes: &[u8]| {
            chunk.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
            chunk.extend_from_slice(bytes);
        };
        match (value, kind) {
            (Value::Null, _) => chunk.extend_from_slice(&(-1i32).to_be_bytes()),
            (Value::Text(text), _) => put_bytes(text.as_bytes()),
            (Value::Int(number), ColumnType::Small) => {
                put_bytes(
                    &i16::try_from(*number).map_err(|_| length_error(*number))?.to_be_bytes(),
                );
            }
            (Value::Int(number), ColumnType::Int) => {
                put_bytes(
                    &i32::try_from(*number).map_err(|_| length_error(*number))?.to_be_bytes(),
                );
            }
            (Value::Int(number), _) => put_bytes(&number.to_be_bytes()),
        }
        Ok(())
    })
}
