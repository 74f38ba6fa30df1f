//! A database trial runs a database study with a real database, on served disks that represent the study's two systems.
//!
//! Values that the study calibrates on its first system are calibrated on the same system here (`calibration`); the
//! trial measures all others. The systems alternate, each on a disk with the same contents.

mod calibration;
mod derived;
mod machine;
mod study_parts;
mod turn;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lanemark_lab::{Lab, LabError, results};
use lanemark_oltp::run::RunOptions;
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{outcome, processor};
use lanemark_schema::result::{
    DeviceUse, Provenance, RunResult, Sample, StudyOutcome, StudySystem, Warning,
};
use lanemark_schema::units;
use lanemark_study::Study;

use crate::event::{TrialEvent, TrialObserver};
use crate::own_thread::on_own_thread;
use crate::served_disk;
use crate::warden::CleanupProcess;
use calibration::{TurnCalibration, TurnValues, cores};
use machine::{check_machine, folder};
use study_parts::StudyParts;
use turn::{ProcessorCost, TurnEnvironment, TurnOutcome, TurnParameters, TurnTimes, processor_us};

/// Time before the first turn in which other programs are noticed.
const QUIET: Duration = Duration::from_secs(1);
/// The share of the processors above which other programs raise a warning.
const BUSY: f64 = 0.05;
/// Maximum number of users per warehouse: each warehouse has ten terminals.
const USERS_A_WAREHOUSE: u32 = 10;

/// The parameters of a database trial. A missing value depends on the study and on `is_short`.
#[derive(Clone, Debug, Default)]
pub struct DatabasePlan {
    /// Whether the trial only tests the set-up, with a small database.
    pub is_short: bool,
    /// The number of turns per system.
    pub turns: Option<u32>,
    /// The time for which users warm up in each turn.
    pub ramp: Option<units::Duration>,
    /// The counted time of each turn.
    pub duration: Option<units::Duration>,
    /// The number of warehouses.
    pub warehouses: Option<i64>,
    /// The divisor of the numbers of items and customers.
    pub divisor: Option<i64>,
    /// Real seconds per simulated second.
    pub time_scale: Option<f64>,
    /// The seed of all random events.
    pub seed: u64,
    /// The folder for mounts and the loaded database; by default the system's folder for temporary files.
    pub folder: Option<PathBuf>,
    /// The folder of the library that contains the names, for the servers.
    pub library: Option<PathBuf>,
}

/// A database trial whose study and requirements are checked.
pub struct DatabaseTrial {
    plan: DatabasePlan,
    study: Study,
    parts: StudyParts,
    sizes: TrialSizes,
    /// The share of the processors that other programs use.
    others: f64,
}

/// The outcome of a database trial.
pub struct DatabaseOutcome {
    /// The study under its own workload.
    pub simulated: StudyOutcome,
    /// The study under the workload that is derived from the first system's turns; `None` if it cannot be derived.
    pub predicted: Option<StudyOutcome>,
    /// The turns of the first and of the second system.
    pub sides: [SystemTurns; 2],
    /// The result of each system, if it completed a turn.
    pub results: [Option<RunResult>; 2],
    /// Real seconds per simulated second.
    pub time_scale: f64,
    /// The users, the database and the turns, in one line.
    pub description: String,
    /// The measured figures that are not in the table, in sentences.
    pub remarks: String,
    /// Whether both systems completed all turns.
    pub is_complete: bool,
}

/// The turns of a system.
pub struct SystemTurns {
    /// The name of the system in the study.
    pub name: String,
    /// The label of the system in the study.
    pub label: String,
    /// The database's sample of each turn, in this machine's time.
    pub samples: Vec<Sample>,
    /// The busy share of the processors in each turn, without the disk's server.
    pub busy: Vec<f64>,
    /// Whether the answers of each turn were delivered in time.
    pub holds: Vec<bool>,
}

/// Returns the work of the disk.
pub fn device(sample: &Sample) -> Option<&DeviceUse> {
    sample.evidence.as_ref()?.device.as_ref()
}

/// Times and sizes, as requested or by default.
struct TrialSizes {
    turns: u32,
    times: TurnTimes,
    scale: Scale,
}

impl TrialSizes {
    fn from_plan(plan: &DatabasePlan, users: u32) -> Result<Self, LabError> {
        let usual = |long: i64, short: i64| if plan.is_short { short } else { long };
        let time = |given: Option<units::Duration>, usual: i64| {
            let usual = Duration::from_secs(usual.unsigned_abs());
            given.map_or(usual, |given| Duration::from_nanos(given.nanoseconds()))
        };
        let least = i64::from(users.div_ceil(USERS_A_WAREHOUSE));
        let sizes = Self {
            turns: plan.turns.unwrap_or(if plan.is_short { 1 } else { 3 }),
            times: TurnTimes {
                ramp: time(plan.ramp, usual(30, 2)),
                duration: time(plan.duration, usual(40, 4)),
            },
            scale: Scale {
                warehouses: plan.warehouses.unwrap_or(usual(users.into(), least)),
                divisor: plan.divisor.unwrap_or(usual(10, 100)),
                seed: plan.seed,
            },
        };
        if sizes.times.duration < Duration::from_secs(1) {
            return Err(LabError::input("--duration: expected 1 s or more"));
        }
        if sizes.scale.warehouses < least {
            let why = format!("--warehouses: expected {least} or more for {users} users");
            return Err(LabError::input(why));
        }
        Ok(sizes)
    }
}

impl DatabaseTrial {
    /// Reads the systems of `study`, which errors call `name`, and checks the requirements of the trial.
    ///
    /// # Errors
    /// Returns an error if the study does not compare two systems with a database, if a value is invalid, or if this
    /// machine lacks a requirement.
    pub fn new(
        plan: DatabasePlan,
        study: Study,
        name: &str,
        provenance: &Provenance,
    ) -> Result<Self, LabError> {
        let parts = StudyParts::from_study(&study, name, provenance)?;
        let sizes = TrialSizes::from_plan(&plan, parts.users)?;
        check_machine()?;
        let others = processor::busy_for(QUIET).unwrap_or(0.0);
        Ok(Self { plan, study, parts, sizes, others })
    }

    /// Returns the names of both systems.
    pub fn names(&self) -> [&str; 2] {
        [0, 1].map(|side| self.parts.sides[side].name.as_str())
    }

    /// Runs the trial until its end or until `stop` is set; returns `None` if it was stopped before both systems had
    /// completed a turn.
    ///
    /// # Errors
    /// Returns an error if the study lacks figures, or if the database or this machine fails.
    pub fn run(
        &self,
        provenance: &Provenance,
        stop: &Arc<AtomicBool>,
        observer: &mut TrialObserver<'_>,
    ) -> Result<Option<DatabaseOutcome>, LabError> {
        let lab = Lab { cancel: Arc::clone(stop).into(), ..Lab::default() };
        observer(TrialEvent::Stage("simulating both systems"));
        let simulated = self.parts.simulate(&lab, &self.study, self.plan.is_short, provenance)?;
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if self.plan.time_scale.is_none() && self.parts.published(&simulated).is_none() {
            let why = "the study lacks the published transactions and processor use that determine the time scale";
            return Err(LabError::input(why).hint("use --time-scale"));
        }
        let ran = on_own_thread(|| self.run_here(&simulated, stop, observer))?;
        let Some(found) = ran else { return Ok(None) };
        let provenance = Provenance { finished_at: results::now(), ..provenance.clone() };
        let runs = [0, 1].map(|side| self.result(&found, side, &provenance));
        let predicted = runs[0].as_ref().and_then(|run| {
            let scale = found.set.scale;
            let cores = found.cores as u32;
            let study = &self.study;
            let predicted =
                derived::predict(&lab, study, &self.parts, run, scale, cores, &provenance);
            let fail = |error| {
                let first = &self.parts.sides[0].name;
                let why =
                    format!("note: no workload can be derived from the turns of {first}: {error}");
                observer(TrialEvent::Remark(&why));
            };
            predicted.map_err(fail).ok()
        });
        Ok(Some(DatabaseOutcome {
            sides: [0, 1].map(|side| self.side(&found, side, &simulated)),
            time_scale: found.set.scale,
            description: self.description(&found),
            remarks: remarks(&found),
            is_complete: found.turns() == self.sizes.turns as usize,
            simulated,
            predicted,
            results: runs,
        }))
    }

    /// Loads the database and runs the turns on this thread, whose mount namespace changes.
    fn run_here(
        &self,
        simulated: &StudyOutcome,
        stop: &Arc<AtomicBool>,
        observer: &mut TrialObserver<'_>,
    ) -> Result<Option<LiveOutcome>, LabError> {
        let folder = folder(self.plan.folder.as_deref())?;
        // The warden runs outside the mount namespace. The mounts are in the folder and end with the namespace.
        let _warden = CleanupProcess::start_for(folder.path())?;
        observer(TrialEvent::FolderCreated(folder.path()));
        let library = self.plan.library.iter();
        let bench = TurnEnvironment {
            outside: served_disk::own_mounts()?,
            folder: folder.path().to_owned(),
            stop: Arc::clone(stop),
            library: library
                .flat_map(|path| ["--library".to_owned(), path.display().to_string()])
                .collect(),
            scale: self.sizes.scale,
            users: self.parts.users,
            seed: self.plan.seed,
            flushes: self.parts.flushes,
        };
        let calibration = TurnCalibration {
            time_scale: self.plan.time_scale,
            is_short: self.plan.is_short,
            parts: &self.parts,
            times: self.sizes.times,
            bench: &bench,
            simulated,
        };
        let ran = self.turns(&calibration, observer);
        observer(TrialEvent::CleanUp);
        drop(folder);
        ran
    }

    /// Loads the database, sets the values, and runs the turns of both systems. Returns `None` if the command was
    /// stopped before both systems completed a turn.
    fn turns(
        &self,
        calibration: &TurnCalibration<'_>,
        observer: &mut TrialObserver<'_>,
    ) -> Result<Option<LiveOutcome>, LabError> {
        let parts = &self.parts;
        let sizes = &self.sizes;
        let bench = calibration.bench;
        observer(TrialEvent::Stage("loading"));
        let first = &parts.sides[0].arguments;
        let Some(loaded) = bench.load(first, parts.buffer_share, observer)? else {
            return Ok(None);
        };
        let Some(set) = calibration.set(loaded, observer)? else { return Ok(None) };
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
                match bench.turn(&turn, set.loaded, observer)? {
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

    /// Returns a system's turns as if `lanemark oltp run` had measured them, in this machine's time.
    fn result(
        &self,
        live_outcome: &LiveOutcome,
        side: usize,
        provenance: &Provenance,
    ) -> Option<RunResult> {
        let first = live_outcome.sides[side].first()?;
        let options: &RunOptions = &first.options;
        let mut target = first.target.clone();
        target.settings.insert("served".to_owned(), self.parts.sides[side].arguments.join(" "));
        target.settings.insert("time_scale".to_owned(), live_outcome.set.scale.to_string());
        let workload = outcome::workload(&self.sizes.scale, options, first.data, self.sizes.turns);
        let samples = live_outcome.sides[side].iter().map(|turn| turn.sample.clone()).collect();
        let test = workload.tests.first().map(|test| test.name.clone());
        let mut result = outcome::result(provenance.clone(), target, workload, samples);
        // During a turn the disk's server and the kernel are among the other programs. Only the time before the first
        // turn shows whether there are more.
        result.warnings.retain(|warning| !matches!(warning, Warning::OthersBusy { .. }));
        result.warnings.extend(
            test.as_deref().and_then(|test| others_warning(test, self.others, live_outcome.cores)),
        );
        let page_cache = first.page_cache.clone();
        result.warnings.extend(page_cache.map(|reason| Warning::PageCache { reason }));
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

    /// Describes the users, the database and the turns.
    fn description(&self, found: &LiveOutcome) -> String {
        format!(
            "{} users on PostgreSQL, {} MiB buffer, {} warehouses of 1/{} size, time scale {}, {} turns of {} s",
            self.parts.users,
            found.set.loaded.buffer_mib,
            self.sizes.scale.warehouses,
            self.sizes.scale.divisor,
            found.set.scale,
            found.turns(),
            self.sizes.times.duration.as_secs()
        )
    }

    /// Returns the turns of a system, with its label in the study.
    fn side(&self, found: &LiveOutcome, side: usize, simulated: &StudyOutcome) -> SystemTurns {
        let name = self.parts.sides[side].name.clone();
        let is_named = |system: &&StudySystem| system.name == name;
        let label = simulated.systems.iter().find(is_named).map_or(&name, |system| &system.label);
        let label = label.clone();
        let turns = &found.sides[side];
        let costs = turns.iter().filter_map(|turn| ProcessorCost::from_turn(turn, found.cores));
        let busy = costs.map(|cost| cost.busy).collect();
        let samples = turns.iter().map(|turn| turn.sample.clone()).collect();
        let holds = turns.iter().map(|turn| lateness_warning(turn).is_none()).collect();
        SystemTurns { name, label, samples, busy, holds }
    }
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

#[cfg(test)]
mod tests;
