//! The workload on a PostgreSQL server of its own; skipped, with a message, where none is installed.
#![cfg(feature = "postgres")]

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lanemark_oltp::budget::WaitClass;
use lanemark_oltp::check::check;
use lanemark_oltp::contents::contents;
use lanemark_oltp::counters::Counter;
use lanemark_oltp::live::Moment;
use lanemark_oltp::load::{LoadOptions, load};
use lanemark_oltp::managed::{ManagedServer, ServerOptions, programs};
use lanemark_oltp::result::OltpRepeat;
use lanemark_oltp::run::{Clock, RunOptions, User, run, run_shown};
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{Database, OltpError, Profile};

const SCALE: Scale = Scale { warehouses: 2, divisor: 100, seed: 7 };
static STOP: AtomicBool = AtomicBool::new(false);

/// A server in a folder that any account can reach, or nothing where there are no programs.
fn server() -> Option<(tempfile::TempDir, ManagedServer)> {
    if programs().is_none() {
        assert!(std::env::var_os("CI").is_none(), "install the package postgresql");
        eprintln!("skipped: PostgreSQL is not installed (package postgresql)");
        return None;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let server =
        ManagedServer::start(&folder.path().join("server"), &ServerOptions::default()).unwrap();
    Some((folder, server))
}

fn load_into(database: &Database) -> Result<(), OltpError> {
    let options = LoadOptions { scale: SCALE, jobs: 2, overwrite: None };
    load(database, &options, &STOP, &|_, _| ()).map(|_| ())
}

fn running(users: u32) -> RunOptions {
    RunOptions {
        profile: Profile::Tpcc,
        users,
        think_times: false,
        ramp: Duration::from_millis(200),
        duration: Duration::from_secs(2),
        seed: 3,
        clock: Clock::Counted,
    }
}

/// Panics with what is broken.
fn assert_consistent(database: &Database) {
    let loaded = database.loaded().unwrap();
    for condition in check(database.connect().unwrap().as_mut(), &loaded).unwrap() {
        assert_eq!(condition.broken, 0, "3.3.2.{}: {}", condition.number, condition.text);
    }
}

/// Panics where what the server tells of itself is not what was done.
fn assert_server_tells(repeat: &OltpRepeat, users: u64) {
    let told = |counter| repeat.counters.get(counter).unwrap();
    let retries: u64 = repeat.transactions.values().map(|one| one.retries).sum();
    let ours = repeat.count() + retries + repeat.looked_on;
    let theirs = told(Counter::Commits) + told(Counter::Rollbacks);
    // A user can be in the midst of a transaction at either edge, and autovacuum may come by.
    let apart = theirs.abs_diff(ours);
    assert!(apart <= 2 * users + ours / 100, "{theirs} by the server, {ours} by us");
    assert_eq!(repeat.looked_on, users);
    assert!(told(Counter::BufferHits) > ours && told(Counter::WalRecords) > ours);
    assert!(told(Counter::WalBytes) > 0 && told(Counter::WalFlushes) > 0);
    assert!(repeat.counters.buffer_hit_ratio().unwrap() > 0.5);
    // Each look finds each user at something.
    let budget = repeat.budget.as_ref().unwrap();
    assert_eq!(budget.total(), budget.looks * users, "{budget:?}");
    let processor = repeat.processor.as_ref().unwrap();
    assert!(processor.server_s.unwrap() > 0.0 && processor.driver_s.unwrap() > 0.0);
    if let Some(sessions) = processor.sessions {
        assert!(sessions.running_s > 0.0, "{sessions:?}");
    }
}

#[test]
fn a_session_that_waits_for_a_row_is_seen_at_a_lock() {
    let Some((_folder, server)) = server() else { return };
    let database = server.database();
    load_into(&database).unwrap();
    let mut holder = database.connect().unwrap();
    holder.begin(true).unwrap();
    // Every new order and every payment wants one of these rows.
    holder.script("UPDATE district SET d_ytd = d_ytd").unwrap();
    let mut release = |moment: &Moment| {
        if moment.counts {
            holder.rollback().unwrap();
        }
    };
    let repeat = run_shown(&database, SCALE, &running(4), 0, &STOP, &mut release).unwrap();
    let budget = repeat.budget.unwrap();
    assert!(budget.samples[&WaitClass::Lock] > 0, "{budget:?}");
}

#[test]
fn one_user_leaves_the_same_contents_as_on_sqlite() {
    let Some((folder, server)) = server() else { return };
    let databases = [server.database(), Database::Sqlite(folder.path().join("oltp.db"))];
    let found = databases.each_ref().map(|database| {
        load_into(database).unwrap();
        let fresh = contents(database.connect().unwrap().as_mut()).unwrap();
        let mut user = User::new(database, SCALE, &running(1), 0, 0).unwrap();
        for _ in 0..400 {
            let kind = user.choose();
            user.perform(kind).unwrap();
        }
        assert_consistent(database);
        (fresh, contents(database.connect().unwrap().as_mut()).unwrap())
    });
    assert_eq!(found[0], found[1]);
    assert_ne!(found[0].0, found[0].1);
    server.remove().unwrap();
}

#[test]
fn users_at_once_and_a_crash_leave_it_consistent() {
    let Some((_folder, server)) = server() else { return };
    let database = server.database();
    load_into(&database).unwrap();
    let repeat = run(&database, SCALE, &running(8), 0, &STOP).unwrap();
    assert!(repeat.tpm > 0.0 && repeat.database_tpm.is_some());
    assert_server_tells(&repeat, 8);
    assert_consistent(&database);
    let users = {
        let database = database.clone();
        let options = RunOptions { duration: Duration::from_secs(30), ..running(8) };
        std::thread::spawn(move || run(&database, SCALE, &options, 1, &STOP))
    };
    std::thread::sleep(Duration::from_millis(1_500));
    let server = server.crash(&ServerOptions::default()).unwrap();
    // The users have lost their server, and the run says so.
    assert!(users.join().unwrap().is_err());
    assert_eq!(server.database(), database);
    assert_consistent(&database);
    let refused = LoadOptions { scale: Scale { seed: 8, ..SCALE }, jobs: 1, overwrite: None };
    let error = load(&database, &refused, &STOP, &|_, _| ()).unwrap_err();
    assert!(matches!(error, OltpError::Different { .. }), "{error}");
    let named = LoadOptions { overwrite: Some("lanemark".to_owned()), ..refused };
    load(&database, &named, &STOP, &|_, _| ()).unwrap();
    assert_consistent(&database);
}

#[test]
fn without_rights_or_with_a_foreign_schema_nothing_is_touched() {
    let Some((_folder, server)) = server() else { return };
    let database = server.database();
    let mut connection = database.connect().unwrap();
    connection.script("CREATE ROLE guest LOGIN").unwrap();
    let Database::Postgres(name) = &database else { return };
    let guest: Database = name.replace("user=lanemark", "user=guest").parse().unwrap();
    let error = load_into(&guest).unwrap_err();
    assert!(matches!(error, OltpError::Rights { .. }), "{error}");
    connection.script("CREATE SCHEMA lanemark_oltp; CREATE TABLE letter (text TEXT)").unwrap();
    assert!(matches!(load_into(&database), Err(OltpError::Foreign(_))));
    connection.script("SELECT * FROM letter").unwrap();
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let database: Database = "postgres://me:secret@127.0.0.1:1/x".parse().unwrap();
    let error = load_into(&database).unwrap_err();
    assert!(matches!(error, OltpError::Unreachable { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}
