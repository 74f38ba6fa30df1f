//! `lanemark oltp` as a user sees it, on SQLite with little data.

use std::path::Path;
use std::process::{Command, Output};

use lanemark_testbed::{Lanemark, lanemark};

fn oltp(folder: &Path, arguments: &[&str]) -> Lanemark {
    lanemark!(folder, &[&["oltp"], arguments].concat())
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the exit code and the message.
fn failure(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns a saved run with changed samples.
fn saved(folder: &Path, file: &str, change: impl Fn(&mut serde_json::Value)) -> String {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
    run["tests"][0]["samples"].as_array_mut().unwrap().iter_mut().for_each(change);
    run.to_string()
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
        let output = oltp(here, &args).output();
        let printed = stdout(&output);
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
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
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
        let run = saved(here, "a.json", |sample| {
            sample["transactions"]["per_minute"] = tpm.into();
            sample["transactions"]["processor_others"] = 0.0.into();
        });
        std::fs::write(here.join(file), run).unwrap();
    }
    let fleet =
        ["plan", "fleet", "--present", "calm.json", "--other", "thrice.json", "--nodes", "40"];
    let many = lanemark!(here, &fleet).stdout();
    assert!(many.contains("26 saved"), "{many}");
    let written = failure(&lanemark!(here, &["compare", "a.json", "oltp.db"]).output());
    assert_eq!(written.0, Some(2), "{}", written.1);
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
            let (code, message) = failure(&oltp(folder.path(), words).output());
            assert!(code != Some(0) && !message.contains("s3"), "{words:?}: {message}");
        }
    }
}

#[test]
fn nothing_is_created_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link.db");
    let target = folder.path().join("target.db");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let (code, message) = failure(
        &oltp(folder.path(), &[&LOAD[..], &["--database", "sqlite:link.db"]].concat()).output(),
    );
    assert!(code != Some(0) && message.contains("link without a target"), "{message}");
    assert!(link.is_symlink() && !target.exists());
    // A link to an existing database is followed.
    oltp(folder.path(), &[&LOAD[..], &["--database", "sqlite:target.db"]].concat()).stdout();
    oltp(folder.path(), &["check", "--database", "sqlite:link.db"]).stdout();
}

#[test]
fn errors_are_reported_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (code, error) = failure(&oltp(here, &["run"]).output());
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("hint: load first: lanemark oltp load"), "{error}");
    std::fs::write(here.join("oltp.db"), "a letter").unwrap();
    let (code, error) = failure(&oltp(here, &LOAD).output());
    assert_eq!(code, Some(3), "{error}");
    assert!(error.contains("hint: to replace it: --overwrite oltp.db"), "{error}");
    oltp(here, &[&LOAD[..], &["--overwrite", "oltp.db"]].concat()).stdout();
    let (code, error) = failure(&oltp(here, &["run", "--users", "48"]).output());
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("48 users require 5 warehouses"), "{error}");
    let (code, error) = failure(&oltp(here, &["check", "--database", "oracle://x"]).output());
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("does not name a database"), "{error}");
}

#[test]
fn help_and_errors_name_the_databases_that_are_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let help = oltp(folder.path(), &["load", "--help"]).stdout();
    for (name, built_in) in [("postgres", true), ("mysql", cfg!(feature = "mysql"))] {
        assert_eq!(help.contains(&format!("{name}://")), built_in, "{help}");
        let database = format!("{name}://me@127.0.0.1:1/x");
        let (code, error) =
            failure(&oltp(folder.path(), &["check", "--database", &database]).output());
        assert_eq!(code, Some(2), "{error}");
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
    let times = ["--ramp", "100 ms", "--duration", "300 ms", "--repeats", "3"];
    oltp(here, &[&["run", "--users", "2", "--out", "a.json"], &times[..]].concat()).stdout();
    // The number of requests to the device depends on the machine; the transaction itself reads two pages and writes
    // three.
    let mut run: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(here.join("a.json")).unwrap()).unwrap();
    for sample in run["tests"][0]["samples"].as_array_mut().unwrap() {
        let transactions = &sample["transactions"];
        let kinds = transactions["kinds"].as_object().unwrap();
        let count = transactions["count"].as_u64().unwrap();
        let undone: u64 = kinds.values().map(|one| one["rolled_back"].as_u64().unwrap()).sum();
        let reading: u64 = ["order-status", "stock-level"]
            .iter()
            .filter_map(|kind| kinds.get(*kind)?["count"].as_u64())
            .sum();
        let log = count - undone - reading;
        sample["evidence"]["device"] = serde_json::json!({
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
    let simulated = Command::new(env!("CARGO_BIN_EXE_lanemark"))
        .current_dir(here)
        .args(["sim", "samsung-pm9a3-7680gb@server-pcie5:bay", "as-measured.toml", "--json"])
        .args(["--repeats", "1", "--duration", "20 s"])
        .output()
        .unwrap();
    let result: serde_json::Value = serde_json::from_str(&stdout(&simulated)).unwrap();
    let measured = &result["tests"][0]["samples"][0]["transactions"];
    let of = |key: &str| measured[key].as_f64().unwrap();
    assert!((of("page_reads") / 2.0 - 1.0).abs() < 0.1, "{measured}");
    assert!((of("page_writes") / 3.0 - 1.0).abs() < 0.1, "{measured}");
    // A measured device does not require the option, and a run without a known device does not mention it.
    let real = Command::new(env!("CARGO_BIN_EXE_lanemark"))
        .current_dir(here)
        .args(["bench", ".", "as-measured.toml"])
        .output()
        .unwrap();
    let (code, text) = failure(&real);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("lanemark oltp run"), "{text}");
    // The sessions' waits for data and log are not counted as time elsewhere, even though the device was fast: a
    // throttle delayed the requests.
    let elsewhere = |run: &serde_json::Value| {
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
    for sample in run["tests"][0]["samples"].as_array_mut().unwrap() {
        sample["transactions"]["waits"] = serde_json::json!({
            "period_ms": 10, "looks": 100, "samples": { "processor": 160, "log": 30, "read": 10 },
        });
    }
    let (after, cycle, line) = elsewhere(&run);
    assert!(line.contains("as sessions reported them"), "{line}");
    assert!((before - after - 0.2 * cycle).abs() < 1.0 || after == 0.0, "{before} {after} {cycle}");
    assert!(after < before, "{before} {after}");
    // Lock waits are proportional to the duration of transactions. The factor is the number of sessions that waited for
    // a lock, divided by the number of sessions that were working or waiting for the drive.
    for sample in run["tests"][0]["samples"].as_array_mut().unwrap() {
        sample["transactions"]["waits"]["samples"]["lock"] = 40.into();
    }
    let (without_locks, _, line) = elsewhere(&run);
    assert!(without_locks <= after && line.contains("µs of locks"), "{after} {line}");
    let text = workload("a.json");
    assert!(text.contains("\nlocks        = { value = 0.2000,"), "{text}");
    run["tests"][0]["samples"][0].as_object_mut().unwrap().remove("evidence");
    std::fs::write(here.join("b.json"), run.to_string()).unwrap();
    let (code, text) = failure(&lanemark!(here, &["report", "b.json", "--out", "b.toml"]).output());
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("does not contain the counters of its device"), "{text}");
    std::fs::write(here.join("mine.toml"), "precious").unwrap();
    let (code, _) = failure(&lanemark!(here, &["report", "a.json", "--out", "mine.toml"]).output());
    assert_eq!(code, Some(3));
    assert_eq!(std::fs::read_to_string(here.join("mine.toml")).unwrap(), "precious");
}

/// Tests a run on SQLite, a saved run on PostgreSQL, and the simulation of the latter.
#[test]
fn runs_on_databases_are_results_as_all_others_are() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    oltp(here, &LOAD).stdout();
    let times = ["--ramp", "100 ms", "--duration", "300 ms", "--repeats", "3"];
    oltp(here, &[&["run", "--users", "2", "--out", "new.json"], &times[..]].concat()).stdout();
    let saved = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/saved/postgresql.json");
    std::fs::copy(saved, here.join("postgresql.json")).unwrap();
    let new: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(here.join("new.json")).unwrap()).unwrap();
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
    std::fs::write(
        here.join("more.json"),
        std::fs::read_to_string(here.join("model.json"))
            .unwrap()
            .replace("\"threads\":2", "\"threads\":3"),
    )
    .unwrap();
    let both = ["--present", "postgresql.json", "--other", "more.json"];
    let (code, error) =
        failure(&lanemark!(here, &[&["plan", "fleet"], &both[..]].concat()).output());
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("are results of different tests"), "{error}");
    let table = lanemark!(here, &["report", "new.json", "--format", "table"]).stdout();
    assert!(table.contains("SQLite 3.") && table.contains("tpm"), "{table}");
    let json = lanemark!(here, &["report", "new.json", "--format", "json"]).stdout();
    std::fs::write(here.join("again.json"), json).unwrap();
    let same = lanemark!(here, &["compare", "new.json", "again.json"]).stdout();
    assert!(same.contains("no difference shown"), "{same}");
    for (args, hint) in [
        (&["report", "new.json", "--format", "fio-json"][..], ".json, .csv"),
        (&["compare", "new.json", "--set", "drive.flash.read=1 us"][..], "--out workload.toml"),
    ] {
        let (code, error) = failure(&lanemark!(here, args).output());
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(hint), "{hint}: {error}");
    }
    let newer = json_of(here, "postgresql.json", |run| run["schema_version"] = 2.into());
    std::fs::write(here.join("newer.json"), newer).unwrap();
    let (code, error) =
        failure(&lanemark!(here, &["report", "newer.json", "--out", "x.html"]).output());
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("has schema version 2, but this program reads version 1"), "{error}");
}

fn json_of(folder: &Path, file: &str, change: impl Fn(&mut serde_json::Value)) -> String {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    change(&mut value);
    value.to_string()
}
