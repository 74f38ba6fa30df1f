//! Kills drivers and servers at pseudorandom moments, and checks that the remaining data is consistent.
//!
//! `LANEMARK_OLTP_KILLS` sets the number of kills per test; `make oltp-kills` uses fifty.

use std::process::{Command, Stdio};
use std::time::Duration;

use lanemark_oltp::run::{RunOptions, TransactionDates, run};
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{Database, Value};
use lanemark_schema::rng::{Rng, StreamKey};

mod fixture;
mod server;
use fixture::{STOP, assert_consistent, load_into};

const SCALE: Scale = Scale { warehouses: 1, divisor: 100, seed: 7 };
/// Environment variable with the database of the driver to be killed.
const KILLED: &str = "LANEMARK_OLTP_KILLED";

fn kills() -> u64 {
    std::env::var("LANEMARK_OLTP_KILLS").map_or(6, |text| text.parse().unwrap())
}

/// Returns random times from the start of a driver until it is killed.
fn moments(seed: u64) -> impl Iterator<Item = Duration> {
    let mut rng = Rng::new(StreamKey::from_seed(seed));
    (0..kills()).map(move |_| Duration::from_micros(200_000 + rng.below(1_200_000)))
}

/// Returns the options of a run that ends only when it is stopped.
fn endless() -> RunOptions {
    RunOptions {
        ramp: Duration::ZERO,
        duration: Duration::from_secs(600),
        clock: TransactionDates::Wall,
        ..fixture::running(4)
    }
}

/// Panics with the violations if there are any; otherwise returns the number of payments.
fn consistent(database: &Database) -> i64 {
    assert_consistent(database);
    let mut connection = database.connect().unwrap();
    let mut paid = 0;
    let mut count = |row: &[Value<'_>]| {
        if let Value::Int(found) = row[0] {
            paid = found;
        }
    };
    connection.scan("SELECT COUNT(*) FROM history", &mut count).unwrap();
    paid
}

/// The driver that the tests below start and kill. If they did not start it, it does nothing.
#[test]
fn driver_that_is_killed() {
    let Ok(name) = std::env::var(KILLED) else { return };
    let _ = run(&name.parse().unwrap(), SCALE, &endless(), 0, &STOP);
}

/// Kills one driver after another.
fn kill_drivers(database: &Database, name: &str, seed: u64) {
    let before = consistent(database);
    let mut grew = 0;
    let mut last = before;
    for moment in moments(seed) {
        let mut driver = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "driver_that_is_killed"])
            .env(KILLED, name)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(moment);
        assert!(driver.try_wait().unwrap().is_none(), "the driver ended by itself");
        driver.kill().unwrap();
        driver.wait().unwrap();
        let paid = consistent(database);
        assert!(paid >= last, "payments that were there are gone: {last} and then {paid}");
        grew += u64::from(paid > last);
        last = paid;
    }
    eprintln!("{}: {} kills, {grew} of them in the midst of work", database.kind(), kills());
    assert!(grew > 0, "no driver did anything before it was killed");
}

#[test]
fn killed_drivers_leave_sqlite_consistent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("oltp.db");
    let database = Database::sqlite(path.clone());
    load_into(&database, SCALE).unwrap();
    kill_drivers(&database, &format!("sqlite:{}", path.display()), 1);
}

mod on_a_server {
    use super::*;
    use crate::server::server;
    use lanemark_oltp::managed::{ManagedServer, ServerOptions};

    /// Returns a server with a loaded database, if its programs are installed.
    fn loaded() -> Option<(tempfile::TempDir, ManagedServer)> {
        let (folder, server) = server()?;
        load_into(&server.database(), SCALE).unwrap();
        Some((folder, server))
    }

    #[test]
    fn killed_drivers_leave_postgres_consistent() {
        let Some((_folder, server)) = loaded() else { return };
        let database = server.database();
        kill_drivers(&database, &server.name("lanemark"), 2);
    }

    #[test]
    fn a_killed_server_comes_back_consistent() {
        let Some((_folder, mut server)) = loaded() else { return };
        let database = server.database();
        let mut last = consistent(&database);
        let mut grew = 0;
        for (repeat, moment) in (0..).zip(moments(3)) {
            let users = {
                let database = database.clone();
                std::thread::spawn(move || run(&database, SCALE, &endless(), repeat, &STOP))
            };
            std::thread::sleep(moment);
            server = server.crash(&ServerOptions::default()).unwrap();
            // The users have lost their server, and the run reports this.
            assert!(users.join().unwrap().is_err());
            let paid = consistent(&database);
            assert!(paid >= last, "payments that were there are gone: {last} and then {paid}");
            grew += u64::from(paid > last);
            last = paid;
        }
        eprintln!("PostgreSQL: {} kills of the server, {grew} in the midst of work", kills());
        assert!(grew > 0, "no user did anything before the server was killed");
    }
}
