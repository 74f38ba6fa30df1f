//! A trial runs and times a user's program on several modelled systems in turn, and optionally cuts the power.
//!
//! Every turn starts with the same contents on a newly served system. The systems alternate, so that a slow drift of
//! the machine affects all of them. Each system first runs one turn that is not counted. This turn also determines the
//! time scale: the smallest power of four at which the server delivers the modelled latencies in time.

mod contents;
mod cuts;
mod program;
mod turn;

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lanemark_files::private::PrivateFolder;
use lanemark_lab::scale::faults;
use lanemark_lab::{LabError, assemble, results, settings};
use lanemark_schema::result::{PowerCut, Provenance, RequestErrors, RunResult, Sample, Warning};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{
    AverageMethod, Fault, LoadKind, Test, TestOrder, TraceSummary, Workload,
};
use lanemark_study::{Library, Location, System};
use rustix::thread::{CapabilitySet, capabilities};

use crate::event::{TrialEvent, TrialObserver};
use crate::file_system::FileSystem;
use crate::own_thread::on_own_thread;
use crate::server::control::check_servable;
use crate::warden::CleanupProcess;
use crate::{marked, served_disk, server};
use contents::InitialContents;
use cuts::PowerCutTrial;
use turn::TurnEnvironment;

const SCALE_MAX: f64 = 64.0;
/// Ratio of two successive time scales.
const SCALE_STEP: f64 = 4.0;
/// Inode number of the initial user namespace: `PROC_USER_INIT_INO` of `linux/proc_ns.h`.
const INITIAL_USER_NAMESPACE: u64 = 0xefff_fffd;
/// Maximum length of a command in the name of a test.
const NAME_MAX: usize = 60;

/// The parameters of a trial.
#[derive(Clone, Debug)]
pub struct TrialPlan {
    /// The systems, each `drive@platform:port`.
    pub systems: Vec<String>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The file system on each system.
    pub file_system: FileSystem,
    /// Additional mount options, separated by commas.
    pub mount_options: String,
    /// The folder that is copied to each system before a turn, or a raw image.
    pub from: Option<PathBuf>,
    /// The size of each system; by default the size of the image, or a usual size.
    pub size: Option<Bytes>,
    /// The number of counted turns per system.
    pub turns: u32,
    /// Real seconds per simulated second; by default what this machine can sustain, for each system.
    pub time_scale: Option<f64>,
    /// The shell command that checks the data after each power cut.
    pub check: Option<String>,
    /// The number of power cuts per system, which require `check`.
    pub cuts: u32,
    /// The seed of all random events.
    pub seed: u64,
    /// The model values that override library values, each `parameter=value`.
    pub set: Vec<String>,
    /// The faults to inject into each turn and before each power cut.
    pub faults: Vec<String>,
    /// The folder for mounts and contents; by default the system's folder for temporary files.
    pub folder: Option<PathBuf>,
    /// The folder of the library that contains the names, for the servers.
    pub library: Option<PathBuf>,
    /// Whether the process runs only this trial. It then adopts the program's orphans, and ends all its other new
    /// children after each turn.
    pub owns_process: bool,
}

/// A trial whose systems are assembled and whose requirements are checked.
pub struct Trial {
    plan: TrialPlan,
    systems: Vec<TrialSystem>,
    /// Size of each system, in bytes.
    size: u64,
    /// Whether the systems are block devices, and not files.
    has_disks: bool,
}

/// The outcome of a trial.
pub struct TrialOutcome {
    /// The result of each system, with its power cuts.
    pub results: Vec<RunResult>,
    /// Whether the trial was completed without an interruption.
    pub is_complete: bool,
}

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

impl Trial {
    /// Assembles the systems of `plan`, and checks the requirements of the trial.
    ///
    /// # Errors
    /// Returns an error if a name, a value, a fault or the size is invalid, or if this machine cannot serve the
    /// systems.
    pub fn new(plan: TrialPlan, library: &Library) -> Result<Self, LabError> {
        if plan.command.is_empty() {
            return Err(LabError::input("the command of the trial is missing"));
        }
        if plan.cuts > 0 && plan.check.is_none() {
            return Err(LabError::input("power cuts require a check"));
        }
        let systems = systems(&plan, library)?;
        let capacities = systems.iter().map(|system| system.system.capacity());
        let capacity = capacities.min().unwrap_or(Bytes::ZERO);
        let size = InitialContents::examine(plan.from.as_deref())?.size(plan.size, capacity)?;
        for TrialSystem { system, faults, .. } in &systems {
            faults.iter().try_for_each(|fault| check_servable(system, size, fault))?;
            system.with_faults(faults, &Location::file("--fault"))?;
        }
        let has_disks = has_disks();
        if !has_disks {
            needs_fuse(plan.file_system)?;
        }
        Ok(Self { plan, systems, size, has_disks })
    }

    /// Runs the trial until its end or until `stop` is set; returns `None` if it was stopped before each system had
    /// completed a turn.
    ///
    /// # Errors
    /// Returns an error if the program fails, or if this machine cannot serve or mount a system.
    pub fn run(
        mut self,
        provenance: &Provenance,
        stop: &Arc<AtomicBool>,
        observer: &mut TrialObserver<'_>,
    ) -> Result<Option<TrialOutcome>, LabError> {
        let is_complete = on_own_thread(|| self.run_here(stop, observer))?;
        if self.systems.iter().any(|system| system.samples.is_empty()) {
            return Ok(None);
        }
        let provenance = Provenance { finished_at: results::now(), ..provenance.clone() };
        let command = command_text(&self.plan.command);
        let of = |system| result(system, &command, is_complete, provenance.clone());
        Ok(Some(TrialOutcome { results: self.systems.iter().map(of).collect(), is_complete }))
    }

    /// Runs the turns and cuts on this thread, whose mount namespace changes.
    fn run_here(
        &mut self,
        stop: &Arc<AtomicBool>,
        observer: &mut TrialObserver<'_>,
    ) -> Result<bool, LabError> {
        let plan = &self.plan;
        let folder = folder(plan.folder.as_deref())?;
        // The warden runs outside the mount namespace. The mounts are in the folder and end with the namespace.
        let _warden = CleanupProcess::start_for(folder.path())?;
        observer(TrialEvent::FolderCreated(folder.path()));
        let outside = if self.has_disks { Some(served_disk::own_mounts()?) } else { None };
        if plan.owns_process {
            marked::adopt_orphans();
        }
        let source = InitialContents::examine(plan.from.as_deref())?;
        let bench = TurnEnvironment {
            outside,
            folder: folder.path().to_owned(),
            image: contents::image(&source, plan.file_system, folder.path(), self.size)?,
            size: self.size,
            file_system: plan.file_system,
            mount_options: plan.mount_options.clone(),
            command: plan.command.clone(),
            arguments: arguments(plan),
            faults: plan.faults.iter().flat_map(|text| ["--fault".into(), text.clone()]).collect(),
            stop: Arc::clone(stop),
        };
        let made = fs::create_dir(bench.mount_point());
        made.map_err(|error| LabError::run(format!("{}: {error}", bench.mount_point().display())))?;
        let ran = run_turns(plan, &bench, &mut self.systems, observer);
        observer(TrialEvent::CleanUp);
        let path = folder.path().to_owned();
        served_disk::unmount_below(&path);
        if let Err(error) = folder.remove() {
            observer(TrialEvent::Remark(&format!("note: {} remains: {error}", path.display())));
        }
        ran
    }
}

fn systems(plan: &TrialPlan, library: &Library) -> Result<Vec<TrialSystem>, LabError> {
    let set = settings(&plan.set)?;
    let faults = faults(&plan.faults)?;
    let mut systems: Vec<TrialSystem> = Vec::new();
    for name in &plan.systems {
        if systems.iter().any(|earlier| earlier.name == *name) {
            return Err(LabError::input(format!("{name} is given twice")));
        }
        let system = assemble(library, name, &set)?;
        server::one_target(&system, name)?;
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
fn arguments(plan: &TrialPlan) -> Vec<String> {
    let set = plan.set.iter().flat_map(|value| ["--set".to_owned(), value.clone()]);
    let library = plan.library.iter();
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
fn needs_fuse(file_system: FileSystem) -> Result<(), LabError> {
    if !Path::new("/dev/fuse").exists() {
        return Err(LabError::input("/dev/fuse does not exist").hint("run `modprobe fuse`"));
    }
    match file_system {
        FileSystem::None => Ok(()),
        FileSystem::Xfs | FileSystem::Btrfs => {
            Err(LabError::input("without root and loop devices only ext4 can be mounted")
                .hint("use --fs ext4, or sudo"))
        }
        FileSystem::Ext4 => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            if std::env::split_paths(&path).any(|folder| folder.join("fuse2fs").is_file()) {
                Ok(())
            } else {
                Err(LabError::input("the program fuse2fs is not in PATH")
                    .hint("install the package fuse2fs, or use sudo"))
            }
        }
    }
}

fn folder(within: Option<&Path>) -> Result<PrivateFolder, LabError> {
    let within = within.map_or_else(std::env::temp_dir, Path::to_owned);
    let made = PrivateFolder::within(&within, "lanemark-trial-").and_then(|folder| {
        // A command that changes its user, such as a database server, must be able to reach the mount.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711))?;
        Ok(folder)
    });
    made.map_err(|error| {
        LabError::input(format!("can't create a folder in {}: {error}", within.display()))
            .hint("use a different --folder")
    })
}

/// Runs all turns and power cuts, whose results are in the systems. Returns whether the trial was completed without an
/// interruption.
fn run_turns(
    plan: &TrialPlan,
    bench: &TurnEnvironment,
    systems: &mut [TrialSystem],
    observer: &mut TrialObserver<'_>,
) -> Result<bool, LabError> {
    let turns = plan.turns;
    let mut round = Duration::ZERO;
    for (index, system) in systems.iter_mut().enumerate() {
        let name = &system.name;
        let first_turn = |scale: f64| {
            observer(TrialEvent::UncountedTurn { system: name, time_scale: scale });
            let begun = Instant::now();
            let sample = bench.turn(&format!("first-{index}-{scale}"), name, scale, plan.seed)?;
            Ok(sample.map(|sample| (sample.is_served_in_time(), begun.elapsed())))
        };
        let Some((scale, took)) = time_scale(plan.time_scale, first_turn)? else {
            return Ok(false);
        };
        system.scale = scale;
        round += took;
    }
    let has_cuts = plan.cuts > 0;
    observer(TrialEvent::Expected {
        duration: expected(round, turns, plan.cuts),
        turns,
        cuts: plan.cuts,
    });
    for system in systems.iter().filter(|_| has_cuts) {
        if power_cut_trial(plan, bench, system).check_without_cut(observer)?.is_none() {
            return Ok(false);
        }
    }
    for number in 0..turns {
        let mut samples = Vec::new();
        for (index, system) in systems.iter().enumerate() {
            let turn = number + 1;
            let name = &system.name;
            observer(TrialEvent::Turn { system: name, number: turn, turns });
            let file = format!("turn-{turn}-{index}");
            let seed = plan.seed.wrapping_add(number.into());
            match bench.turn(&file, name, system.scale, seed)? {
                Some(sample) => samples.push(sample),
                None => return Ok(false),
            }
        }
        // Only complete rounds count, so that the turns remain paired.
        systems.iter_mut().zip(samples).for_each(|(system, sample)| system.samples.push(sample));
    }
    for system in systems.iter_mut().filter(|_| has_cuts) {
        system.cuts = power_cut_trial(plan, bench, system).run(observer);
        if bench.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the time of a trial if one turn of every system took `round`. A power cut happens on average in the middle
/// of a turn, and its check takes about as long again.
fn expected(round: Duration, turns: u32, cuts: u32) -> Duration {
    round * (turns + cuts)
}

/// Returns the power cuts of a system.
fn power_cut_trial<'c>(
    plan: &'c TrialPlan,
    bench: &'c TurnEnvironment,
    system: &'c TrialSystem,
) -> PowerCutTrial<'c> {
    PowerCutTrial {
        bench,
        system: &system.name,
        check: plan.check.as_deref().unwrap_or_default(),
        count: plan.cuts,
        seed: plan.seed,
        scale: system.scale,
        wall: wall(&system.samples),
    }
}

/// Runs uncounted turns of a system, and returns its time scale with the time of a turn at this scale: `given`, or the
/// smallest power of four at which the server delivers all answers in time. `turn` runs a turn at a time scale and
/// returns whether it was in time, or `None` if the trial was stopped.
fn time_scale(
    given: Option<f64>,
    mut turn: impl FnMut(f64) -> Result<Option<(bool, Duration)>, LabError>,
) -> Result<Option<(f64, Duration)>, LabError> {
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
        precondition: None,
        tests: vec![test.clone()],
    };
    let late = system.samples.iter().filter(|sample| !sample.is_served_in_time());
    let late = late.filter_map(|sample| sample.live.as_ref());
    let late = late.filter_map(|live| server::not_delivered(&test.name, live)).next();
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
fn command_text(command: &[OsString]) -> String {
    let words: Vec<String> =
        command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let line = words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = line.chars();
    let short: String = letters.by_ref().take(NAME_MAX).collect();
    match letters.next() {
        Some(_) => format!("{short}…"),
        None => short,
    }
}

#[cfg(test)]
mod tests;
