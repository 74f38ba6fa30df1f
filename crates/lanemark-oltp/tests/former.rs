//! Files of the schema that OLTP runs had of their own are read as results of today.

use lanemark_core::result::{Counter, RunResult, Target, WaitClass};
use lanemark_core::workload::{Asks, Profile, TransactionKind};
use lanemark_oltp::former::FormerRun;

/// A run of three repeats on SQLite, and one of two on PostgreSQL with counters and waits.
const FILES: [&str; 2] =
    [include_str!("former/version-1.json"), include_str!("former/version-2.json")];

fn read(text: &str) -> RunResult {
    serde_json::from_str::<FormerRun>(text).unwrap().into()
}

#[test]
fn each_version_is_read_and_each_figure_is_that_of_the_file() {
    for (text, product, version) in
        [(FILES[0], "SQLite", "3.54.1"), (FILES[1], "PostgreSQL", "15.18 (Debian 15.18-0+deb12u1)")]
    {
        let old: serde_json::Value = serde_json::from_str(text).unwrap();
        let run = read(text);
        run.check().unwrap();
        let Target::Database(target) = &run.target else { panic!("no database: {:?}", run.target) };
        assert_eq!((target.product.as_str(), target.version.as_deref()), (product, Some(version)));
        assert_eq!(target.place, None);
        assert!(!target.settings.contains_key("data"), "{target:?}");
        let [test] = run.tests.as_slice() else { panic!("{} tests", run.tests.len()) };
        let Asks::Database(users) = &test.test.asks else { panic!("{:?}", test.test.asks) };
        assert_eq!((users.profile, users.warehouses, users.divisor), (Profile::Tpcc, 1, 100));
        assert_eq!((test.test.threads, run.complete, users.procedures), (2, true, false));
        let repeats = old["repeats"].as_array().unwrap();
        assert_eq!(test.samples.len(), repeats.len());
        for (old, sample) in repeats.iter().zip(&test.samples) {
            let new = sample.transactions.as_ref().unwrap();
            let number = |value: &serde_json::Value| value.as_f64().unwrap();
            let device = sample.evidence.as_ref().unwrap().device.as_ref().unwrap();
            for (name, was, is) in [
                ("seconds", &old["seconds"], sample.elapsed.as_seconds()),
                ("tpm", &old["tpm"], new.per_minute),
                ("nopm", &old["nopm"], new.new_orders_per_minute.unwrap()),
                ("busy", &old["processor_busy"], new.processor_busy.unwrap()),
                ("writes", &old["device"]["writes"], device.writes as f64),
                ("written", &old["device"]["write_bytes"], device.written_bytes.get() as f64),
                ("write ms", &old["device"]["write_ms"], device.write_time.as_seconds() * 1e3),
                ("flush ms", &old["device"]["flush_ms"], device.flush_time.as_seconds() * 1e3),
                ("log", &old["counters"]["wal-bytes"], new.log_bytes.unwrap() * new.count as f64),
            ] {
                assert!((number(was) - is).abs() <= 1e-9 * is.abs(), "{name}: {was} is {is}");
            }
            for kind in TransactionKind::ALL {
                let key = serde_json::to_value(kind).unwrap();
                let was = &old["transactions"][key.as_str().unwrap()];
                let is = new.kinds.get(&kind).map_or(0, |one| one.count);
                assert_eq!(was["count"].as_u64().unwrap_or(0), is, "{}", kind.name());
            }
        }
    }
    let server = read(FILES[1]);
    let seen = server.tests[0].samples[0].transactions.clone().unwrap();
    assert!(seen.waits.unwrap().share(WaitClass::Log).unwrap().0 > 0.1);
    assert!(seen.counters.get(Counter::Messages).unwrap() > 0);
    assert!(seen.counted_per_minute.unwrap() > 0.0 && seen.log_flushes.unwrap() > 0.0);
}

#[test]
fn a_converted_result_is_saved_and_read_again_as_it_is() {
    for text in FILES {
        let run = read(text);
        let saved = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<RunResult>(&saved).unwrap(), run);
    }
    // What a database does not tell is not there.
    let saved = serde_json::to_string(&read(FILES[0])).unwrap();
    for name in ["\"waits\"", "counted_per_minute", "looked_on", "\"place\""] {
        assert!(!saved.contains(name), "{name}: {saved}");
    }
}

#[test]
fn a_former_result_that_cannot_be_is_out_of_the_bounds_of_results() {
    type Spoil = fn(&mut serde_json::Value);
    let spoiled: [(&str, Spoil); 5] = [
        ("per_minute", |run| run["repeats"][0]["tpm"] = (-1.0).into()),
        ("threads", |run| run["users"] = 0.into()),
        ("warehouses", |run| run["scale"]["divisor"] = 0.into()),
        ("counters", |run| run["repeats"][0]["counters"]["wal-bytes"] = u64::MAX.into()),
        ("processor_busy", |run| run["repeats"][0]["processor_busy"] = 7.into()),
    ];
    for (place, spoil) in spoiled {
        let mut old: serde_json::Value = serde_json::from_str(FILES[1]).unwrap();
        spoil(&mut old);
        let told = read(&old.to_string()).check().unwrap_err().to_string();
        assert!(told.contains(place), "{place}: {told}");
    }
}
