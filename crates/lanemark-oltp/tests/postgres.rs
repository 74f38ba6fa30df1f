//! The workload on a dedicated PostgreSQL server. The tests are skipped with a message if PostgreSQL is not installed.

use std::time::Duration;

use lanemark_oltp::input::{CustomerKey, Inputs};
use lanemark_oltp::load::{LoadOptions, load};
use lanemark_oltp::managed::{ManagedServer, ServerOptions, programs};
use lanemark_oltp::progress::ProgressSnapshot;
use lanemark_oltp::run::{RunOptions, run, run_shown};
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{Database, OltpError, TransactionProfile, Value};
use lanemark_schema::result::{DatabaseCounter, TransactionFigures, WaitClass};

mod alike;
mod damage;
mod fixture;
mod server;
use fixture::{STOP, assert_consistent, load_into, running};
use server::{folder, server};

const SCALE: Scale = Scale { warehouses: 2, divisor: 100, seed: 7 };

/// Panics if the server's counters differ from the executed work.
fn assert_server_reports(repeat: &TransactionFigures, users: u64) {
    let count_of = |counter| repeat.counters.get(counter).unwrap();
    let retries: u64 = repeat.kinds.values().map(|one| one.retries).sum();
    let ours = repeat.count + retries + repeat.looked_on;
    let theirs = count_of(DatabaseCounter::Commits) + count_of(DatabaseCounter::Rollbacks);
    // At both ends, a user may be in the middle of a transaction, and autovacuum may be active.
    let apart = theirs.abs_diff(ours);
    assert!(apart <= 2 * users + ours / 100, "{theirs} by the server, {ours} by us");
    assert_eq!(repeat.looked_on, users);
    assert!(
        count_of(DatabaseCounter::BufferHits) > ours
            && count_of(DatabaseCounter::WalRecords) > ours
    );
    assert!(count_of(DatabaseCounter::WalBytes) > 0 && count_of(DatabaseCounter::WalFlushes) > 0);
    assert!(repeat.counters.buffer_hit_ratio().unwrap() > 0.5);
    // Each attempt is one call.
    let each = count_of(DatabaseCounter::Messages) as f64 / (repeat.count + retries) as f64;
    assert!((0.95..1.05).contains(&each), "{each} messages each");
    // Each sample contains the state of each user.
    let waits = repeat.waits.as_ref().unwrap();
    assert_eq!(waits.total(), waits.looks * users, "{waits:?}");
    let processor = repeat.processor_time.as_ref().unwrap();
    assert!(processor.server_s.unwrap() > 0.0 && processor.driver_s.unwrap() > 0.0);
    if let Some(sessions) = processor.sessions {
        assert!(sessions.running_s > 0.0, "{sessions:?}");
    }
}

#[test]
fn a_session_that_waits_for_a_row_is_seen_at_a_lock() {
    let Some((_folder, server)) = server() else { return };
    let database = server.database();
    load_into(&database, SCALE).unwrap();
    let mut holder = database.connect().unwrap();
    holder.begin(true).unwrap();
    // Every new order and every payment must lock one of these rows.
    holder.script("UPDATE district SET d_ytd = d_ytd").unwrap();
    let mut release = |moment: &ProgressSnapshot| {
        if moment.counts {
            holder.rollback().unwrap();
        }
    };
    let sample = run_shown(&database, SCALE, &running(4), 0, &STOP, &mut release).unwrap();
    let repeat = sample.transactions.unwrap();
    let waits = repeat.waits.unwrap();
    assert!(waits.samples[&WaitClass::Lock] > 0, "{waits:?}");
}

#[test]
fn one_user_leaves_the_same_contents_as_on_sqlite() {
    let Some((folder, server)) = server() else { return };
    alike::assert_like_sqlite(&server.database(), folder.path());
    server.remove().unwrap();
}

/// The transactions return the values that the same transactions return on SQLite.
#[test]
fn a_procedure_returns_the_values_of_the_statements() {
    let Some((folder, server)) = server() else { return };
    let databases = [Database::sqlite(folder.path().join("oltp.db")), server.database()];
    let mut users = databases.each_ref().map(|database| {
        load_into(database, SCALE).unwrap();
        database.connect().unwrap()
    });
    let mut inputs = Inputs::new(SCALE, TransactionProfile::Tpcc, 5, 0, 0);
    for at_ms in 0..150 {
        let order = inputs.new_order(at_ms);
        let payment = inputs.payment(at_ms);
        let status = inputs.order_status();
        let stock = inputs.stock_level();
        let [by_statements, by_procedures] = users.each_mut().map(|user| {
            let entered = user.new_order(&order).unwrap();
            let paid = user.payment(&payment).unwrap();
            (entered, paid, user.order_status(&status).unwrap(), user.stock_level(&stock).unwrap())
        });
        assert_eq!(by_statements, by_procedures);
    }
    let delivery = inputs.delivery(1);
    let [a, b] = users.each_mut().map(|user| user.delivery(&delivery).unwrap());
    assert_eq!((a, a.delivered), (b, 10));
    // A payment by a customer who does not exist.
    let mut nobody = inputs.payment(1);
    nobody.customer = CustomerKey::LastName("NOBODY".to_owned());
    for user in &mut users {
        let error = user.payment(&nobody).unwrap_err();
        assert!(matches!(error, OltpError::Damaged(_)), "{error}");
    }
    databases.iter().for_each(assert_consistent);
}

#[test]
fn the_second_of_two_deliveries_must_try_again() {
    let Some((_folder, server)) = server() else { return };
    let database = server.database();
    load_into(&database, SCALE).unwrap();
    // Two deliveries of one warehouse select the same orders; the second must try again.
    let mut first = database.connect().unwrap();
    first.begin(true).unwrap();
    first.script("DELETE FROM new_order WHERE no_w_id = 1").unwrap();
    let other = database.clone();
    let second = std::thread::spawn(move || {
        let delivery = Inputs::new(SCALE, TransactionProfile::Tpcc, 1, 0, 0).delivery(1);
        other.connect().unwrap().delivery(&delivery)
    });
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let mut observer = database.connect().unwrap();
    let mut waits = 0;
    while waits == 0 && !second.is_finished() {
        observer.scan(waiting, &mut |row| waits = i64::from(row[0] != Value::Int(0))).unwrap();
    }
    first.commit().unwrap();
    let error = second.join().unwrap().unwrap_err();
    assert!(matches!(error, OltpError::Conflict(_)), "{error}");
}

#[test]
fn users_at_once_and_a_crash_leave_it_consistent() {
    let Some((_folder, server)) = server() else { return };
    let database = server.database();
    load_into(&database, SCALE).unwrap();
    let (cache, data) = database.cache_and_data().unwrap();
    assert_eq!(cache, 128 << 20);
    assert!((1 << 20..100 << 20).contains(&data), "{data}");
    let sample = run(&database, SCALE, &running(8), 0, &STOP).unwrap();
    let repeat = sample.transactions.unwrap();
    assert!(repeat.per_minute > 0.0 && repeat.counted_per_minute.is_some());
    assert_server_reports(&repeat, 8);
    assert_consistent(&database);
    let users = {
        let database = database.clone();
        let options = RunOptions { duration: Duration::from_secs(30), ..running(8) };
        std::thread::spawn(move || run(&database, SCALE, &options, 1, &STOP))
    };
    std::thread::sleep(Duration::from_millis(1_500));
    let _server = server.crash(&ServerOptions::default()).unwrap();
    // The users have lost their server, and the run reports this.
    assert!(users.join().unwrap().is_err());
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
    let name = server.name("lanemark").replace("user=lanemark", "user=guest");
    let guest: Database = name.parse().unwrap();
    let error = load_into(&guest, SCALE).unwrap_err();
    assert!(matches!(error, OltpError::Rights { .. }), "{error}");
    connection.script("CREATE SCHEMA lanemark_oltp; CREATE TABLE letter (text TEXT)").unwrap();
    assert!(matches!(load_into(&database, SCALE), Err(OltpError::Foreign(_))));
    connection.script("SELECT * FROM letter").unwrap();
}

#[test]
fn a_missing_server_is_an_error() {
    let database: Database = "postgres://me:secret@127.0.0.1:1/x".parse().unwrap();
    let error = load_into(&database, SCALE).unwrap_err();
    assert!(matches!(error, OltpError::Unreachable { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

/// A server before version 16 uses the page cache, and reports this. A later server bypasses the page cache, if the
/// file system supports that; /tmp may be in memory, which does not.
#[test]
fn a_server_without_direct_io_reports_the_page_cache() {
    let folder = folder();
    let Some(programs) = programs() else { return lanemark_testbed::skipped("PostgreSQL") };
    let version = std::process::Command::new(programs.join("postgres")).arg("--version").output();
    let version = String::from_utf8_lossy(&version.unwrap().stdout).into_owned();
    let is_old = ["13.", "14.", "15."].iter().any(|old| version.contains(&format!(" {old}")));
    let options = ServerOptions { direct_io: true, ..ServerOptions::default() };
    match ManagedServer::start(&folder.path().join("server"), &options) {
        Ok(server) => {
            let reason = server.page_cache().unwrap_or_default();
            assert_eq!(reason.contains("lacks direct I/O, which version 16 added"), is_old);
            assert!(server.database().settings().is_ok());
        }
        Err(error) => {
            assert!(!is_old && error.to_string().contains("debug_io_direct"), "{error}");
        }
    }
}

#[test]
fn missing_and_impossible_rows_of_a_table_are_found() {
    let Some((_folder, server)) = server() else { return };
    let database = server.database();
    load_into(&database, SCALE).unwrap();
    damage::assert_found(&database);
}
