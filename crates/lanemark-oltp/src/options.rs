//! The options of a run.

use std::time::Duration;

use crate::error::OltpError;
use crate::profile::Profile;
use crate::schema::Scale;

/// Number of users for whom one warehouse has terminals.
const USERS_A_WAREHOUSE: i64 = 10;

/// The source of the dates of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The machine's clock.
    Wall,
    /// One second for each transaction of a user, so that equal runs leave equal contents.
    Counted,
}

/// The options of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOptions {
    /// Mix of transactions.
    pub profile: Profile,
    /// Number of concurrent users.
    pub users: u32,
    /// Whether users have keying and think times.
    pub think_times: bool,
    /// Duration of the ramp before counting.
    pub ramp: Duration,
    /// Duration of counting.
    pub duration: Duration,
    /// Seed of the users' inputs.
    pub seed: u64,
    /// Source of dates.
    pub clock: Clock,
    /// Whether transactions are procedures of the server.
    pub procedures: bool,
    /// Pause of each user outside the database after each transaction.
    pub pause: Duration,
}

impl RunOptions {
    /// Checks that the scale has a terminal for each user.
    pub fn check(&self, scale: &Scale) -> Result<(), OltpError> {
        let (users, warehouses) = (i64::from(self.users), scale.warehouses);
        match self.users {
            0 => Err(OltpError::Bound { what: "users", value: 0, min: 1, max: 1_000_000 }),
            _ if users > warehouses * USERS_A_WAREHOUSE => {
                Err(OltpError::Users { users, warehouses })
            }
            _ => Ok(()),
        }
    }
}
