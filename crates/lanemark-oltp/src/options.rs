//! The options of a run.

use std::time::Duration;

use crate::error::OltpError;
use crate::profile::TransactionProfile;
use crate::schema::Scale;

/// Number of users per warehouse, which is its number of terminals.
const USERS_A_WAREHOUSE: i64 = 10;

/// The source of the dates of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionDates {
    /// The machine's clock.
    Wall,
    /// A counter that advances by one second per transaction of a user, so that equal runs leave equal contents.
    Counted,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOptions {
    pub profile: TransactionProfile,
    pub users: u32,
    /// Whether users have keying and think times.
    pub think_times: bool,
    /// Duration of the ramp before counting.
    pub ramp: Duration,
    /// Duration of the counted part of the run.
    pub duration: Duration,
    /// Seed of the users' inputs.
    pub seed: u64,
    /// Source of dates.
    pub clock: TransactionDates,
    /// Pause of each user, outside the database, after each transaction.
    pub pause: Duration,
}

impl RunOptions {
    /// Checks that the scale has a terminal for every user.
    pub fn check(&self, scale: &Scale) -> Result<(), OltpError> {
        let users = i64::from(self.users);
        let warehouses = scale.warehouses;
        match self.users {
            0 => Err(OltpError::Bound { what: "users", value: 0, min: 1, max: 1_000_000 }),
            _ if users > warehouses * USERS_A_WAREHOUSE => {
                Err(OltpError::Users { users, warehouses })
            }
            _ => Ok(()),
        }
    }

    /// Returns whether users spend time outside the database between transactions.
    pub(crate) fn has_pauses(&self) -> bool {
        self.think_times || !self.pause.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(users: u32) -> RunOptions {
        RunOptions {
            profile: TransactionProfile::Tpcc,
            users,
            think_times: false,
            ramp: Duration::ZERO,
            duration: Duration::ZERO,
            seed: 1,
            clock: TransactionDates::Counted,
            pause: Duration::ZERO,
        }
    }

    #[test]
    fn users_pause_for_think_times_or_for_a_pause_after_each_transaction() {
        let pause = Duration::from_nanos(1);
        for (think_times, pause, has_pauses) in [
            (false, Duration::ZERO, false),
            (true, Duration::ZERO, true),
            (false, pause, true),
            (true, pause, true),
        ] {
            assert_eq!(RunOptions { think_times, pause, ..options(1) }.has_pauses(), has_pauses);
        }
    }

    #[test]
    fn a_warehouse_has_terminals_for_ten_users() {
        let check = |users: u32, warehouses: i64| {
            options(users).check(&Scale { warehouses, divisor: 1, seed: 1 })
        };
        for (users, warehouses) in [(1, 1), (10, 1), (11, 2), (30, 3)] {
            assert!(check(users, warehouses).is_ok(), "{users} {warehouses}");
        }
        for (users, warehouses) in [(11, 1), (31, 3)] {
            let error = check(users, warehouses).unwrap_err();
            let OltpError::Users { users: told, warehouses: of } = error else { panic!("{error}") };
            assert_eq!((told, of), (i64::from(users), warehouses));
        }
        let error = check(0, 5).unwrap_err();
        assert!(
            matches!(error, OltpError::Bound { what: "users", value: 0, min: 1, .. }),
            "{error}"
        );
    }
}
