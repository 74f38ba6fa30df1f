//! Databases with transactions: the contents of their files, and the study of a database.

#[expect(dead_code, reason = "other tests spoil drives and platforms too")]
mod spoilt;
mod systems;

use lanemark_schema::result::{FigureMetric, FigureRole, Provenance, Sample, TransactionFigures};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{LoadKind, Test, TransactionLoad};
use lanemark_sim::{RunLength, run_length_watched};
use lanemark_study::{Library, Study, workload};
use spoilt::Spoilt;
use systems::with_settings;

const NAME: &str = "oltp-hammerdb-1000";

fn transactions() -> TransactionLoad {
    let mut opened = workload::open(&Library::built_in(), NAME).unwrap();
    match opened.tests.remove(0).asks {
        LoadKind::Transactions(load) => *load,
        other => panic!("{other:?}"),
    }
}

/// The library's database has the values of the paper and the mix of transactions, which are repeated here.
#[test]
fn the_library_has_the_papers_database() {
    let load = transactions();
    let sizes: u64 = load.pages.iter().map(|class| class.size.get()).sum();
    assert_eq!(load.buffer, Bytes(10_000_000_000));
    // Stock and customers are three quarters of the data. The lines of old orders are omitted, because they are never
    // visited.
    assert!((70e9..80e9).contains(&(sizes as f64)), "{sizes}");
    let visits = |name: &str| load.pages.iter().find(|class| class.name == name).unwrap().visits;
    let share = |cards: f64| cards / 23.0;
    assert!((visits("stock") - 10.0 * share(10.0)).abs() < 1e-3);
    let by_name = 0.4 + 0.6 * 3.0;
    let customers = share(10.0) + share(10.0) * by_name + share(1.0) * by_name + 10.0 * share(1.0);
    assert!((visits("customers") - customers).abs() < 2e-3, "{customers}");
    assert!((load.log.share.get() - share(21.0)).abs() < 1e-3);
    // A tenth of the pages is in the buffer, including the hot pages.
    let used = load.buffer_use(Bytes::kibi(8), 20_000.0);
    assert!(used.hit_ratio.is_some_and(|ratio| (0.6..0.7).contains(&ratio)), "{used:?}");
}

#[test]
fn a_value_is_set_by_its_place_and_no_other() {
    let mut overrides = lanemark_study::Overrides::default();
    let at = lanemark_study::Location::file("test");
    overrides.set("workload.transactions.processor", "77 us", at.clone());
    overrides.set("workload.transactions.log.outstanding", "3", at.clone());
    let opened = workload::open_set(&Library::built_in(), NAME, &overrides).unwrap();
    let LoadKind::Transactions(load) = &opened.tests[0].asks else { panic!("no transactions") };
    assert_eq!((load.processor, load.log.outstanding), (Duration::from_microseconds(77), 3));
    assert_eq!(load.elsewhere, transactions().elsewhere);
    let mut unknown = lanemark_study::Overrides::default();
    unknown.set("workload.transactions.procesor", "77 us", at);
    let error = workload::open_set(&Library::built_in(), NAME, &unknown).unwrap_err().to_string();
    assert!(error.contains("procesor"), "{error}");
}

#[test]
fn impossible_databases_are_reported_with_their_line() {
    for (from, to, expected) in [
        ("\"8 KiB\"", "\"1000 B\"", "block"),
        ("[transactions.log]", "[transactions.lug]", "unknown key `lug` | did you mean `log`?"),
        ("outstanding = { value = 32", "outstanding = { value = 0", "outstanding"),
        ("changed = \"45%\"", "changed = \"145%\"", "changed"),
        ("visits  = { value = 1.78", "visits  = { value = \"many\"", "visits"),
        ("span     = \"110 GB\"", "span     = \"50 GB\"", "size"),
        ("threads  = 48", "threads  = 48\nread     = \"70%\"", "unknown key `read`"),
        ("threads  = 48", "threads  = 48\nthink    = \"1 ms\"", "unknown key `think`"),
        ("threads  = 48", "threads  = 48\nflush_every = 8", "unknown key `flush_every`"),
    ] {
        let spoilt = Spoilt::new(&format!("library/workloads/{NAME}.toml"), from, to);
        let error = spoilt.shown(&workload::open(&spoilt.library(), NAME).unwrap_err());
        assert!(error.contains(expected), "{from}: {error}");
        assert!(error.contains(&format!("{NAME}.toml:")), "{error}");
    }
}

/// The model meets the calibrated figures, and the predicted figures deviate in the direction that
/// `docs/validation/studies.md` states.
#[test]
fn the_study_meets_its_settings_and_predicts_the_rest() {
    let file = format!("library/workloads/{NAME}.toml");
    let long = "ramp     = \"1 s\"\nduration = \"2 s\"";
    let short = "ramp     = \"500 ms\"\nduration = \"500 ms\"";
    let shorter = Spoilt::new(&file, long, short);
    let study =
        Study::open(&shorter.library(), &shorter.path("studies/oltp-value-sas.toml")).unwrap();
    let provenance = Provenance { seed: 1, ..Provenance::default() };
    let runs = study
        .systems()
        .map(|(_, system, workload)| system.run(workload, provenance.clone()).unwrap());
    let outcome = study.outcome(&provenance, runs);
    let figure = |metric: FigureMetric, system: &str| {
        let found = outcome
            .figures
            .iter()
            .find(|check| check.figure.metric == metric && check.figure.system == system);
        found.unwrap_or_else(|| panic!("{metric:?} of {system}"))
    };
    for metric in [FigureMetric::Transactions, FigureMetric::ProcessorUse, FigureMetric::Latency] {
        let check = figure(metric, "sata");
        assert_eq!(check.figure.role, FigureRole::Calibrated);
        assert!(check.error.abs() < 0.02, "{metric:?}: {}", check.error);
    }
    for metric in
        [FigureMetric::Transactions, FigureMetric::ProcessorUse, FigureMetric::ReadLatency]
    {
        let from = figure(metric, "sata");
        let to = figure(metric, "sas");
        assert_eq!(to.figure.role, FigureRole::Predicted);
        let simulated = to.simulated.value / from.simulated.value;
        let published = to.figure.published / from.figure.published;
        assert!((simulated > 1.0) == (published > 1.0), "{metric:?}: {simulated} for {published}");
    }
}

/// A database run that ends when its transactions have converged has the same figures as a longer run.
#[test]
fn transactions_that_have_converged_agree_with_a_longer_run() {
    let library = Library::built_in();
    let system = with_settings("intel-s4500-960gb@dell-r730xd:sata", &[]).unwrap();
    let mut test = workload::open(&library, NAME).unwrap().tests.remove(0);
    test.duration = Some(Duration::from_seconds(40));
    let test = test.checked().unwrap();
    let run = |length| {
        let key = StreamKey::from_seed(1);
        run_length_watched(&system.spec, &test, key, length, &mut |_| true).unwrap()
    };
    let whole = run(RunLength::Whole);
    let part = run(RunLength::Converged);
    let converged = part.converged.expect("forty seconds are enough");
    assert!(part.elapsed < whole.elapsed / 4 * 3, "{:?}", part.elapsed);
    assert!(converged.half_width <= 0.005, "{converged:?}");
    let of = |sample: &Sample| sample.transactions.clone().unwrap();
    let all = of(&whole);
    let some = of(&part);
    assert_eq!(converged.simulated, some.count);
    let near = |part: f64, whole: f64, most: f64, what: &str| {
        assert!((part / whole - 1.0).abs() <= most, "{what}: {part} for {whole}");
    };
    near(some.per_minute, all.per_minute, 0.01, "transactions a minute");
    near(converged.requests as f64, all.count as f64, 0.01, "transactions of the whole test");
    let p99 = |transactions_use: &TransactionFigures| {
        transactions_use.response.percentile_ns(99.0).unwrap() as f64
    };
    near(p99(&some), p99(&all), 0.03, "p99 of the response");
    near(part.iops(), whole.iops(), 0.015, "requests of the drives");
    // Of a ramp of 80 s, only an eighth is simulated.
    let slow_start = Test { ramp: Duration::from_seconds(80), ..Test::clone(&test) };
    let key = StreamKey::from_seed(1);
    let slow_start = slow_start.checked().unwrap();
    let length = RunLength::ConvergedRate;
    let slow = run_length_watched(&system.spec, &slow_start, key, length, &mut |_| true).unwrap();
    let events = |sample: &Sample| sample.path.as_ref().unwrap().events;
    assert!(events(&slow) < events(&whole), "{} for {}", events(&slow), events(&whole));
    near(of(&slow).per_minute, all.per_minute, 0.01, "transactions a minute after a ramp");
    let energy = |sample: &Sample| sample.energy.as_ref().map(|energy| energy.power_mean_watts);
    if let (Some(part), Some(whole)) = (energy(&part), energy(&whole)) {
        near(part, whole, 0.02, "power");
    }
}
