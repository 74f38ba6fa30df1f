//! `lanemark oltp` as a user sees it, on SQLite with little data.

use std::path::Path;

use lanemark_testbed::{Lanemark, lanemark, stderr};
use serde_json::{Value, json};

fn oltp(folder: &Path, arguments: &[&str]) -> Lanemark {
    lanemark!(folder, &[&["oltp"], arguments].concat())
}

fn read(folder: &Path, file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(file)).unwrap()).unwrap()
}

/// Saves a run, and returns it.
fn run(folder: &Path, file: &str) -> Value {
    let times = ["--ramp", "100 ms", "--duration", "300 ms", "--repeats", "3", "--out", file];
    oltp(folder, &[&["run", "--users", "2"], &times[..]].concat()).stdout();
    read(folder, file)
}

fn samples(run: &mut Value) -> impl Iterator<Item = &mut Value> {
    run["tests"][0]["samples"].as_array_mut().unwrap().iter_mut()
}

const LOAD: [&str; 3] = ["load", "--scale", "100"];

#[test]
fn a_loaded_database_runs_is_consistent_and_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let loaded = oltp(here, &LOAD).stdout();
    assert!(loaded.contains("sqlite:oltp.db: 1 warehouses"), "{loaded}");
    for file in ["a.json", "b.json"] {
        let mut args = vec!["run", "--users", "2", "--ramp", "100 ms", "--duration", "300 ms"];
        args.extend(["--repeats", "3", "--out", file]);
        let (printed, messages) = oltp(here, &args).texts();
        for part in [
            "tpm ",
            "NOPM",
            "Stock-Level",
            "not a TPC result",
            "buffer hits",
            "Time of a transaction, by its user's thread",
        ] {
            assert!(printed.contains(part), "{part}: {printed}");
        }
        // Progress is shown only on terminals.
        assert_eq!(messages.lines().count(), 1, "{messages}");
        assert!(messages.starts_with("saved "), "{messages}");
    }
    let checked = oltp(here, &["check"]).stdout();
    assert_eq!(checked.matches("3.3.2.").count(), 12, "{checked}");
    assert!(checked.lines().all(|line| line.ends_with("holds")), "{checked}");
    assert!(
        checked.contains("\nstock      contains exactly the rows that its scale requires"),
        "{checked}"
    );
    let compared = lanemark!(here, &["compare", "a.json", "b.json"]).stdout();
    assert!(compared.contains("tpm") && compared.contains("New-Order, mean, ms"), "{compared}");
    let same = lanemark!(here, &["compare", "a.json", "a.json"]).stdout();
    assert!(same.contains("no difference shown"), "{same}");
    // Saves a run with three times the throughput, on otherwise idle processors.
    for (file, tpm) in [("calm.json", 1e5), ("thrice.json", 3e5)] {
        let mut run = read(here, "a.json");
        for sample in samples(&mut run) {
            sample["transactions"]["per_minute"] = tpm.into();
            sample["transactions"]["processor_others"] = 0.0.into();
        }
        std::fs::write(here.join(file), run.to_string()).unwrap();
    }
    let fleet =
        ["plan", "fleet", "--present", "calm.json", "--other", "thrice.json", "--nodes", "40"];
    let many = lanemark!(here, &fleet).stdout();
    assert!(many.contains("26 saved"), "{many}");
    lanemark!(here, &["compare", "a.json", "oltp.db"]).ends_with(2);
}

/// The amounts of the payments of one user are random. If the second repeat had the seed of the first, it would begin
/// with the same amounts.
#[test]
fn each_repeat_of_a_run_has_its_own_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    oltp(here, &LOAD).stdout();
    let run = ["run", "--users", "1", "--ramp", "0 s", "--duration", "500 ms", "--repeats", "2"];
    oltp(here, &[&run[..], &["--out", "a.json"]].concat()).stdout();
    let database: lanemark_oltp::Database =
        format!("sqlite:{}", here.join("oltp.db").display()).parse().unwrap();
    let mut amounts = Vec::new();
    // The loaded rows precede the rows of the payments.
    let payments = "SELECT h_amount FROM history WHERE h_amount <> 1000 ORDER BY rowid";
    database
        .connect()
        .unwrap()
        .scan(payments, &mut |row| amounts.push(format!("{:?}", row[0])))
        .unwrap();
    assert!(amounts.len() > 20, "{amounts:?}");
    let repeated = amounts[3..].windows(3).position(|three| three == &amounts[..3]);
    assert_eq!(repeated, None, "{amounts:?}");
}

#[test]
fn passwords_are_not_printed() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "postgres://me:s3cret@127.0.0.1:port/db",
        "postgres://me:s3 cret@127.0.0.1:1/db",
        "postgres://me@127.0.0.1:1/db?password=s3cret",
        "postgres://127.0.0.1:1/db?user=me&password=s3cret",
        "mysql://me:s3cret@127.0.0.1:1/db",
        "mysql://me:s3cret@127.0.0.1:port/db",
        "oracle://me:s3cret@127.0.0.1/db",
        "host=127.0.0.1 password=s3cret",
        "host=127.0.0.1 PASSWORD = 's3cret and more'",
    ] {
        for words in [
            &["check", "--database", name][..],
            &["load", &format!("--database={name}"), "--warehouses", "0"],
            &["run", "--database", name, "--no-such-option"],
            &["check", name],
        ] {
            let output = oltp(folder.path(), words).output();
            let message = stderr(&output);
            assert!(!output.status.success() && !message.contains("s3"), "{words:?}: {message}");
        }
    }
}

#[test]
fn nothing_is_created_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link.db");
    let target = folder.path().join("target.db");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let to_link = [&LOAD[..], &["--database", "sqlite:link.db"]].concat();
    let output = oltp(folder.path(), &to_link).output();
    let message = stderr(&output);
    assert!(!output.status.success() && message.contains("link without a target"), "{message}");
    assert!(link.is_symlink() && !target.exists());
    // A link to an existing database is followed.
    oltp(folder.path(), &[&LOAD[..], &["--database", "sqlite:target.db"]].concat()).stdout();
    oltp(folder.path(), &["check", "--database", "sqlite:link.db"]).stdout();
}

#[test]
fn errors_are_reported_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    oltp(here, &["run"]).fails_saying(2, "hint: load first: lanemark oltp load");
    std::fs::write(here.join("oltp.db"), "a letter").unwrap();
    oltp(here, &LOAD).fails_saying(3, "hint: to replace it: --overwrite oltp.db");
    oltp(here, &[&LOAD[..], &["--overwrite", "oltp.db"]].concat()).stdout();
    oltp(here, &["run", "--users", "48"]).fails_saying(2, "48 users require 5 warehouses");
    let unknown = ["check", "--database", "oracle://x"];
    oltp(here, &unknown).fails_saying(2, "does not name a database");
}

#[test]
fn help_and_errors_name_the_databases_that_are_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let help = oltp(folder.path(), &["load", "--help"]).stdout();
    for (name, built_in) in [("postgres", true), ("mysql", cfg!(feature = "mysql"))] {
        assert_eq!(help.contains(&format!("{name}://")), built_in, "{help}");
        let database = format!("{name}://me@127.0.0.1:1/x");
        let error = oltp(folder.path(), &["check", "--database", &database]).ends_with(2).1;
        let left_out = error.contains("--features mysql");
        assert_eq!(left_out, !built_in, "{error}");
        assert_eq!(error.contains("can't be reached"), built_in, "{error}");
    }
    assert!(help.contains("--managed"));
}

/// The workload from a run makes a simulated drive serve the run's requests.
#[test]
fn a_run_becomes_a_workload_of_the_simulator() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    oltp(here, &LOAD).stdout();
    let mut run = run(here, "a.json");
    // The number of requests to the device depends on the machine; the transaction itself reads two pages and writes
    // three.
    for sample in samples(&mut run) {
        let transactions = &sample["transactions"];
        let kinds = transactions["kinds"].as_object().unwrap();
        let count = transactions["count"].as_u64().unwrap();
        let undone: u64 = kinds.values().map(|one| one["rolled_back"].as_u64().unwrap()).sum();
        let reading: u64 = ["order-status", "stock-level"]
            .iter()
            .filter_map(|kind| kinds.get(*kind)?["count"].as_u64())
            .sum();
        let log = count - undone - reading;
        sample["evidence"]["device"] = json!({
            "name": "vda", "reads": 2 * count, "read_bytes": 16_384 * count, "read_time_ns": 0,
            "writes": 3 * count + log, "written_bytes": 0, "write_time_ns": 0, "flushes": 0, "flush_time_ns": 0,
            "busy_ns": 0, "trims": 0, "elapsed_ns": 0,
        });
    }
    std::fs::write(here.join("a.json"), run.to_string()).unwrap();
    let workload = |run: &str| {
        let _ = std::fs::remove_file(here.join("workload.toml"));
        lanemark!(here, &["report", run, "--out", "workload.toml"]).stdout();
        std::fs::read_to_string(here.join("workload.toml")).unwrap()
    };
    let printed = workload("a.json");
    assert!(
        printed.contains("[transactions]")
            && printed.contains("reads from the device during the run")
    );
    lanemark!(here, &["report", "a.json", "--out", "as-measured.toml"]).stdout();
    lanemark!(here, &["report", "a.json", "--out", "as-measured.toml"]).stdout();
    let system = "samsung-pm9a3-7680gb@server-pcie5:bay";
    let simulated = lanemark!(here, &["sim", system, "as-measured.toml", "--json"]);
    let result = simulated.with("--repeats 1 --duration 20s").json();
    let measured = &result["tests"][0]["samples"][0]["transactions"];
    let of = |key: &str| measured[key].as_f64().unwrap();
    assert!((of("page_reads") / 2.0 - 1.0).abs() < 0.1, "{measured}");
    assert!((of("page_writes") / 3.0 - 1.0).abs() < 0.1, "{measured}");
    // A measured device does not require the option, and a run without a known device does not mention it.
    lanemark!(here, &["bench", ".", "as-measured.toml"]).fails_saying(2, "lanemark oltp run");
    // The sessions' waits for data and log are not counted as time elsewhere, even though the device was fast: a
    // throttle delayed the requests.
    let elsewhere = |run: &Value| {
        std::fs::write(here.join("a.json"), run.to_string()).unwrap();
        let text = workload("a.json");
        let line = text.lines().find(|line| line.starts_with("elsewhere")).unwrap().to_owned();
        let number = |from: &str, to: &str| -> f64 {
            let rest = line.split_once(from).unwrap().1;
            rest.split_once(to).unwrap().0.parse().unwrap()
        };
        (number("value = \"", " us"), number("derived = \"", " µs"), line.clone())
    };
    let (before, _, line) = elsewhere(&run);
    assert!(line.contains("the drive's time"), "{line}");
    for sample in samples(&mut run) {
        sample["transactions"]["waits"] = json!({
            "period_ms": 10, "looks": 100, "samples": { "processor": 160, "log": 30, "read": 10 },
        });
    }
    let (after, cycle, line) = elsewhere(&run);
    assert!(line.contains("as sessions reported them"), "{line}");
    assert!((before - after - 0.2 * cycle).abs() < 1.0 || after == 0.0, "{before} {after} {cycle}");
    assert!(after < before, "{before} {after}");
    // Lock waits are proportional to the duration of transactions. The factor is the number of sessions that waited for
    // a lock, divided by the number of sessions that were working or waiting for the drive.
    for sample in samples(&mut run) {
        sample["transactions"]["waits"]["samples"]["lock"] = 40.into();
    }
    let (without_locks, _, line) = elsewhere(&run);
    assert!(without_locks <= after && line.contains("µs of locks"), "{after} {line}");
    let text = workload("a.json");
    assert!(text.contains("\nlocks        = { value = 0.2000,"), "{text}");
    run["tests"][0]["samples"][0].as_object_mut().unwrap().remove("evidence");
    std::fs::write(here.join("b.json"), run.to_string()).unwrap();
    lanemark!(here, &["report", "b.json", "--out", "b.toml"])
        .fails_saying(2, "does not contain the counters of its device");
    std::fs::write(here.join("mine.toml"), "precious").unwrap();
    lanemark!(here, &["report", "a.json", "--out", "mine.toml"]).ends_with(3);
    assert_eq!(std::fs::read_to_string(here.join("mine.toml")).unwrap(), "precious");
}

/// Tests a run on SQLite, a saved run on PostgreSQL, and the simulation of the latter.
#[test]
fn runs_on_databases_are_results_as_all_others_are() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    oltp(here, &LOAD).stdout();
    let new = run(here, "new.json");
    let saved = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved/postgresql.json");
    std::fs::copy(saved, here.join("postgresql.json")).unwrap();
    assert_eq!((&new["schema_version"], &new["target"]["kind"]), (&1.into(), &"database".into()));
    assert!(new["provenance"]["machine"]["cores"].as_u64() > Some(0), "{new}");
    lanemark!(here, &["report", "postgresql.json", "--out", "asked.toml"]).stdout();
    let simulate = ["sim", "samsung-pm9a3-7680gb@server-pcie5:bay", "asked.toml", "--repeats", "2"];
    let quick = ["--duration", "500 ms", "--out", "model.json"];
    lanemark!(here, &[&simulate[..], &quick[..]].concat()).stdout();
    let all = ["new.json", "postgresql.json", "model.json"];
    lanemark!(here, &[&["report"], &all[..], &["--out", "page.html"]].concat()).stdout();
    let page = std::fs::read_to_string(here.join("page.html")).unwrap();
    let panel = page.split("<figcaption>tpm, 1/min").nth(1).unwrap();
    let panel = panel.split("</figure>").next().unwrap();
    for name in ["sqlite:oltp.db<", "postgres:///lanemark", "samsung-pm9a3"] {
        assert!(panel.contains(name), "{name}: {panel}");
    }
    let compared =
        lanemark!(here, &["compare", "postgresql.json", "model.json", "--detail"]).stdout();
    assert!(compared.contains("Transactions side by side: 2 users"), "{compared}");
    assert!(compared.contains("Transactions a minute"), "{compared}");
    let both = ["--present", "postgresql.json", "--other", "model.json"];
    let planned = lanemark!(here, &[&["plan", "fleet"], &both[..]].concat()).stdout();
    assert!(planned.contains("59100 / (11820 x 100%)"), "{planned}");
    // A simulated run with different users is not comparable.
    let more = std::fs::read_to_string(here.join("model.json")).unwrap();
    let more = more.replace("\"threads\":2", "\"threads\":3");
    std::fs::write(here.join("more.json"), more).unwrap();
    let both = ["--present", "postgresql.json", "--other", "more.json"];
    lanemark!(here, &[&["plan", "fleet"], &both[..]].concat())
        .fails_saying(2, "are results of different tests");
    let table = lanemark!(here, &["report", "new.json"]).stdout();
    assert!(table.contains("SQLite 3.") && table.contains("tpm"), "{table}");
    let json = lanemark!(here, &["report", "new.json", "--json"]).stdout();
    std::fs::write(here.join("again.json"), json).unwrap();
    let same = lanemark!(here, &["compare", "new.json", "again.json"]).stdout();
    assert!(same.contains("no difference shown"), "{same}");
    for (args, hint) in [
        (&["report", "new.json", "--format", "fio-json"][..], ".json, .csv"),
        (&["compare", "new.json", "--set", "drive.flash.read=1 us"][..], "--out workload.toml"),
    ] {
        lanemark!(here, args).fails_saying(2, hint);
    }
    let mut newer = read(here, "postgresql.json");
    newer["schema_version"] = 2.into();
    std::fs::write(here.join("newer.json"), newer.to_string()).unwrap();
    lanemark!(here, &["report", "newer.json", "--out", "x.html"])
        .fails_saying(2, "has schema version 2, but this program reads version 1");
}
