//! A user: a connection, and the inputs of the user's transactions. A user repeats each transaction until it succeeds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lanemark_schema::result::{DatabaseCounters, SessionProcessorTime};

use crate::database::Database;
use crate::error::OltpError;
use crate::input::Inputs;
use crate::options::{RunOptions, TransactionDates};
use crate::processor::{KernelTask, TaskTime};
use crate::profile::{TransactionKind, TransactionMix, times_s};
use crate::schema::Scale;
use crate::session::Connection;
use crate::transactions::NewOrderOutcome;

/// Maximum number of retries of a transaction before the run ends.
const RETRIES_MAX: u64 = 1_000;

pub struct User {
    connection: Box<dyn Connection>,
    inputs: Inputs,
    mix: TransactionMix,
    clock: TransactionDates,
    done: i64,
    retries: u64,
    server: ServerPlacement,
}

/// The location of the server relative to a user.
enum ServerPlacement {
    /// The server runs inside the user's own thread.
    Within,
    /// The server runs on this machine; its process for this user has this id.
    Here(i64),
    /// The server runs on another machine.
    Elsewhere,
}

/// A user's readings at an edge, which is the beginning or the end of counting.
pub(crate) struct EdgeReadings {
    task: Option<TaskTime>,
    counters: DatabaseCounters,
}

impl EdgeReadings {
    /// Returns the processor time and the connection's own counters between two edges.
    pub(crate) fn since(&self, earlier: &Self) -> (Option<SessionProcessorTime>, DatabaseCounters) {
        let task = self.task.zip(earlier.task).map(|(later, earlier)| later.since(earlier));
        (task, self.counters.since(&earlier.counters))
    }
}

impl User {
    /// Creates the user with this number, for one repeat.
    pub fn new(
        database: &Database,
        scale: Scale,
        options: &RunOptions,
        repeat: u32,
        number: u32,
    ) -> Result<Self, OltpError> {
        Ok(Self {
            connection: database.connect()?,
            inputs: Inputs::new(scale, options.profile, options.seed, repeat, number),
            mix: TransactionMix::new(options.profile),
            clock: options.clock,
            done: 0,
            retries: 0,
            server: ServerPlacement::Within,
        })
    }

    /// Returns the server's identifier of the user's session, or `None` if the database runs inside the driver. `here`
    /// states whether the server's processes run on this machine.
    pub(crate) fn meet_server(&mut self, here: Option<bool>) -> Result<Option<i64>, OltpError> {
        let session = self.connection.session()?;
        self.server = match (here, session) {
            (None, _) => ServerPlacement::Within,
            (Some(true), Some(process)) => ServerPlacement::Here(process),
            _ => ServerPlacement::Elsewhere,
        };
        Ok(session)
    }

    /// Reads the user's counters between two transactions. The user's own thread must call this function.
    pub(crate) fn read_edge(&mut self, report: bool) -> Result<EdgeReadings, OltpError> {
        if report {
            self.connection.report()?;
        }
        let task = match self.server {
            ServerPlacement::Within => KernelTask::own().time(),
            ServerPlacement::Here(process) => KernelTask::process(process).time(),
            ServerPlacement::Elsewhere => None,
        };
        Ok(EdgeReadings { task, counters: self.connection.own_counters()? })
    }

    /// Returns the number of retries of the last transaction.
    pub(crate) fn retries(&self) -> u64 {
        self.retries
    }

    /// Draws the next transaction.
    pub fn choose(&mut self) -> TransactionKind {
        self.mix.next(self.inputs.rng())
    }

    /// Runs a transaction until it succeeds; returns whether it was rolled back as intended.
    pub fn perform(&mut self, kind: TransactionKind) -> Result<bool, OltpError> {
        let at_ms = self.now_ms();
        self.done += 1;
        self.retries = 0;
        match kind {
            TransactionKind::NewOrder => {
                let input = self.inputs.new_order(at_ms);
                let outcome = self.retry_conflicts(|connection| connection.new_order(&input))?;
                Ok(outcome == NewOrderOutcome::RolledBack)
            }
            TransactionKind::Payment => {
                let input = self.inputs.payment(at_ms);
                self.retry_conflicts(|connection| connection.payment(&input)).map(|_| false)
            }
            TransactionKind::OrderStatus => {
                let input = self.inputs.order_status();
                self.retry_conflicts(|connection| connection.order_status(&input)).map(|_| false)
            }
            TransactionKind::Delivery => {
                let input = self.inputs.delivery(at_ms);
                self.retry_conflicts(|connection| connection.delivery(&input)).map(|_| false)
            }
            TransactionKind::StockLevel => {
                let input = self.inputs.stock_level();
                self.retry_conflicts(|connection| connection.stock_level(&input)).map(|_| false)
            }
        }
    }

    fn retry_conflicts<T>(
        &mut self,
        mut act: impl FnMut(&mut dyn Connection) -> Result<T, OltpError>,
    ) -> Result<T, OltpError> {
        loop {
            match act(self.connection.as_mut()) {
                Err(OltpError::Conflict(_)) if self.retries < RETRIES_MAX => self.retries += 1,
                outcome => return outcome,
            }
        }
    }

    fn now_ms(&self) -> i64 {
        match self.clock {
            TransactionDates::Counted => crate::population::LOADED_AT_MS + 1_000 * (self.done + 1),
            TransactionDates::Wall => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_millis() as i64),
        }
    }

    /// Draws the keying and think times of a transaction (clause 5.2.5.7).
    pub(crate) fn pauses(&mut self, kind: TransactionKind) -> (Duration, Duration) {
        let (keying, mean) = times_s(kind);
        // The clause limits the think time to ten times the mean.
        let thinking = (-self.inputs.rng().unit().ln() * mean).min(10.0 * mean);
        (Duration::from_secs_f64(keying), Duration::from_secs_f64(thinking))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::TransactionProfile;

    #[test]
    fn each_user_draws_from_its_seed_its_repeat_and_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::sqlite(folder.path().join("empty.db"));
        drop(database.backend().open(true).unwrap());
        let scale = Scale { warehouses: 5, divisor: 100, seed: 1 };
        let profile = TransactionProfile::Hammerdb;
        let options = RunOptions {
            profile,
            users: 4,
            think_times: false,
            ramp: Duration::ZERO,
            duration: Duration::from_secs(1),
            seed: 9,
            clock: TransactionDates::Counted,
            pause: Duration::ZERO,
        };
        for (repeat, number) in [(0, 0), (0, 3), (2, 0), (2, 3), (3, 2)] {
            let mut user = User::new(&database, scale, &options, repeat, number).unwrap();
            let mut wanted = Inputs::new(scale, profile, 9, repeat, number);
            for at_ms in 0..20 {
                assert_eq!(
                    user.inputs.new_order(at_ms),
                    wanted.new_order(at_ms),
                    "{repeat} {number}"
                );
            }
        }
    }
}
