//! `lanemark trial --database`: runs a database study with a real database, on served disks that represent the study's
//! two systems.
//!
//! Values that the study calibrates on its first system are calibrated on the same system here (`setting`); the command
//! measures all others. The systems alternate, each on a disk with the same contents.

mod derived;
mod machine;
mod setting;
mod study_parts;
mod table;
mod turn;

use std::path::Path;
use std::time::Duration;

use lanemark_files::removal::remove_tree;
use lanemark_lab::results::{self, OutputFile};
use lanemark_lab::{Lab, LabError};
use lanemark_oltp::run::RunOptions;
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{outcome, processor};
use lanemark_schema::result::{Provenance, RunResult, StudyOutcome, Warning};
use lanemark_schema::units;
use lanemark_serve::clock::TimeScale;
use lanemark_study::Study;

use crate::args::TrialArgs;
use crate::failure::{CommandOutcome, Failure};
use crate::messages::tell;
use crate::oltp::page_cache_warning;
use crate::outlets::LIVE;
use crate::progress::Progress;
use crate::saving::{Destination, ResultSaver};
use crate::warden::CleanupProcess;
use crate::{library, output, provenance, served_disk, stop};
use machine::{check_machine, folder};
use setting::{TurnCalibration, TurnValues, cores};
use study_parts::StudyParts;
use table::{SystemTurns, TableInputs};
use turn::{ProcessorCost, TurnEnvironment, TurnOutcome, TurnParameters, TurnTimes, processor_us};

/// Time before the first turn in which other programs are noticed.
const QUIET: Duration = Duration::from_secs(1);
/// The share of the processors above which other programs raise a warning.
const BUSY: f64 = 0.05;
/// Maximum time for the cleanup.
const END: Duration = Duration::from_secs(20);
/// Maximum number of users per warehouse: each warehouse has ten terminals.
const USERS_A_WAREHOUSE: u32 = 10;

/// Times and sizes, from the options or by default.
struct LiveSettings {
    turns: u32,
    times: TurnTimes,
    scale: Scale,
}

impl LiveSettings {
    fn from_args(args: &TrialArgs, users: u32) -> Result<Self, Failure> {
        let time = |given: Option<units::Duration>, long: u64, short: u64| {
            let usual = Duration::from_secs(if args.database.short { short } else { long });
            given.map_or(usual, |given| Duration::from_nanos(given.nanoseconds()))
        };
        let least = i64::from(users.div_ceil(USERS_A_WAREHOUSE));
        let users = i64::from(users);
        let sizes = Self {
            turns: args.turns.unwrap_or(if args.database.short { 1 } else { 3 }),
            times: TurnTimes {
                ramp: time(args.database.ramp, 30, 2),
                duration: time(args.database.duration, 40, 4),
            },
            scale: Scale {
                warehouses: args.database.warehouses.unwrap_or(if args.database.short {
                    least
                } else {
                    users
                }),
                divisor: args.database.scale.unwrap_or(if args.database.short { 100 } else { 10 }),
                seed: args.seed,
            },
        };
        if sizes.times.duration < Duration::from_secs(1) {
            return Err(Failure::input("--duration: expected 1 s or more"));
        }
        if sizes.scale.warehouses < least {
            let why = format!("--warehouses: expected {least} or more for {users} users");
            return Err(Failure::input(why));
        }
        Ok(sizes)
    }
}

pub(crate) fn run(args: &TrialArgs, named: &Path) -> Result<CommandOutcome, Failure> {
    let signal = stop::on_signal();
    let library = library::open(&args.library)?;
    let study = Study::find(&library, named)?;
    let mut provenance = provenance::own_provenance(args.seed);
    provenance.inputs = library.used();
    let parts = StudyParts::from_study(&study, &named.display().to_string(), &provenance)?;
    let sizes = LiveSettings::from_args(args, parts.users)?;
    check_machine()?;
    let others = processor::busy_for(QUIET).unwrap_or(0.0);
    let saving = |side: usize| {
        let what = format!("oltp-live-{}", parts.sides[side].name);
        ResultSaver::open(Destination::from_out(args.out.as_deref()), &what, &provenance.started_at)
    };
    // The saver that created the folder is dropped last, and removes the folder if it is empty.
    let second = saving(1)?;
    let first = saving(0)?;
    let outlets = LiveOutputs {
        table: OutputFile::open_if_given(args.database.csv.as_deref(), &LIVE)?,
        runs: [first, second],
    };
    let lab = Lab { cancel: std::sync::Arc::clone(&signal).into(), ..Lab::default() };
    let mut progress = Progress::new();
    progress.show("simulating both systems");
    let simulated = parts.simulate(&lab, &study, args.database.short, &provenance)?;
    if stop::requested(&signal) {
        return Ok(CommandOutcome::Interrupted);
    }
    if args.time_scale.is_none() && parts.published(&simulated).is_none() {
        let why = "the study lacks the published transactions and processor use that determine the time scale";
        return Err(Failure::input(why).hint("use --time-scale"));
    }
    stop::extend_patience(END);
    let folder = folder(args.folder.as_deref())?;
    // The warden runs outside the mount namespace. The mounts are in the folder and end with the namespace.
    let _warden = CleanupProcess::start_for(folder.path())?;
    let outside = served_disk::own_mounts()?;
    // A forced end does not drop values, so the folder is removed explicitly.
    let left = folder.path().to_owned();
    stop::at_end(move || drop(remove_tree(&left)));
    let bench = TurnEnvironment {
        outside,
        folder: folder.path().to_owned(),
        stop: signal,
        library: args
            .library
            .library
            .iter()
            .flat_map(|path| ["--library".to_owned(), path.display().to_string()])
            .collect(),
        scale: sizes.scale,
        users: parts.users,
        seed: args.seed,
        flushes: parts.flushes,
    };
    let setting = TurnCalibration {
        time_scale: args.time_scale.map(TimeScale::factor),
        is_short: args.database.short,
        parts: &parts,
        times: sizes.times,
        bench: &bench,
        simulated: &simulated,
    };
    let ran = turns(&setting, &sizes, &mut progress);
    stop::ends_itself();
    drop(folder);
    drop(progress);
    let Some(found) = ran? else {
        tell!("interrupted before both systems completed a turn; nothing is saved");
        return Ok(CommandOutcome::Interrupted);
    };
    let complete = found.turns() == sizes.turns as usize;
    provenance.finished_at = results::now();
    let runs = [0, 1].map(|side| result(&found, side, &parts, &sizes, &provenance, others));
    let predicted = runs[0].as_ref().and_then(|run| {
        let cores = found.cores as u32;
        let predicted =
            derived::predict(&lab, &study, &parts, run, found.set.scale, cores, &provenance);
        predicted
            .map_err(|failure| {
                let first = &parts.sides[0].name;
                tell!("note: no workload can be derived from the turns of {first}: {failure}");
            })
            .ok()
    });
    let outcomes = StudyOutcomes { simulated: &simulated, predicted: predicted.as_ref() };
    deliver(&found, &parts, &sizes, args, &outcomes, &runs, &outlets)?;
    Ok(if complete { CommandOutcome::Done } else { CommandOutcome::Interrupted })
}

/// The files to which the outcome is written.
struct LiveOutputs {
    /// The table as CSV.
    table: Option<OutputFile>,
    /// The result of each system.
    runs: [ResultSaver; 2],
}

/// The outcome of a run.
struct LiveOutcome {
    set: TurnValues,
    cores: f64,
    sides: [Vec<TurnOutcome>; 2],
}

impl LiveOutcome {
    /// Returns the number of turns that both systems completed.
    fn turns(&self) -> usize {
        let [first, second] = &self.sides;
        first.len().min(second.len())
    }
}

/// Loads the database, sets the values, and runs the turns of both systems. Returns `None` if the command was stopped
/// before both systems completed a turn.
fn turns(
    setting: &TurnCalibration<'_>,
    sizes: &LiveSettings,
    progress: &mut Progress,
) -> Result<Option<LiveOutcome>, Failure> {
    let parts = setting.parts;
    let bench = setting.bench;
    progress.show("loading");
    let first = &parts.sides[0].arguments;
    let Some(loaded) = bench.load(first, parts.buffer_share, progress)? else { return Ok(None) };
    let Some(set) = setting.set(loaded, progress)? else { return Ok(None) };
    let mut found = LiveOutcome { set, cores: cores(), sides: [Vec::new(), Vec::new()] };
    for number in 0..sizes.turns {
        let mut ended = Vec::new();
        for side in &parts.sides {
            let turn = TurnParameters {
                name: format!("turn {} of {}, {}", number + 1, sizes.turns, side.name),
                system: &side.arguments,
                scale: Some(set.scale),
                pause: set.pause,
                times: sizes.times,
                number,
            };
            match bench.turn(&turn, set.loaded, progress)? {
                Some(one) if one.sample.complete => ended.push(one),
                _ => return Ok((found.turns() > 0).then_some(found)),
            }
        }
        for (side, one) in found.sides.iter_mut().zip(ended) {
            side.push(one);
        }
    }
    Ok(Some(found))
}

/// The simulated outcomes of both systems.
struct StudyOutcomes<'o> {
    /// Under the study's workload.
    simulated: &'o StudyOutcome,
    /// Simulated under the workload that is derived from the first system's turns; `None` if it cannot be derived.
    predicted: Option<&'o StudyOutcome>,
}

/// Prints and saves the outcome.
fn deliver(
    live_outcome: &LiveOutcome,
    parts: &StudyParts,
    sizes: &LiveSettings,
    args: &TrialArgs,
    outcomes: &StudyOutcomes<'_>,
    results: &[Option<RunResult>; 2],
    outlets: &LiveOutputs,
) -> Result<(), Failure> {
    let simulated = outcomes.simulated;
    let measured = [0, 1].map(|side| {
        let name = parts.sides[side].name.clone();
        let is_named = |system: &&lanemark_schema::result::StudySystem| system.name == name;
        let label =
            simulated.systems.iter().find(is_named).map_or(&name, |system| &system.label).clone();
        let turn = &live_outcome.sides[side];
        let samples = turn.iter().map(|turn| turn.sample.clone()).collect();
        let busy = turn
            .iter()
            .filter_map(|turn| ProcessorCost::from_turn(turn, live_outcome.cores))
            .map(|cost| cost.busy);
        let busy = busy.collect();
        let holds = turn.iter().map(|turn| lateness_warning(turn).is_none()).collect();
        SystemTurns { name, label, samples, busy, holds }
    });
    let beside = TableInputs {
        outcome: simulated,
        predicted: outcomes.predicted,
        sides: [&measured[0], &measured[1]],
        scale: live_outcome.set.scale,
        nodes: args.database.nodes,
    };
    let csv = outlets.table.as_ref();
    let saved: Vec<_> = outlets
        .runs
        .iter()
        .zip(results)
        .filter_map(|(saving, result)| Some((saving, saving.save_run(result.as_ref()?))))
        .collect();
    let drawn = csv.map_or(Ok(()), |csv| csv.write(&beside.csv()));
    if args.json {
        output::print(&beside.json().to_string())?;
        return end(saved, drawn, csv);
    }
    let style = output::style();
    output::print(&format!(
        "{} users on PostgreSQL, {} MiB buffer, {} warehouses of 1/{} size, time scale {}, {} turns of {} s",
        parts.users,
        live_outcome.set.loaded.buffer_mib,
        sizes.scale.warehouses,
        sizes.scale.divisor,
        live_outcome.set.scale,
        live_outcome.turns(),
        sizes.times.duration.as_secs()
    ))?;
    output::print(&beside.text(&style))?;
    output::print(&lanemark_report::paragraph(&remarks(live_outcome), &style))?;
    if outcomes.predicted.is_some() {
        let first = &parts.sides[0].name;
        let remark = format!(
            "Predicted figures are simulated. Their workload is derived from {first}'s turns."
        );
        output::print(&lanemark_report::paragraph(&remark, &style))?;
    }
    let warnings = results.iter().flatten().flat_map(|result| &result.warnings);
    let warnings: Vec<&Warning> = warnings.collect();
    let is_stated: [fn(&&&Warning) -> bool; 2] = [
        |warning| matches!(warning, Warning::OthersBusy { .. }),
        |warning| matches!(warning, Warning::PageCache { .. }),
    ];
    for warning in is_stated.iter().filter_map(|is_this| warnings.iter().find(is_this)) {
        output::print(&format!("Warning: {warning}; {}.", warning.advice()))?;
    }
    if args.database.short {
        output::print("This is a short run: its figures are meaningless.")?;
    }
    end(saved, drawn, csv)
}

/// Reports the files that were written.
fn end(
    saved: Vec<(&ResultSaver, Result<(), LabError>)>,
    drawn: Result<(), LabError>,
    csv: Option<&OutputFile>,
) -> Result<(), Failure> {
    for (saving, saved) in saved {
        saving.report(saved)?;
    }
    drawn?;
    if let Some(csv) = csv {
        tell!("wrote {}", csv.path().display());
    }
    Ok(())
}

/// Returns the notes about the measured figures that are printed below the table.
fn remarks(live_outcome: &LiveOutcome) -> String {
    let mean = |of: &dyn Fn(&TurnOutcome) -> Option<f64>, side: usize| {
        let values: Vec<f64> = live_outcome.sides[side].iter().filter_map(of).collect();
        // The sum of an empty list is -0.
        0.0 + values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let means_of_both = |of: &dyn Fn(&TurnOutcome) -> Option<f64>| [mean(of, 0), mean(of, 1)];
    let times = means_of_both(&|turn| processor_us(&turn.sample));
    let cost = |of: &dyn Fn(ProcessorCost) -> f64| {
        means_of_both(&|turn| ProcessorCost::from_turn(turn, live_outcome.cores).map(of))
    };
    let all = cost(&|cost| cost.database_us);
    let serving = cost(&|cost| cost.disk_us);
    let reads = means_of_both(&|turn| turn.sample.transactions.as_ref()?.page_reads);
    let writes = means_of_both(&|turn| turn.sample.transactions.as_ref()?.page_writes);
    let log = means_of_both(&|turn| turn.sample.transactions.as_ref()?.log_writes);
    format!(
        "Measured figures are in the study's time: rates are multiplied by {scale}, and latencies divided by it. Each \
         pair of figures states the first system, then the second. A transaction took {:.0} and {:.0} µs of processor \
         time in PostgreSQL and its users ({:.0} µs without latency), and {:.0} and {:.0} µs including the kernel and \
         all other work. The disk servers took another {:.0} and {:.0} µs; they represent the processors of the \
         drives and are not counted as busy. A transaction caused {:.2} and {:.2} page reads, {:.2} and {:.2} page \
         writes, and {:.2} and {:.2} log writes. This workload is derived from TPC-C; its figures are not TPC \
         results.",
        times[0],
        times[1],
        live_outcome.set.processor_us,
        all[0],
        all[1],
        serving[0],
        serving[1],
        reads[0],
        reads[1],
        writes[0],
        writes[1],
        log[0],
        log[1],
        scale = live_outcome.set.scale,
    )
}

/// Returns the warning about a turn in which this machine was slower than the model of the disk.
fn lateness_warning(turn: &TurnOutcome) -> Option<&Warning> {
    let served = turn.served.as_ref()?;
    served.warnings.iter().find(|warning| matches!(warning, Warning::NotDelivered { .. }))
}

/// Returns a warning if other programs used more than a negligible share, `others`, of the processors.
fn others_warning(test: &str, others: f64, cores: f64) -> Option<Warning> {
    let warning =
        || Warning::OthersBusy { test: test.to_owned(), used: others * cores, cores: cores as u32 };
    (others > BUSY).then(warning)
}

/// Returns a system's turns as if `lanemark oltp run` had measured them, in this machine's time.
fn result(
    live_outcome: &LiveOutcome,
    side: usize,
    parts: &StudyParts,
    sizes: &LiveSettings,
    provenance: &Provenance,
    others: f64,
) -> Option<RunResult> {
    let first = live_outcome.sides[side].first()?;
    let options: &RunOptions = &first.options;
    let mut target = first.target.clone();
    target.settings.insert("served".to_owned(), parts.sides[side].arguments.join(" "));
    target.settings.insert("time_scale".to_owned(), live_outcome.set.scale.to_string());
    let workload = outcome::workload(&sizes.scale, options, first.data, sizes.turns);
    let samples = live_outcome.sides[side].iter().map(|turn| turn.sample.clone()).collect();
    let test = workload.tests.first().map(|test| test.name.clone());
    let mut result = outcome::result(provenance.clone(), target, workload, samples);
    // During a turn the disk's server and the kernel are among the other programs. Only the time before the first turn
    // shows whether there are more.
    result.warnings.retain(|warning| !matches!(warning, Warning::OthersBusy { .. }));
    result
        .warnings
        .extend(test.as_deref().and_then(|test| others_warning(test, others, live_outcome.cores)));
    result.warnings.extend(page_cache_warning(first.page_cache.as_deref()));
    for turn in &live_outcome.sides[side] {
        if let (Some(Warning::NotDelivered { lateness, verdict, .. }), Some(test)) =
            (lateness_warning(turn), &test)
        {
            result.warnings.push(Warning::NotDelivered {
                test: test.clone(),
                lateness: *lateness,
                verdict: *verdict,
            });
        }
    }
    Some(result)
}

#[cfg(test)]
mod tests;
