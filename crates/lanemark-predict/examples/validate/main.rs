//! Holds predictions of drives and paths that nothing was fitted to against published measurements.
//!
//! `validate CORPUS [--rows] [--no-interval] [--every=N]`, with the folder of `measurements.csv`; each `N`th row alone. Each row becomes a drive of its
//! ratings alone, a platform and a test by one recipe (`recipe`), and is simulated. Errors are told by class and half beside
//! those of two rules that need no model. `--rows` lists the rows of the development half; those of the validation half are
//! never listed.

mod baseline;
mod corpus;
mod recipe;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lanemark_core::result::{DirectionResult, Sample};
use lanemark_core::rng::StreamKey;
use lanemark_core::sim::run_test;
use lanemark_core::sim::spec::MediaSpec;
use lanemark_core::units::Duration;
use lanemark_core::workload::Test;
use lanemark_lab::interval::Subject;
use lanemark_lab::{Lab, assemble};
use lanemark_study::{Library, System};

use baseline::Baselines;
use corpus::{Half, Row};
use recipe::Plug;

/// Difference up to which a prediction and that of a rule are the same.
const ALIKE: f64 = 0.01;

/// A row of the corpus held against its prediction.
struct Held {
    class: String,
    grade: String,
    /// The row is of resctl-bench, whose rows are not understood (METHOD.md).
    is_of_resctl_bench: bool,
    half: Half,
    published: f64,
    predicted: f64,
    /// Low and high end over the prediction.
    interval: Option<(f64, f64, String)>,
    baselines: Baselines,
    text: String,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let Some(folder) = arguments.iter().find(|argument| !argument.starts_with("--")) else {
        eprintln!("usage: validate FOLDER [--rows] [--no-interval] [--every=N]");
        return ExitCode::FAILURE;
    };
    let folder = PathBuf::from(folder);
    let mut rows = corpus::rows(&folder.join("measurements.csv"));
    if let Some(every) = arguments.iter().find_map(|one| one.strip_prefix("--every=")?.parse().ok())
    {
        let mut number = 0usize;
        rows.retain(|_| {
            number += 1;
            number.is_multiple_of(every)
        });
    }
    let rated: BTreeMap<String, Row> = corpus::rows(&folder.join("measured-drives.csv"))
        .into_iter()
        .map(|row| (row.text("drive").to_owned(), row))
        .collect();
    let scratch = std::env::temp_dir().join(format!("lanemark-validate-{}", std::process::id()));
    if let Err(error) = std::fs::create_dir_all(&scratch) {
        eprintln!("{}: {error}", scratch.display());
        return ExitCode::FAILURE;
    }
    let library = || Library::built_in();
    let lab = Lab::default();
    let intervals = !flag("--no-interval");
    let held: Vec<Result<Held, String>> = lab.pool.map(rows.len(), |index| {
        let row = &rows[index];
        let one = hold(&library(), row, rated.get(row.text("drive")), (&scratch, index), intervals);
        one.map_err(|why| format!("{}: {why}", row.text("id")))
    });
    let _ = std::fs::remove_dir_all(&scratch);
    let left_out: Vec<&String> = held.iter().filter_map(|one| one.as_ref().err()).collect();
    let held: Vec<&Held> = held.iter().filter_map(|one| one.as_ref().ok()).collect();
    if flag("--rows") {
        let own = held.iter().filter(|one| one.half == Half::Development);
        own.for_each(|one| println!("{}", one.text));
    }
    println!("{} rows held, {} left out", held.len(), left_out.len());
    if flag("--rows") {
        left_out.iter().for_each(|why| println!("left out: {why}"));
    }
    for (half, name) in [(Half::Development, "development"), (Half::Validation, "validation")] {
        let own: Vec<&Held> = held.iter().copied().filter(|one| one.half == half).collect();
        table(name, &own);
        let known: Vec<&Held> = own.iter().copied().filter(|one| one.grade != "C").collect();
        table(&format!("{name}, settings and machine known"), &known);
    }
    ExitCode::SUCCESS
}

/// Simulates a row, and its interval.
fn hold(
    library: &Library,
    row: &Row,
    rated: Option<&Row>,
    (scratch, index): (&Path, usize),
    intervals: bool,
) -> Result<Held, String> {
    let published = row.number("value").ok_or("no value")?;
    let drives = row.number("drives").unwrap_or(1.0) as usize;
    let plug = recipe::drive_plug(row, rated);
    let port = Plug::of_path(row, plug)?;
    let capacity = recipe::capacity(row.text("drive"));
    let mut test = recipe::test(row, capacity * drives as f64).ok_or("its test is not told")?;
    let baselines = Baselines::of(row, rated, (plug, port), &test, drives as f64);
    let own_folder = scratch.join(index.to_string());
    std::fs::create_dir_all(&own_folder).map_err(|error| error.to_string())?;
    let file = |name: &str, text: String| {
        let path = own_folder.join(name);
        std::fs::write(&path, text).map_err(|error| error.to_string())?;
        Ok::<String, String>(path.display().to_string())
    };
    let class = row.text("class").to_owned();
    let writes = test.read_share().get() < 1.0;
    let mut drive_text = recipe::drive_file(row, rated);
    if class == "writes-steady" {
        drive_text += "[state]\ncondition = \"random\"\n";
    } else if recipe::is_preconditioned(row) {
        drive_text += "[state]\ncondition = \"sequential\"\nfilled = \"100%\"\n";
    } else if recipe::is_of_a_system_drive(row) {
        drive_text += "[state]\ncondition = \"sequential\"\nfilled = \"50%\"\n";
    }
    let drive = file("drive.toml", drive_text.clone())?;
    let platform = file("platform.toml", recipe::platform_file(row, (plug, port), drives))?;
    let host = recipe::host(row);
    let ports: Vec<String> = (0..drives).map(|number| format!("p{number}")).collect();
    let path = row.text("path").to_lowercase();
    let volume = match drives {
        1 => "",
        _ if path.contains("raid 1") || path.contains("mirror") => "mirror:",
        _ => "stripe-64KiB:",
    };
    let name = format!("{volume}{drive}@{platform},{host}:{}", ports.join("+"));
    let mut system = assemble(library, &name, &[]).map_err(|error| error.to_string())?;
    // What is written for a minute and goes around in a span that the pseudo-SLC cache holds stays in it. What it does not
    // hold is written past it: then a cache that is full from the beginning saves the time of filling it.
    let sustained = class == "writes-sustained" || class == "writes-steady";
    let cache = cache_of(&system) * drives as f64;
    let is_beyond = test.span.get() as f64 > 0.8 * cache || recipe::is_of_a_system_drive(row);
    let is_past_the_cache = sustained && cache > 0.0 && is_beyond;
    let size = capacity * drives as f64;
    let mut into_the_cache = None;
    if is_past_the_cache {
        if recipe::is_of_the_whole_drive(row, size) {
            let mut first = test.clone();
            first.duration =
                Some(seconds(0.2 * cache / baselines.rule_rate() / test.block.get() as f64));
            into_the_cache = figure(row, &simulate(&system, &first)?);
        }
        let small = drive_text.replace("[rated]\n", "[rated]\npseudo_slc = \"1 GB\"\n");
        file("drive.toml", small)?;
        system = assemble(library, &name, &[]).map_err(|error| error.to_string())?;
    }
    let mut settings = Vec::new();
    if class == "writes-steady" {
        // What was never written is spare to collection.
        let share = (100.0 * test.span.get() as f64 / capacity).clamp(1.0, 100.0);
        let set = [format!("drive.state.filled={share}%")];
        settings = lanemark_lab::settings(&set).map_err(|error| error.to_string())?;
        system = assemble(library, &name, &settings).map_err(|error| error.to_string())?;
    }
    let outstanding = f64::from(test.queue_depth()) * f64::from(test.threads);
    let guess = baselines.rule_rate().max(1.0);
    let counted = if class == "writes-steady" { 4.0 * superblock_of(&system) } else { 0.0 };
    let requests = 3_000f64.max(6.0 * outstanding).max(counted / test.block.get() as f64);
    let block = test.block.get() as f64;
    let warm = match row.text("drive_kind") {
        // Its cache is full.
        "hdd" => 64e6,
        // Collection comes in lumps of a superblock.
        _ if class == "writes-steady" => 4.0 * superblock_of(&system),
        _ if is_past_the_cache => 1.6e9,
        _ if sustained => (2.0 * test.span.get() as f64).min(2e5 * block),
        _ => 0.0,
    };
    let first = if writes { warm / block + 2.0 * outstanding } else { outstanding.min(2_000.0) };
    test.ramp = seconds((first / guess).min(600.0));
    test.duration = Some(seconds((requests / guess).min(600.0)));
    let sample = simulate(&system, &test)?;
    let value = |sample: &Sample| figure(row, sample);
    let mut predicted = value(&sample).ok_or("its figure is not simulated")?;
    if let Some(cached) = into_the_cache {
        // So much is written at the cache's rate, and the rest at what comes then.
        let share = (cache / size).min(1.0);
        predicted = 1.0 / (share / cached + (1.0 - share) / predicted);
    }
    let interval = match intervals {
        false => None,
        true => {
            let predicted = [(test.clone(), sample.iops())];
            let (name, settings) = (name.as_str(), settings.as_slice());
            let subject = Subject { library, name, settings, ranges: &[] };
            let all = lab_of_one()
                .intervals(&subject, &predicted, 1)
                .map_err(|error| error.to_string())?;
            all.into_iter().next().flatten().map(|one| {
                // Latency goes against the rate.
                let ends = match row.text("figure").starts_with("latency") {
                    true => (1.0 / one.high_ratio, 1.0 / one.low_ratio),
                    false => (one.low_ratio, one.high_ratio),
                };
                (ends.0, ends.1, one.widest.map_or(String::new(), |widest| widest.parameter))
            })
        }
    };
    let error = predicted / published - 1.0;
    let inside = interval.as_ref().map_or("", |(low, high, _)| {
        let ratio = published / predicted;
        if (*low..=*high).contains(&ratio) { "in" } else { "out" }
    });
    let text = format!(
        "{:<7} {:<17} {:<26.26} r{:>3} {:>4.4} {:>7} qd{:>3} x{:<3} {:<12} {:>11.1} {:>11.1} {:>+7.1}% rule {:>+7.1}% {inside} {} {}",
        row.text("id"),
        class,
        row.text("drive"),
        row.text("read_percent"),
        row.text("pattern"),
        row.text("block_bytes"),
        row.text("queue_depth"),
        row.text("threads"),
        row.text("figure"),
        published,
        predicted,
        100.0 * error,
        100.0 * (baselines.rule / published - 1.0),
        interval.as_ref().map_or(String::new(), |(low, high, _)| format!("{low:.2}..{high:.2}")),
        interval.as_ref().map_or("", |(_, _, widest)| widest),
    );
    let (half, grade) = (row.half(), row.text("grade").to_owned());
    let is_of_resctl_bench = row.text("tool").contains("resctl-bench");
    Ok(Held {
        class,
        grade,
        is_of_resctl_bench,
        half,
        published,
        predicted,
        interval,
        baselines,
        text,
    })
}

/// Returns the bytes that the pseudo-SLC cache of the first drive holds while flash is erased.
fn cache_of(system: &System) -> f64 {
    match &system.spec.first().drive.media {
        MediaSpec::Flash(flash) => flash
            .translation
            .pseudo_slc
            .map_or(0.0, |cache| (cache.capacity + cache.growth).get() as f64),
        MediaSpec::Disk(_) => 0.0,
    }
}

/// Returns the size of a superblock of the first drive in bytes.
fn superblock_of(system: &System) -> f64 {
    match &system.spec.first().drive.media {
        MediaSpec::Flash(flash) => flash.superblock().get() as f64,
        MediaSpec::Disk(_) => 0.0,
    }
}

fn seconds(time: f64) -> Duration {
    Duration::from_picoseconds((time.max(1e-5) * 1e12) as u64)
}

fn lab_of_one() -> Lab {
    let pool = lanemark_lab::Pool::new(std::num::NonZeroUsize::MIN);
    Lab { pool, ..Lab::default() }
}

fn simulate(system: &System, test: &Test) -> Result<Sample, String> {
    let key = StreamKey { seed: 1, test: 0, repeat: 0, thread: 0 };
    let test = test.clone().checked().map_err(|error| error.to_string())?;
    run_test(&system.spec, &test, key).map_err(|error| error.to_string())
}

/// The figure of a row in a sample, in the row's unit.
fn figure(row: &Row, sample: &Sample) -> Option<f64> {
    let elapsed = sample.elapsed.as_seconds();
    let of = |one: &Option<DirectionResult>| {
        one.as_ref().map(|one| one.latency.count() as f64 / elapsed)
    };
    let bytes = |one: &Option<DirectionResult>| {
        one.as_ref().map(|one| one.bytes.get() as f64 / elapsed / 1e6)
    };
    let direction = sample.reads.as_ref().or(sample.writes.as_ref());
    Some(match row.text("figure") {
        "iops" => sample.iops(),
        "read_iops" => of(&sample.reads)?,
        "write_iops" => of(&sample.writes)?,
        "throughput" => sample.throughput().as_megabytes(),
        "read_throughput" => bytes(&sample.reads)?,
        "write_throughput" => bytes(&sample.writes)?,
        "latency_mean" => direction?.latency.mean_ns() / 1e3,
        "latency_p50" => direction?.latency.percentile_ns(50.0)? as f64 / 1e3,
        "latency_p99" => direction?.latency.percentile_ns(99.0)? as f64 / 1e3,
        "latency_p99.9" => direction?.latency.percentile_ns(99.9)? as f64 / 1e3,
        _ => return None,
    })
}

/// Errors of rows, as they are told.
struct Errors {
    median: f64,
    mean: f64,
    factor: f64,
}

impl Errors {
    fn of(pairs: &[(f64, f64)]) -> Self {
        let mut errors: Vec<f64> = pairs.iter().map(|(one, two)| (one / two - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let count = errors.len().max(1) as f64;
        let logs: f64 = pairs.iter().map(|(one, two)| (one.max(1e-9) / two).ln().abs()).sum();
        Self {
            median: errors.get(errors.len() / 2).copied().unwrap_or(0.0),
            mean: errors.iter().sum::<f64>() / count,
            factor: (logs / count).exp(),
        }
    }
}

fn table(name: &str, held: &[&Held]) {
    println!("\n{name}: {} rows", held.len());
    println!(
        "{:<18} {:>4}  {:>22}  {:>22}  {:>22}  {:>6} {:>6} {:>6}",
        "class",
        "rows",
        "model: median, mean, x",
        "rule of thumb",
        "link and rating",
        "nearer",
        "alike",
        "within"
    );
    let mut classes: Vec<&str> = held.iter().map(|one| one.class.as_str()).collect();
    classes.sort_unstable();
    classes.dedup();
    for class in classes.into_iter().chain(["no resctl-bench", "all"]) {
        let belongs = |one: &Held| match class {
            "all" => true,
            "no resctl-bench" => !one.is_of_resctl_bench,
            class => one.class == class,
        };
        let own: Vec<&&Held> = held.iter().filter(|one| belongs(one)).collect();
        let cells = |of: &dyn Fn(&Held) -> f64| {
            let pairs: Vec<(f64, f64)> = own.iter().map(|one| (of(one), one.published)).collect();
            let Errors { median, mean, factor } = Errors::of(&pairs);
            format!("{:>6.1}% {:>6.1}% {factor:>6.2}", 100.0 * median, 100.0 * mean)
        };
        let off = |value: f64, one: &Held| (value.max(1e-9) / one.published).ln().abs();
        let nearer =
            own.iter().filter(|one| off(one.predicted, one) < off(one.baselines.rule, one));
        // Both say the same rating or link, so that neither is nearer.
        let is_alike =
            |one: &&&&Held| (one.predicted.max(1e-9) / one.baselines.rule).ln().abs() < ALIKE;
        let alike = own.iter().filter(is_alike).count();
        let known: Vec<bool> = own
            .iter()
            .filter_map(|one| {
                let (low, high, _) = one.interval.as_ref()?;
                Some((*low..=*high).contains(&(one.published / one.predicted)))
            })
            .collect();
        let within = known.iter().filter(|inside| **inside).count();
        let share = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
        println!(
            "{class:<18} {:>4}  {:>22}  {:>22}  {:>22}  {:>5.0}% {:>5.0}% {:>5.0}%",
            own.len(),
            cells(&|one| one.predicted),
            cells(&|one| one.baselines.rule),
            cells(&|one| one.baselines.limits),
            share(nearer.count(), own.len()),
            share(alike, own.len()),
            share(within, known.len()),
        );
    }
}
