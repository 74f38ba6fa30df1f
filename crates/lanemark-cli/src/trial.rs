//! `lanemark trial`: runs and times a user's program on several modelled systems in turn, and optionally cuts the
//! power.
//!
//! Every turn starts with the same contents on a newly served system. The systems alternate, so that a slow drift of
//! the machine affects all of them. Each system first runs one turn that is not counted. This turn also determines the
//! time scale: the smallest power of four at which the server delivers the modelled latencies in time.

mod contents;
mod cuts;
mod program;
mod turn;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lanemark_files::private::PrivateFolder;
use lanemark_files::removal::remove_tree;
use lanemark_lab::results::{self, OutputFile};
use lanemark_lab::scale::faults;
use lanemark_lab::{assemble, settings};
use lanemark_report::{trial_answer, trial_text};
use lanemark_schema::result::{PowerCut, Provenance, RequestErrors, RunResult, Sample, Warning};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{
    AverageMethod, Fault, LoadKind, Test, TestOrder, TraceSummary, Workload,
};
use lanemark_study::system::SystemName;
use lanemark_study::{Location, System};
use rustix::thread::{CapabilitySet, capabilities};
use serde_json::json;

use crate::args::{FileSystem, TrialArgs};
use crate::failure::{CommandOutcome, Failure};
use crate::messages::tell;
use crate::outlets::PAGE;
use crate::progress::Progress;
use crate::saving::{Destination, ResultSaver};
use crate::serve_control::check_servable;
use crate::warden::CleanupProcess;
use crate::{library, marked, oltp_live, output, provenance, serve, served_disk, stop};
use contents::InitialContents;
use cuts::PowerCutTrial;
use turn::TurnEnvironment;

/// Default number of turns per system.
const TURNS: u32 = 3;
/// Maximum time for the cleanup.
const END: Duration = Duration::from_secs(20);
const SCALE_MAX: f64 = 64.0;
/// Ratio of two successive time scales.
const SCALE_STEP: f64 = 4.0;
/// Inode number of the initial user namespace: `PROC_USER_INIT_INO` of `linux/proc_ns.h`.
const INITIAL_USER_NAMESPACE: u64 = 0xefff_fffd;
/// Maximum length of a command in the name of a test.
const NAME_MAX: usize = 60;

struct TrialSystem {
    /// `drive@platform:port`, as the user wrote it.
    name: String,
    system: System,
    faults: Vec<Fault>,
    /// The factor by which simulated time passes more slowly.
    scale: f64,
    samples: Vec<Sample>,
    cuts: Vec<PowerCut>,
}

pub(crate) fn run(args: &TrialArgs) -> Result<CommandOutcome, Failure> {
    if let Some(study) = &args.database.database {
        return oltp_live::run(args, study);
    }
    let signal = stop::on_signal();
    let library = library::open(&args.library)?;
    let mut systems = systems(args, &library)?;
    let mut provenance = provenance::own_provenance(args.seed);
    provenance.inputs = library.used();
    let capacity =
        systems.iter().map(|system| system.system.capacity()).min().unwrap_or(Bytes::ZERO);
    let source = InitialContents::examine(args.from.as_deref())?;
    let size = source.size(args.size, capacity)?;
    for TrialSystem { system, faults, .. } in &systems {
        faults.iter().try_for_each(|fault| check_servable(system, size, fault))?;
        system.with_faults(faults, &Location::file("--fault"))?;
    }
    let has_disks = has_disks();
    let file_system = args.fs;
    if !has_disks {
        needs_fuse(file_system)?;
    }
    let page = OutputFile::open_if_given(args.html.as_deref(), &PAGE)?;
    let savings = savings(args, &systems, &provenance)?;
    stop::extend_patience(END);
    let folder = folder(args.folder.as_deref())?;
    // The warden runs outside the mount namespace. The mounts are in the folder and end with the namespace.
    let _warden = CleanupProcess::start_for(folder.path())?;
    let outside = if has_disks { Some(served_disk::own_mounts()?) } else { None };
    marked::adopt_orphans();
    // A forced end does not drop values, so the folder is removed explicitly.
    let left = folder.path().to_owned();
    stop::at_end(move || drop(remove_tree(&left)));
    let bench = TurnEnvironment {
        outside,
        folder: folder.path().to_owned(),
        image: contents::image(&source, file_system, folder.path(), size)?,
        size,
        file_system,
        mount_options: args.mount_options.clone(),
        command: args.command.clone(),
        arguments: arguments(args),
        faults: args.fault.iter().flat_map(|text| ["--fault".to_owned(), text.clone()]).collect(),
        stop: Arc::clone(&signal),
    };
    fs::create_dir(bench.mount_point())
        .map_err(|error| Failure::run(format!("{}: {error}", bench.mount_point().display())))?;
    let mut progress = Progress::new();
    let ran = trial(args, &bench, &mut systems, &mut progress);
    stop::ends_itself();
    drop(progress);
    let path = folder.path().to_owned();
    served_disk::unmount_below(&path);
    if let Err(error) = folder.remove() {
        tell!("note: {} remains: {error}", path.display());
    }
    let is_complete = ran?;
    if systems.iter().any(|system| system.samples.is_empty()) {
        tell!("interrupted before each system completed a turn; nothing is saved");
        return Ok(CommandOutcome::Interrupted);
    }
    deliver(args, &systems, is_complete, provenance, &savings, page.as_ref())?;
    let cuts: Vec<&PowerCut> = systems.iter().flat_map(|system| &system.cuts).collect();
    Ok(command_outcome(&cuts, is_complete))
}

/// Returns the end of the command. A loss takes precedence over an interruption, and an interruption over an unknown
/// outcome.
fn command_outcome(cuts: &[&PowerCut], is_complete: bool) -> CommandOutcome {
    if cuts.iter().any(|cut| cut.outcome.is_lost()) {
        CommandOutcome::Damaged
    } else if !is_complete {
        CommandOutcome::Interrupted
    } else if cuts.iter().any(|cut| cut.outcome.is_unknown()) {
        CommandOutcome::Unknown
    } else {
        CommandOutcome::Done
    }
}

fn systems(
    args: &TrialArgs,
    library: &lanemark_study::Library,
) -> Result<Vec<TrialSystem>, Failure> {
    let set = settings(&args.set)?;
    let faults = faults(&args.fault)?;
    let mut systems: Vec<TrialSystem> = Vec::new();
    for name in &args.systems {
        if systems.iter().any(|earlier| earlier.name == *name) {
            return Err(Failure::input(format!("{name} is given twice")));
        }
        let system = assemble(library, name, &set)?;
        serve::one_target(&system, name)?;
        systems.push(TrialSystem {
            name: name.clone(),
            system,
            faults: faults.clone(),
            scale: 1.0,
            samples: Vec::new(),
            cuts: Vec::new(),
        });
    }
    Ok(systems)
}

/// Returns the arguments of `lanemark serve` that all systems share.
fn arguments(args: &TrialArgs) -> Vec<String> {
    let set = args.set.iter().flat_map(|value| ["--set".to_owned(), value.clone()]);
    let library = args.library.library.iter();
    let library = library.flat_map(|path| ["--library".to_owned(), path.display().to_string()]);
    set.chain(library).collect()
}

/// Returns whether this process can create block devices of served systems and mount them. In a user namespace, the
/// kernel does not mount block devices, even for root (user_namespaces(7)).
fn has_disks() -> bool {
    let namespace = fs::metadata("/proc/self/ns/user").map(|namespace| namespace.ino());
    let control = || OpenOptions::new().read(true).write(true).open("/dev/loop-control").is_ok();
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::SYS_NICE;
    namespace.is_ok_and(|inode| inode == INITIAL_USER_NAMESPACE)
        && capabilities(None).is_ok_and(|held| held.effective.contains(needed))
        && Path::new("/dev/fuse").exists()
        && control()
}

/// Checks the requirements for serving systems as files.
fn needs_fuse(file_system: FileSystem) -> Result<(), Failure> {
    if !Path::new("/dev/fuse").exists() {
        return Err(Failure::input("/dev/fuse does not exist").hint("run `modprobe fuse`"));
    }
    match file_system {
        FileSystem::None => Ok(()),
        FileSystem::Xfs | FileSystem::Btrfs => {
            Err(Failure::input("without root and loop devices only ext4 can be mounted")
                .hint("use --fs ext4, or sudo"))
        }
        FileSystem::Ext4 => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            if std::env::split_paths(&path).any(|folder| folder.join("fuse2fs").is_file()) {
                Ok(())
            } else {
                Err(Failure::input("the program fuse2fs is not in PATH")
                    .hint("install the package fuse2fs, or use sudo"))
            }
        }
    }
}

/// Reserves a result file for each system.
fn savings(
    args: &TrialArgs,
    systems: &[TrialSystem],
    provenance: &Provenance,
) -> Result<Vec<ResultSaver>, Failure> {
    let saving = |system: &TrialSystem| {
        let drive = SystemName::parse(&system.name)?.drive;
        let what = format!("trial-{}", drive.rsplit('/').next().unwrap_or("drive"));
        ResultSaver::open(Destination::from_out(args.out.as_deref()), &what, &provenance.started_at)
    };
    systems.iter().map(saving).collect()
}

fn folder(within: Option<&Path>) -> Result<PrivateFolder, Failure> {
    let within = within.map_or_else(std::env::temp_dir, Path::to_owned);
    let made = PrivateFolder::within(&within, "lanemark-trial-").and_then(|folder| {
        // A command that changes its user, such as a database server, must be able to reach the mount.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711))?;
        Ok(folder)
    });
    made.map_err(|error| {
        Failure::input(format!("can't create a folder in {}: {error}", within.display()))
            .hint("use a different --folder")
    })
}

/// Runs all turns and power cuts, whose results are in the systems. Returns whether the trial was completed without an
/// interruption.
fn trial(
    args: &TrialArgs,
    bench: &TurnEnvironment,
    systems: &mut [TrialSystem],
    progress: &mut Progress,
) -> Result<bool, Failure> {
    let turns = args.turns.unwrap_or(TURNS);
    let given = args.time_scale.map(lanemark_serve::clock::TimeScale::factor);
    let mut round = Duration::ZERO;
    for (index, system) in systems.iter_mut().enumerate() {
        let name = &system.name;
        let first_turn = |scale: f64| {
            progress.show(&format!("{name} · uncounted turn, time scale {scale}"));
            let begun = Instant::now();
            let sample = bench.turn(&format!("first-{index}-{scale}"), name, scale, args.seed)?;
            Ok(sample.map(|sample| (sample.is_served_in_time(), begun.elapsed())))
        };
        let Some((scale, took)) = time_scale(given, first_turn)? else { return Ok(false) };
        system.scale = scale;
        round += took;
    }
    let has_cuts = args.check.is_some() && args.cuts > 0;
    let cuts = if has_cuts { args.cuts } else { 0 };
    tell!("{}", expected_text(round, turns, cuts));
    for system in systems.iter().filter(|_| has_cuts) {
        if power_cut_trial(args, bench, system).check_without_cut(progress)?.is_none() {
            return Ok(false);
        }
    }
    for number in 0..turns {
        let mut samples = Vec::new();
        for (index, system) in systems.iter().enumerate() {
            let turn = number + 1;
            let name = &system.name;
            progress.show(&format!("{name} · turn {turn} of {turns}"));
            let file = format!("turn-{turn}-{index}");
            let seed = args.seed.wrapping_add(number.into());
            match bench.turn(&file, name, system.scale, seed)? {
                Some(sample) => samples.push(sample),
                None => return Ok(false),
            }
        }
        // Only complete rounds count, so that the turns remain paired.
        systems.iter_mut().zip(samples).for_each(|(system, sample)| system.samples.push(sample));
    }
    for system in systems.iter_mut().filter(|_| has_cuts) {
        system.cuts = power_cut_trial(args, bench, system).run(progress);
        if stop::requested(&bench.stop) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// States how long a trial takes if one turn of every system took `round`. A power cut happens on average in the
/// middle of a turn, and its check takes about as long again.
fn expected_text(round: Duration, turns: u32, cuts: u32) -> String {
    let rounds = turns + cuts;
    let seconds = (round * rounds).as_secs_f64();
    let expected = match seconds {
        0.0..100.0 => format!("{seconds:.0} s"),
        _ => format!("{:.0} min", seconds / 60.0),
    };
    let turns = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
    let cuts = match cuts {
        0 => String::new(),
        1 => " and 1 power cut".to_owned(),
        more => format!(" and {more} power cuts"),
    };
    format!("{turns}{cuts} for each system take about {expected}")
}

/// Returns the power cuts of a system.
fn power_cut_trial<'c>(
    args: &'c TrialArgs,
    bench: &'c TurnEnvironment,
    system: &'c TrialSystem,
) -> PowerCutTrial<'c> {
    PowerCutTrial {
        bench,
        system: &system.name,
        check: args.check.as_deref().unwrap_or_default(),
        count: args.cuts,
        seed: args.seed,
        scale: system.scale,
        wall: wall(&system.samples),
    }
}

/// Runs uncounted turns of a system, and returns its time scale with the time of a turn at this scale: `given`, or the
/// smallest power of four at which the server delivers all answers in time. `turn` runs a turn at a time scale and
/// returns whether it was in time, or `None` if the trial was stopped.
fn time_scale(
    given: Option<f64>,
    mut turn: impl FnMut(f64) -> Result<Option<(bool, Duration)>, Failure>,
) -> Result<Option<(f64, Duration)>, Failure> {
    let mut scale = given.unwrap_or(1.0);
    loop {
        let Some((is_in_time, took)) = turn(scale)? else { return Ok(None) };
        if is_in_time || given.is_some() || scale >= SCALE_MAX {
            return Ok(Some((scale, took)));
        }
        scale *= SCALE_STEP;
    }
}

/// Returns the mean wall time of the program.
fn wall(samples: &[Sample]) -> Duration {
    let walls =
        samples.iter().filter_map(|sample| Some(sample.live.as_ref()?.program.as_ref()?.wall));
    let sum: f64 = walls.map(lanemark_schema::units::Duration::as_seconds).sum();
    Duration::from_secs_f64(sum / samples.len().max(1) as f64)
}

/// Prints and saves the outcome.
fn deliver(
    args: &TrialArgs,
    systems: &[TrialSystem],
    is_complete: bool,
    mut provenance: Provenance,
    savings: &[ResultSaver],
    page: Option<&OutputFile>,
) -> Result<(), Failure> {
    provenance.finished_at = results::now();
    let command = command_text(args);
    let results: Vec<RunResult> = systems
        .iter()
        .map(|system| result(system, &command, is_complete, provenance.clone()))
        .collect();
    let runs: Vec<&RunResult> = results.iter().collect();
    let saved: Vec<_> =
        savings.iter().zip(&results).map(|(saving, run)| (saving, saving.save_run(run))).collect();
    let written = page.map_or(Ok(()), |page| page.write(&lanemark_report::html(None, &runs)));
    if args.json {
        output::print(&as_json(&results)?)?;
    } else {
        output::print(&trial_text(&runs, &output::style()))?;
    }
    for (saving, saved) in saved {
        saving.report(saved)?;
    }
    written?;
    if let Some(page) = page {
        tell!("wrote {}", page.path().display());
    }
    Ok(())
}

/// Returns the turns of a system as a run of one test.
fn result(
    system: &TrialSystem,
    command: &str,
    complete: bool,
    provenance: Provenance,
) -> RunResult {
    let test = test(command, &system.samples);
    let repeats = u32::try_from(system.samples.len()).unwrap_or(u32::MAX);
    let workload = Workload {
        faults: system.faults.clone(),
        id: "trial".to_owned(),
        name: format!("trial of {command}"),
        repeats,
        average: AverageMethod::Mean,
        order: TestOrder::Listed,
        tests: vec![test.clone()],
    };
    let late = system.samples.iter().filter(|sample| !sample.is_served_in_time());
    let late = late.filter_map(|sample| sample.live.as_ref());
    let late = late.filter_map(|live| serve::not_delivered(&test.name, live)).next();
    let samples = system.samples.clone();
    let mut result = system.system.result(&workload, Default::default(), [Some(samples)]);
    result.warnings.extend(late);
    let mut errors = RequestErrors::default();
    system.samples.iter().for_each(|sample| errors.merge(&sample.errors));
    if !errors.is_empty() {
        result.warnings.push(Warning::Failed { test: test.name.clone(), errors });
    }
    result.power_cuts.clone_from(&system.cuts);
    result.provenance = provenance;
    result.complete &= complete;
    result
}

/// Summarises the requests of all turns as a test.
fn test(command: &str, samples: &[Sample]) -> Test {
    let sum = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
    let reads = sum(|sample| sample.reads.as_ref().map_or(0.0, |it| it.latency.count() as f64));
    let writes = sum(|sample| sample.writes.as_ref().map_or(0.0, |it| it.latency.count() as f64));
    let bytes = sum(|sample| {
        [&sample.reads, &sample.writes].into_iter().flatten().map(|it| it.bytes.get() as f64).sum()
    });
    let requests = (reads + writes).max(1.0);
    let read_share = lanemark_schema::units::Ratio::new(reads / requests).unwrap_or_default();
    let alignment = lanemark_schema::workload::SECTOR;
    let summary = TraceSummary { read_share, queue_depth: 1, alignment };
    Test {
        name: command.to_owned(),
        volume: Some(Bytes((bytes / samples.len().max(1) as f64) as u64)),
        asks: LoadKind::Trace(summary),
        ..Test::of_blocks(Bytes(((bytes / requests) as u64).max(1)))
    }
}

/// Returns the command as a short line.
fn command_text(args: &TrialArgs) -> String {
    let words: Vec<String> =
        args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let line = words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = line.chars();
    let short: String = letters.by_ref().take(NAME_MAX).collect();
    match letters.next() {
        Some(_) => format!("{short}…"),
        None => short,
    }
}

fn as_json(results: &[RunResult]) -> Result<String, Failure> {
    let runs: Vec<&RunResult> = results.iter().collect();
    let outcome = json!({ "answer": trial_answer(&runs), "runs": results });
    serde_json::to_string_pretty(&outcome)
        .map_err(|error| Failure::run(format!("the outcome can't be written as JSON: {error}")))
}

#[cfg(test)]
mod tests;
