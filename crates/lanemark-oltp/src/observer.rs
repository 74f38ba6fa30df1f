//! The observer of a database during a run, which is the interface to the database's own counters.
//!
//! A database without a dedicated observer uses [`TransactionCounter`], which returns only the number of transactions
//! that its `Connection` counts.

use crate::error::OltpError;
use crate::processor::ProcessFamily;
use crate::session::Connection;
use lanemark_schema::result::WaitClass;
use lanemark_schema::result::{DatabaseCounter, DatabaseCounters};

/// A separate connection that observes a database during a run.
pub(crate) trait DatabaseObserver {
    /// Reads the current counters of the database.
    fn counters(&mut self) -> Result<DatabaseCounters, OltpError>;

    /// Returns whether the database counts a session's work only after it [reports](Connection::report) or after a
    /// delay.
    fn counts_late(&self) -> bool {
        false
    }

    /// Samples the wait of each of `sessions` once, and passes each wait class and its number of sessions to `found`.
    /// Omits sessions between two transactions if `between` is set. Returns false if the database does not report
    /// waits.
    fn look(
        &mut self,
        _sessions: &[i64],
        _between: bool,
        _found: &mut dyn FnMut(WaitClass, u64),
    ) -> Result<bool, OltpError> {
        Ok(false)
    }

    /// Returns the server's processes, if they run on this machine.
    fn family(&self) -> Option<ProcessFamily> {
        None
    }
}

/// An observer of a database that counts only its transactions.
pub(crate) struct TransactionCounter(pub(crate) Box<dyn Connection>);

impl DatabaseObserver for TransactionCounter {
    fn counters(&mut self) -> Result<DatabaseCounters, OltpError> {
        let counted = self.0.transactions_counted()?;
        Ok(counted.map(|counted| (DatabaseCounter::Transactions, counted)).into_iter().collect())
    }
}
