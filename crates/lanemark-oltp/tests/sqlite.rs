//! The workload on SQLite loads and runs, and its data is consistent.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lanemark_oltp::check::{ConditionSource, check};
use lanemark_oltp::contents::contents;
use lanemark_oltp::load::{LoadOptions, load};
use lanemark_oltp::progress::ProgressSnapshot;
use lanemark_oltp::run::{RunOptions, TransactionDates, User, run, run_shown};
use lanemark_oltp::schema::{Scale, Table};
use lanemark_oltp::{Database, OltpError, TransactionKind, outcome};
use lanemark_schema::result::DatabaseCounter;

mod damage;
mod fixture;
use fixture::{STOP, assert_consistent, load_into};

const SCALE: Scale = Scale { warehouses: 1, divisor: 100, seed: 7 };

fn options(scale: Scale) -> LoadOptions {
    LoadOptions { scale, jobs: 2, overwrite: None }
}

fn loaded(folder: &Path, scale: Scale) -> Database {
    let database = Database::sqlite(folder.join("oltp.db"));
    load_into(&database, scale).unwrap();
    database
}

fn running(users: u32) -> RunOptions {
    RunOptions {
        ramp: Duration::from_millis(100),
        duration: Duration::from_millis(900),
        clock: TransactionDates::Wall,
        ..fixture::running(users)
    }
}

#[test]
fn a_fresh_database_is_consistent_and_the_same_for_the_same_seed() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let found = folders.each_ref().map(|folder| {
        let database = loaded(folder.path(), SCALE);
        assert_consistent(&database);
        contents(database.connect().unwrap().as_mut()).unwrap()
    });
    assert_eq!(found[0], found[1]);
    let rows = |table| found[0].iter().find(|one| one.table == table).unwrap().rows;
    assert_eq!((rows(Table::Item), rows(Table::Customer), rows(Table::NewOrder)), (1_000, 300, 90));
}

#[test]
fn every_transaction_leaves_it_consistent() {
    let folder = tempfile::tempdir().unwrap();
    let database = loaded(folder.path(), Scale { warehouses: 2, ..SCALE });
    let scale = database.loaded().unwrap().scale;
    let options = RunOptions { clock: TransactionDates::Counted, ..running(1) };
    let mut user = User::new(&database, scale, &options, 0, 0).unwrap();
    let mut rolled_back = 0;
    let mut orders = 0;
    for _ in 0..600 {
        let kind = user.choose();
        let undone = user.perform(kind).unwrap();
        orders += u32::from(kind == TransactionKind::NewOrder);
        rolled_back += u32::from(undone);
    }
    assert!((1..20).contains(&rolled_back), "{rolled_back} of {orders}");
    let found = contents(database.connect().unwrap().as_mut()).unwrap();
    let entered = found.iter().find(|one| one.table == Table::Orders).unwrap().rows - 600;
    assert_eq!(entered, u64::from(orders - rolled_back));
    // There are more deliveries than open orders: districts without open orders are skipped.
    for _ in 0..60 {
        user.perform(TransactionKind::Delivery).unwrap();
    }
    assert_consistent(&database);
}

#[test]
fn a_run_counts_its_work_and_concurrent_users_stay_consistent() {
    let folder = tempfile::tempdir().unwrap();
    let database = loaded(folder.path(), SCALE);
    let mut looks = Vec::new();
    let mut show = |moment: &ProgressSnapshot| looks.push(moment.clone());
    let sample = run_shown(&database, SCALE, &running(4), 0, &STOP, &mut show).unwrap();
    let repeat = sample.transactions.unwrap();
    let all: u64 = repeat.kinds.values().map(|one| one.count).sum();
    assert!(all > 0);
    assert!((repeat.per_minute - all as f64 * 60.0 / 0.9).abs() < 1e-6);
    assert_eq!((repeat.count, repeat.response.count()), (all, all));
    assert!(repeat.new_orders_per_minute.unwrap() < repeat.per_minute);
    assert!(repeat.response_ms().unwrap() > 0.0);
    for one in repeat.kinds.values() {
        assert_eq!(one.latency.count(), one.count);
    }
    // The first report belongs to the ramp, and the last report contains nearly all counted transactions.
    assert!(!looks[0].counts && looks.last().unwrap().counts, "{looks:?}");
    let last = looks.last().unwrap().transactions;
    assert!(last.abs_diff(all) <= 2 * 4, "{last} were shown and {all} counted");
    // The counters include the cache and the log of the users' connections.
    let count_of = |counter| repeat.counters.get(counter);
    assert!(count_of(DatabaseCounter::BufferHits).unwrap() > all, "{:?}", repeat.counters);
    let pages = count_of(DatabaseCounter::WalFullPages).unwrap();
    assert!(
        pages > 0 && count_of(DatabaseCounter::WalBytes) == Some(pages * (4_096 + 24)),
        "{pages}"
    );
    assert_eq!((count_of(DatabaseCounter::WalFlushes), repeat.counted_per_minute), (None, None));
    assert_eq!(repeat.waits, None);
    let processor = repeat.processor_time.as_ref().unwrap();
    assert_eq!(processor.server_s, None);
    if let Some(sessions) = processor.sessions {
        assert!(sessions.running_s > 0.0, "{sessions:?}");
    }
    assert_consistent(&database);
}

#[test]
fn a_foreign_database_is_refused_unless_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("oltp.db");
    let database = Database::sqlite(path.clone());
    std::fs::write(&path, "an unrelated file").unwrap();
    let refused = |overwrite: Option<&str>| {
        let overwrite = overwrite.map(str::to_owned);
        load(&database, &LoadOptions { overwrite, ..options(SCALE) }, &STOP, &|_, _| ())
    };
    assert!(matches!(refused(None), Err(OltpError::Foreign(_))));
    assert!(matches!(refused(Some("other.db")), Err(OltpError::OverwriteMismatch { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "an unrelated file");
    refused(Some("oltp.db")).unwrap();
    assert_consistent(&database);
    let other = Scale { seed: 8, ..SCALE };
    let error = load(&database, &options(other), &STOP, &|_, _| ()).unwrap_err();
    assert!(matches!(error, OltpError::Different { .. }) && error.is_refusal(), "{error}");
}

#[test]
fn a_load_that_was_stopped_continues() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::sqlite(folder.path().join("oltp.db"));
    let scale = Scale { warehouses: 3, ..SCALE };
    let stop = AtomicBool::new(false);
    let after_two = |done: i64, _| {
        stop.store(done >= 2, std::sync::atomic::Ordering::Relaxed);
    };
    let stopped = load(&database, &options(scale), &stop, &after_two);
    assert!(matches!(stopped, Err(OltpError::Stopped)));
    assert!(matches!(database.loaded(), Err(OltpError::Incomplete { loaded: 1, .. })));
    let report = load(&database, &options(scale), &STOP, &|_, _| ()).unwrap();
    assert_eq!(report.kept, 1);
    assert_consistent(&database);
    let whole = tempfile::tempdir().unwrap();
    let at_once = loaded(whole.path(), scale);
    let held = |database: &Database| contents(database.connect().unwrap().as_mut()).unwrap();
    assert_eq!(held(&database), held(&at_once));
    // The second load does not find any work.
    assert_eq!(load(&database, &options(scale), &STOP, &|_, _| ()).unwrap().rows, 0);
}

#[test]
fn of_two_parallel_loads_one_reports_the_other() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::sqlite(folder.path().join("oltp.db"));
        let scale = Scale { warehouses: 3, ..SCALE };
        let both = std::thread::scope(|scope| {
            let load = || load(&database, &options(scale), &STOP, &|_, _| ());
            let other = scope.spawn(load);
            [load(), other.join().unwrap()]
        });
        for outcome in &both {
            if let Err(error) = outcome {
                assert!(matches!(error, OltpError::InUse(_)), "{error}");
            }
        }
        assert!(both.iter().any(Result::is_ok), "{both:?}");
        assert_consistent(&database);
    }
}

#[test]
fn an_impossible_run_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let absent = Database::sqlite(folder.path().join("absent.db"));
    assert!(matches!(absent.loaded(), Err(OltpError::NotLoaded(_))));
    assert!(!folder.path().join("absent.db").exists());
    let nowhere = Database::sqlite(folder.path().join("no/such/folder.db"));
    let error = load(&nowhere, &options(SCALE), &STOP, &|_, _| ()).unwrap_err();
    assert!(matches!(error, OltpError::Unreachable { .. }), "{error}");
    let database = loaded(folder.path(), SCALE);
    let error = run(&database, SCALE, &running(11), 0, &STOP).unwrap_err();
    assert_eq!(
        error.to_string(),
        "11 users require 2 warehouses (one per ten users), but the database contains 1"
    );
    let later = "UPDATE lanemark_oltp SET value = 99 WHERE key = 'version'";
    database.connect().unwrap().script(later).unwrap();
    assert!(matches!(database.loaded(), Err(OltpError::Version { found: 99, .. })));
    let bound = load(&database, &options(Scale { warehouses: 0, ..SCALE }), &STOP, &|_, _| ());
    assert!(matches!(bound, Err(OltpError::Bound { .. })));
}

#[test]
fn every_condition_is_broken_by_the_damage_that_it_forbids() {
    let folder = tempfile::tempdir().unwrap();
    let sound = loaded(folder.path(), SCALE);
    let notes = sound.loaded().unwrap();
    let broken_by = [
        "UPDATE warehouse SET w_ytd = w_ytd + 1",
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 1",
        "DELETE FROM new_order WHERE no_d_id = 1 AND no_o_id = 25",
        "DELETE FROM order_line WHERE ol_d_id = 1 AND ol_o_id = 5 AND ol_number = 1",
        "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 1 AND o_id = 1",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 1 AND o_id = 1",
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 1",
        "DELETE FROM history WHERE h_c_id = 1",
        "UPDATE history SET h_amount = h_amount + 1 WHERE h_d_id = 1",
        "UPDATE customer SET c_balance = c_balance + 1 WHERE c_id = 1",
        "DELETE FROM orders WHERE o_d_id = 1 AND o_id = 1",
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 2",
    ];
    for (at, sql) in broken_by.into_iter().enumerate() {
        let copy = folder.path().join(format!("{at}.db"));
        std::fs::copy(folder.path().join("oltp.db"), &copy).unwrap();
        let mut connection = Database::sqlite(copy).connect().unwrap();
        connection.script(sql).unwrap();
        let conditions = check(connection.as_mut(), &notes).unwrap();
        let clause = ConditionSource::Clause(at as u32 + 1);
        let condition = conditions.iter().find(|condition| condition.source == clause).unwrap();
        assert!(condition.broken > 0, "{clause} holds after {sql}");
    }
}

#[test]
fn missing_and_impossible_rows_of_a_table_are_found() {
    let folder = tempfile::tempdir().unwrap();
    damage::assert_found(&loaded(folder.path(), SCALE));
    // A column in SQLite accepts values of any type.
    for value in ["NULL", "'many'", "12.5", "x'00'", "9223372036854775807"] {
        let folder = tempfile::tempdir().unwrap();
        let database = loaded(folder.path(), SCALE);
        let sql = format!("UPDATE stock SET s_quantity = {value} WHERE s_i_id = 1");
        database.connect().unwrap().script(&sql).unwrap();
        assert_eq!(
            damage::broken(&database, Table::Stock, "contains only valid values"),
            1,
            "{value}"
        );
    }
}

#[test]
fn an_emptied_table_is_found_whichever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let sound = loaded(folder.path(), SCALE);
    let notes = sound.loaded().unwrap();
    for names in Table::ALL.map(|table| vec![table]).into_iter().chain([Table::ALL.to_vec()]) {
        let copy = folder.path().join("copy.db");
        std::fs::copy(folder.path().join("oltp.db"), &copy).unwrap();
        let mut connection = Database::sqlite(copy).connect().unwrap();
        for table in &names {
            connection.script(&format!("DELETE FROM {}", table.name())).unwrap();
        }
        let conditions = check(connection.as_mut(), &notes).unwrap();
        let broken: i64 = conditions.iter().map(|condition| condition.broken).sum();
        assert!(broken > 0, "{names:?} may be empty");
    }
}

#[test]
fn users_that_pause_do_no_more_than_their_pauses_let_them() {
    let folder = tempfile::tempdir().unwrap();
    let database = loaded(folder.path(), SCALE);
    let options = RunOptions { pause: Duration::from_millis(50), ..running(2) };
    let sample = run(&database, SCALE, &options, 0, &STOP).unwrap();
    // The count includes the transactions that begin within 900 ms and the transactions in progress at the start.
    let count = sample.transactions.unwrap().count;
    assert!((2..=2 * 19).contains(&count), "{count}");
    let workload = outcome::workload(&SCALE, &options, lanemark_schema::units::Bytes(1), 1);
    let text = serde_json::to_string(&workload).unwrap();
    assert!(text.contains("\"pause_ns\":50000000"), "{text}");
}

#[test]
fn a_repeat_that_is_stopped_keeps_the_time_that_counted() {
    let folder = tempfile::tempdir().unwrap();
    let database = loaded(folder.path(), SCALE);
    let long = RunOptions { duration: Duration::from_secs(3600), ..running(2) };
    let stopped_when = |is_over: fn(&ProgressSnapshot) -> bool| {
        let stop = AtomicBool::new(false);
        run_shown(&database, SCALE, &long, 0, &stop, &mut |moment: &ProgressSnapshot| {
            stop.store(is_over(moment), std::sync::atomic::Ordering::Relaxed);
        })
    };
    let begun = std::time::Instant::now();
    let sample = stopped_when(|moment| moment.counts && moment.elapsed.as_secs() >= 2).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(30));
    let seconds = sample.elapsed.as_seconds();
    let transactions = sample.transactions.unwrap();
    assert!(!sample.complete && (2.0..20.0).contains(&seconds), "{seconds}");
    let rate = transactions.count as f64 * 60.0 / seconds;
    assert!(transactions.count > 0 && (transactions.per_minute / rate - 1.0).abs() < 1e-6);
    let within_the_ramp = stopped_when(|moment| !moment.counts);
    assert!(matches!(within_the_ramp, Err(OltpError::Stopped)));
}
