//! A connection to a database: the seam behind which databases differ.
//!
//! A module for another database gives the first group of methods. The five transactions come with them, and a
//! database that does a transaction otherwise, in a procedure of its own for one, overrides that method.

use crate::error::OltpError;
use crate::input::{Delivery, NewOrder, OrderStatus, Payment, StockLevel};
use crate::population::Sink;
use crate::schema::Table;
use crate::statement::Statement;
use crate::transactions::{self, DeliveryOutcome, NewOrderOutcome};
use crate::value::{Row, Value};
use lanemark_core::result::Counters;

/// Gives all rows to the sink that it is handed.
pub type Producer<'a> = dyn FnMut(&mut Sink<'_>) -> Result<(), OltpError> + 'a;

/// A connection to a database.
pub trait Connection: Send {
    /// Begins a transaction, and says whether it writes.
    fn begin(&mut self, writes: bool) -> Result<(), OltpError>;

    /// Begins a transaction that writes nothing and sees the database as it is at one moment.
    fn begin_still(&mut self) -> Result<(), OltpError> {
        self.begin(false)
    }

    /// Makes the transaction last.
    fn commit(&mut self) -> Result<(), OltpError>;

    /// Undoes the transaction.
    fn rollback(&mut self) -> Result<(), OltpError>;

    /// The rows that a statement gives.
    fn query(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<Vec<Row>, OltpError>;

    /// Executes a statement without result rows; returns the number of rows that it changed.
    fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<u64, OltpError>;

    /// Runs statements without parameters and rows.
    fn script(&mut self, sql: &str) -> Result<(), OltpError>;

    /// Gives each row of a statement without parameters, numbers and texts, to `each`.
    fn scan(&mut self, sql: &str, each: &mut dyn FnMut(&[Value<'_>])) -> Result<(), OltpError>;

    /// All rows of a statement without parameters.
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, OltpError> {
        let mut rows = Vec::new();
        self.scan(sql, &mut |row| rows.push(row.iter().cloned().map(Value::into_owned).collect()))?;
        Ok(rows)
    }

    /// Loads rows into a table, as fast as the database can, within a transaction that has begun.
    fn fill(&mut self, table: Table, produce: &mut Producer<'_>) -> Result<(), OltpError>;

    /// Transactions that the database itself has counted, where it counts them.
    fn transactions_counted(&mut self) -> Result<Option<u64>, OltpError> {
        Ok(None)
    }

    /// The server's number for this session, where it has a server.
    fn session(&mut self) -> Result<Option<i64>, OltpError> {
        Ok(None)
    }

    /// Makes what this session has done count in the database's own counters now, by one transaction more.
    fn report(&mut self) -> Result<(), OltpError> {
        Ok(())
    }

    /// Reads the counters of this connection alone until now, where the database is inside the driver.
    fn own_counters(&mut self) -> Result<Counters, OltpError> {
        Ok(Counters::default())
    }

    /// Runs New-Order.
    fn new_order(&mut self, input: &NewOrder) -> Result<NewOrderOutcome, OltpError> {
        transactions::new_order(self, input)
    }

    /// Payment; the customer's balance in cents.
    fn payment(&mut self, input: &Payment) -> Result<i64, OltpError> {
        transactions::payment(self, input)
    }

    /// Order-Status; the lines of the customer's last order.
    fn order_status(&mut self, input: &OrderStatus) -> Result<usize, OltpError> {
        transactions::order_status(self, input)
    }

    /// Runs Delivery.
    fn delivery(&mut self, input: &Delivery) -> Result<DeliveryOutcome, OltpError> {
        transactions::delivery(self, input)
    }

    /// Stock-Level; the items that run low.
    fn stock_level(&mut self, input: &StockLevel) -> Result<i64, OltpError> {
        transactions::stock_level(self, input)
    }
}
