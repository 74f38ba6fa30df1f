//! Parts that the tests of every database share.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lanemark_oltp::check::check;
use lanemark_oltp::load::{LoadOptions, load};
use lanemark_oltp::run::{Clock, RunOptions};
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{Database, OltpError, Profile};

pub(crate) static STOP: AtomicBool = AtomicBool::new(false);

pub(crate) fn load_into(database: &Database, scale: Scale) -> Result<(), OltpError> {
    let options = LoadOptions { scale, jobs: 2, overwrite: None };
    load(database, &options, &STOP, &|_, _| ()).map(|_| ())
}

pub(crate) fn running(users: u32) -> RunOptions {
    RunOptions {
        profile: Profile::Tpcc,
        users,
        think_times: false,
        ramp: Duration::from_millis(200),
        duration: Duration::from_secs(2),
        seed: 3,
        clock: Clock::Counted,
        procedures: false,
        pause: Duration::ZERO,
    }
}

/// Panics with the list of violations.
pub(crate) fn assert_consistent(database: &Database) {
    let loaded = database.loaded().unwrap();
    let conditions = check(database.connect().unwrap().as_mut(), &loaded).unwrap();
    assert!(conditions.len() > 12);
    for condition in conditions {
        assert_eq!(condition.broken, 0, "{}: {}", condition.source, condition.text);
    }
}
