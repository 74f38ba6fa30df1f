//! A connection to a database: the interface that every database implements.
//!
//! A database's module implements the first group of methods. The five transactions have default methods that use that
//! group; a database that runs a transaction differently, for example in a procedure, overrides its method.

use crate::error::OltpError;
use crate::input::{Delivery, NewOrder, OrderStatus, Payment, StockLevel};
use crate::population::RowSink;
use crate::schema::Table;
use crate::statement::Statement;
use crate::transactions::{self, DeliveryOutcome, NewOrderOutcome};
use crate::value::{Row, Value};
use lanemark_schema::result::DatabaseCounters;

/// A function that passes all rows to the given sink.
pub type RowSource<'a> = dyn FnMut(&mut RowSink<'_>) -> Result<(), OltpError> + 'a;

pub trait Connection: Send {
    /// Begins a transaction; `writes` states whether it changes data.
    fn begin(&mut self, writes: bool) -> Result<(), OltpError>;

    /// Begins a read-only transaction that sees a snapshot of the database.
    fn begin_still(&mut self) -> Result<(), OltpError> {
        self.begin(false)
    }

    fn commit(&mut self) -> Result<(), OltpError>;

    /// Rolls back the transaction.
    fn rollback(&mut self) -> Result<(), OltpError>;

    /// Executes a statement and returns its rows.
    fn query(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<Vec<Row>, OltpError>;

    /// Executes a statement without result rows; returns the number of rows that it changed.
    fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<u64, OltpError>;

    /// Executes statements that have neither parameters nor result rows.
    fn script(&mut self, sql: &str) -> Result<(), OltpError>;

    /// Passes each row of a statement without parameters to `each`, as numbers and strings.
    fn scan(&mut self, sql: &str, each: &mut dyn FnMut(&[Value<'_>])) -> Result<(), OltpError>;

    /// Returns all rows of a statement without parameters.
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, OltpError> {
        let mut rows = Vec::new();
        self.scan(sql, &mut |row| rows.push(row.iter().cloned().map(Value::into_owned).collect()))?;
        Ok(rows)
    }

    /// Loads rows into a table by the database's fastest method, in an open transaction.
    fn fill(&mut self, table: Table, produce: &mut RowSource<'_>) -> Result<(), OltpError>;

    /// Returns the number of transactions that the database itself has counted, if it counts them.
    fn transactions_counted(&mut self) -> Result<Option<u64>, OltpError> {
        Ok(None)
    }

    /// Returns the server's identifier of this session, if the database has a server.
    fn session(&mut self) -> Result<Option<i64>, OltpError> {
        Ok(None)
    }

    /// Makes the database add this session's work to its counters now, at the cost of one transaction.
    fn report(&mut self) -> Result<(), OltpError> {
        Ok(())
    }

    /// Reads the current counters of this connection, if the database runs inside the driver.
    fn own_counters(&mut self) -> Result<DatabaseCounters, OltpError> {
        Ok(DatabaseCounters::default())
    }

    fn new_order(&mut self, input: &NewOrder) -> Result<NewOrderOutcome, OltpError> {
        transactions::new_order(self, input)
    }

    /// Runs Payment; returns the customer's balance in cents.
    fn payment(&mut self, input: &Payment) -> Result<i64, OltpError> {
        transactions::payment(self, input)
    }

    /// Runs Order-Status; returns the number of lines of the customer's last order.
    fn order_status(&mut self, input: &OrderStatus) -> Result<usize, OltpError> {
        transactions::order_status(self, input)
    }

    fn delivery(&mut self, input: &Delivery) -> Result<DeliveryOutcome, OltpError> {
        transactions::delivery(self, input)
    }

    /// Runs Stock-Level; returns the number of items whose stock is low.
    fn stock_level(&mut self, input: &StockLevel) -> Result<i64, OltpError> {
        transactions::stock_level(self, input)
    }
}
