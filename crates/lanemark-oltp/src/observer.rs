//! The observer of a database while users work: the interface through which databases report on themselves.
//!
//! A database without an observer of its own has [`Counted`], which knows what its `Connection` counts.

use crate::error::OltpError;
use crate::processor::Family;
use crate::session::Connection;
use lanemark_core::result::WaitClass;
use lanemark_core::result::{Counter, Counters};

/// A connection of its own to a database that others work on.
pub(crate) trait Observer {
    /// Reads the counters of the database until now.
    fn counters(&mut self) -> Result<Counters, OltpError>;

    /// Whether what a session has done is counted only when it [reports](Connection::report) or is slow to come.
    fn counts_late(&self) -> bool {
        false
    }

    /// Tells each class that some of `sessions` are found at now, and how many are; false where nothing is known.
    /// Looks at the sessions once; those between two transactions are left out where `between` says so.
    fn look(
        &mut self,
        _sessions: &[i64],
        _between: bool,
        _found: &mut dyn FnMut(WaitClass, u64),
    ) -> Result<bool, OltpError> {
        Ok(false)
    }

    /// The server's processes, where they are this machine's.
    fn family(&self) -> Option<Family> {
        None
    }
}

/// An observer of a database that tells no more than its transactions.
pub(crate) struct Counted(pub(crate) Box<dyn Connection>);

impl Observer for Counted {
    fn counters(&mut self) -> Result<Counters, OltpError> {
        let counted = self.0.transactions_counted()?;
        Ok(counted.map(|counted| (Counter::Transactions, counted)).into_iter().collect())
    }
}
