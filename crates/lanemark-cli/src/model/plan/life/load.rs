//! The writes and the write amplification of a load in its stationary state, by simulation.

use std::path::Path;

use lanemark_lab::interval::{DrawnSystem, amplification_factors};
use lanemark_lab::scale::{SeriesSettings, WorkloadScale, scaled_workload, with_series_settings};
use lanemark_lab::{Lab, LabRun, assemble, opened, setting};
use lanemark_plan::Estimate;
use lanemark_schema::result::{
    ParameterOverride, RunResult, Sample, TestResult, write_amplification,
};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Load, Pattern, Test, TestStart, Workload};
use lanemark_sim::replay::{ReplaySettings, replay};
use lanemark_sim::spec::{MediaSpec, Technology};
use lanemark_sim::{MEMORY, Progress as SoFar};
use lanemark_study::{Library, Location, System};
use lanemark_trace::{Options, Reader};

use crate::args::{LifeArgs, trace_file};
use crate::model::replay::{empty_trace_error, failure};
use crate::model::trace_file;
use crate::output::failure::Failure;
use crate::output::progress::{LabProgressLine, Progress};
use crate::output::{other_text, provenance, stop};

/// Length of the rounds of a workload without rounds.
const ROUND: Duration = Duration::from_seconds(60);
/// Length of a test on a drive that overwrites data in place.
const IN_PLACE: Duration = Duration::from_seconds(1);
const SECONDS_PER_DAY: f64 = 86_400.0;
/// The workload that represents random loads.
const RANDOM: &str = "jesd219-enterprise";

/// A load as a simulation finds it.
pub(super) struct SimulatedLoad {
    /// GB that the host writes per day.
    pub(super) daily: Estimate,
    pub(super) amplification: Estimate,
    pub(super) source: String,
    pub(super) amplification_source: String,
}

/// The simulation of loads on one system.
pub(super) struct LoadSimulation<'a> {
    library: &'a Library,
    args: &'a LifeArgs,
    lab: Lab,
}

/// A system in a state in which its flash has been written.
struct WrittenSystem {
    system: System,
    settings: Vec<(ParameterOverride, Location)>,
}

impl<'a> LoadSimulation<'a> {
    pub(super) fn new(library: &'a Library, args: &'a LifeArgs) -> Result<Self, Failure> {
        let trace = args.workload.as_deref().and_then(|name| trace_file(library, name));
        if trace.is_none() {
            args.trace.refuse_without_trace(&[])?;
        } else if args.size.is_some() {
            return Err(
                Failure::input("--size does not apply to a trace").hint("remove the option")
            );
        }
        let lab = Lab { cancel: stop::on_signal().into(), ..Lab::default() };
        Ok(Self { library, args, lab })
    }

    /// Simulates the load of the arguments. Returns `None` if the simulation was cancelled, and `Some(None)` if no load
    /// is given.
    pub(super) fn load(&self) -> Result<Option<Option<SimulatedLoad>>, Failure> {
        let Some(name) = self.args.workload.as_deref() else { return Ok(Some(None)) };
        let load = match trace_file(self.library, name) {
            Some(path) => self.trace(path)?,
            None => self.workload(name)?,
        };
        Ok(load.map(Some))
    }

    fn system(&self, condition: &str) -> Result<WrittenSystem, Failure> {
        let Some(name) = &self.args.system else {
            return Err(Failure::input("a simulation needs a system")
                .hint("name it before the load, DRIVE@PLATFORM:PORT"));
        };
        let settings = vec![setting(&format!("drive.state.condition={condition}"))?];
        let system = assemble(self.library, name, &settings)?;
        Ok(WrittenSystem { system, settings })
    }

    /// Simulates a workload until it is steady. Returns `None` if the simulation was cancelled.
    pub(super) fn workload(&self, name: &str) -> Result<Option<SimulatedLoad>, Failure> {
        let capacity = self.system("random")?.system.capacity();
        let target_size = self.args.size.unwrap_or(capacity);
        let opened = opened::open(self.library, name, Some(target_size))?;
        let workload = &opened.workload;
        if workload.groups().len() > 1 {
            let message =
                format!("{name} contains several tests, which do not run at the same time");
            return Err(Failure::input(message).hint("select one of them, WORKLOAD:TEST"));
        }
        let is_sequential = workload.tests.iter().all(writes_in_order);
        let written = self.system(if is_sequential { "sequential" } else { "random" })?;
        let span = self.args.size.or(opened.input.is_none().then(|| written.system.capacity()));
        let as_given = covering(workload, span);
        let is_in_place = matches!(&written.system.spec.first().drive.media,
            MediaSpec::Flash(flash) if flash.technology == Technology::XPoint);
        let written_alone = writes_alone(&as_given);
        let to_run =
            if is_in_place { shortened(&written_alone)? } else { stationary(&written_alone)? };
        let Some(steady) = self.run(&written, &to_run)? else { return Ok(None) };
        let mut rate = steady;
        let amplification = amplification(&rate.tests, &written.system);
        let is_open = as_given.tests.iter().any(is_open);
        // Reads at the same time slow the writes.
        if is_open || written_alone.tests.len() < as_given.tests.len() {
            let Some(open) = self.run(&written, &as_given)? else { return Ok(None) };
            rate = open;
        }
        let is_needed = self.args.smart.is_empty() && self.args.per_day.is_none();
        if is_needed {
            let Some(name) = &self.args.system else { return Ok(None) };
            let drawn = DrawnSystem {
                library: self.library,
                name,
                settings: &written.settings,
                ranges: &[],
            };
            self.lab.add_intervals(&drawn, &mut rate, &mut |_| ())?;
        }
        let Some(amplification) = amplification else {
            return Err(Failure::input(format!(
                "{name} writes nothing, so that it does not wear a drive"
            ))
            .hint("name a workload that writes"));
        };
        let source = if is_open {
            format!("{name}, simulated, at the rate that it states, at all times")
        } else {
            format!("{name}, simulated, as fast as it can, at all times; --per-day states less")
        };
        let covered = span.map_or_else(String::new, |span| format!(" on {span}"));
        Ok(Some(SimulatedLoad {
            daily: daily(&rate.tests),
            amplification,
            source,
            amplification_source: format!("{name}, simulated until steady{covered}"),
        }))
    }

    fn run(&self, on: &WrittenSystem, workload: &Workload) -> Result<Option<RunResult>, Failure> {
        let provenance = provenance::own_provenance(self.args.seed);
        let mut line =
            LabProgressLine::new(self.lab.samples(&LabRun { system: &on.system, workload }));
        let result =
            self.lab.run(&on.system, workload, &provenance, &mut |event| line.draw(&event))?;
        Ok(result.complete.then_some(result))
    }

    /// Replays a trace. Returns `None` if the replay was cancelled.
    fn trace(&self, path: &Path) -> Result<Option<SimulatedLoad>, Failure> {
        let name = path.display().to_string();
        let WrittenSystem { system, .. } = self.system("random")?;
        let system = system.with_memory(MEMORY);
        let (input, _) = trace_file::open(path)?;
        let args = &self.args.trace;
        let options = Options {
            format: args.trace_format,
            devices: args.device.clone(),
            action: args.action.unwrap_or_default(),
            as_one: false,
        };
        let mut reader = Reader::new(name.as_str(), input, &options)
            .map_err(|error| other_text::failure(path).unwrap_or_else(|| error.into()))?;
        let limited = reader
            .by_ref()
            .take(usize::try_from(args.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX));
        let capacity = system.capacity();
        let settings = ReplaySettings {
            pace: args.pace(),
            wrap: args.wrap,
            laid_out: capacity,
            seed: self.args.seed,
        };
        let flag = stop::on_signal();
        let mut progress = Progress::new();
        let mut watch = |so_far: &SoFar| {
            progress.show(&format!("{} requests", so_far.requests));
            !stop::requested(&flag)
        };
        let outcome = replay(&system.spec, &settings, limited, &mut watch, &mut |_| ());
        drop(progress);
        let sample = outcome.map_err(|error| failure(error, &name, &reader.devices()))?.sample;
        if !sample.complete {
            return Ok(None);
        }
        let Some(counts) = sample.replay.as_ref().filter(|counts| counts.requests > 0) else {
            return Err(empty_trace_error(&name, &reader.other_devices(), &reader.other_actions()));
        };
        let written = written_bytes(&sample);
        let seconds = counts.span.unwrap_or(sample.elapsed).as_seconds();
        if written <= 0.0 || seconds <= 0.0 {
            return Err(Failure::input(format!(
                "{name}: the trace does not show a rate of writes"
            ))
            .hint("use a trace of at least two requests that writes"));
        }
        let (amplification, shown) = match self.own_amplification(&sample, &system)? {
            Some(found) => found,
            None => return Ok(None),
        };
        Ok(Some(SimulatedLoad {
            daily: Estimate::exact(written / 1e9 * SECONDS_PER_DAY / seconds),
            amplification,
            source: format!("{name}, {:.1} MB in {}", written / 1e6, time_text(seconds)),
            amplification_source: format!("{name}, {shown}"),
        }))
    }

    /// Returns the write amplification of a replayed trace, and a description. A trace that writes less than the drive
    /// holds does not reach its own steady state: its amplification is between writes in order and a random load.
    fn own_amplification(
        &self,
        sample: &Sample,
        system: &System,
    ) -> Result<Option<(Estimate, String)>, Failure> {
        let replayed = write_amplification(std::slice::from_ref(sample));
        let is_long = written_bytes(sample) >= system.capacity().get() as f64;
        if let Some(value) = replayed.filter(|_| is_long) {
            let text = "replayed on a drive full of random data".to_owned();
            return Ok(Some((uncertain(value, system), text)));
        }
        let Some(random) = self.workload(RANDOM)? else { return Ok(None) };
        let high = random.amplification.value.max(1.0);
        let text = format!(
            "which writes less than the drive holds: between 1 for writes in order and {high:.1} for {RANDOM}"
        );
        Ok(Some((Estimate { value: high.sqrt(), low: 1.0, high }, text)))
    }
}

/// Returns the workload with tests that cover `span`, if it is given.
fn covering(workload: &Workload, span: Option<Bytes>) -> Workload {
    let mut workload = workload.clone();
    if let Some(span) = span {
        for test in &mut workload.tests {
            let block = test.block.get().max(1);
            test.offset = Bytes::ZERO;
            test.span = Bytes(span.get() / block * block);
        }
    }
    workload.repeats = 1;
    workload
}

/// Returns the tests that write. Reads at the same time do not change the state of the flash.
fn writes_alone(workload: &Workload) -> Workload {
    let mut workload = workload.clone();
    if workload.tests.iter().any(|test| test.writes()) {
        workload.tests.retain(Test::writes);
    }
    if let [only] = workload.tests.as_mut_slice() {
        only.start = TestStart::default();
    }
    workload
}

/// Returns the workload in rounds until it is steady. An open loop becomes a closed loop: a slow load would not reach
/// its steady state, which does not depend on the rate.
fn stationary(workload: &Workload) -> Result<Workload, Failure> {
    let mut workload = workload.clone();
    for test in &mut workload.tests {
        if let Some(requests) = test.requests_mut() {
            requests.load = Load::Closed;
        }
    }
    if workload.tests.iter().any(|test| test.rounds.is_none()) {
        let steady = SeriesSettings { steady: Some(ROUND), ..SeriesSettings::default() };
        workload = with_series_settings(workload, &steady)?;
    }
    Ok(workload)
}

/// Returns the workload for a drive that overwrites data in place, whose state does not change.
fn shortened(workload: &Workload) -> Result<Workload, Failure> {
    let scale = WorkloadScale { duration: Some(IN_PLACE), ..WorkloadScale::default() };
    Ok(scaled_workload(workload.clone(), &scale)?)
}

fn is_open(test: &Test) -> bool {
    test.requests().is_some_and(|requests| matches!(requests.load, Load::Open { .. }))
}

/// Returns whether a test writes only in order.
fn writes_in_order(test: &Test) -> bool {
    matches!(test.pattern(), Some(Pattern::Sequential | Pattern::Backward)) && test.threads == 1
}

/// Returns the write amplification of tests that ran at the same time; `None` if they wrote nothing.
fn amplification(tests: &[TestResult], system: &System) -> Option<Estimate> {
    let samples: Vec<Sample> = tests.iter().flat_map(|test| test.samples.clone()).collect();
    Some(uncertain(write_amplification(&samples)?, system))
}

/// Returns a simulated amplification with its interval. The effects that the model omits act on the data that the drive
/// writes in addition to the host's data.
fn uncertain(value: f64, system: &System) -> Estimate {
    let [low, high] = amplification_factors(system).map(|factor| {
        let added = (value - 1.0).max(0.0);
        value + added * (factor - 1.0)
    });
    Estimate { value, low, high }
}

/// Returns the GB that the host writes per day in tests that ran at the same time.
fn daily(tests: &[TestResult]) -> Estimate {
    let rate = |test: &TestResult| {
        let sample = test.samples.first();
        let seconds = sample.map_or(0.0, |sample| sample.elapsed.as_seconds());
        sample.map_or(0.0, written_bytes) / seconds.max(1e-12)
    };
    let gigabytes = tests.iter().map(rate).sum::<f64>() * SECONDS_PER_DAY / 1e9;
    let ratios = match tests.first().and_then(|test| test.interval.as_ref()) {
        Some(interval) => [interval.low_ratio, interval.high_ratio],
        None => [1.0, 1.0],
    };
    Estimate::within(gigabytes, ratios)
}

fn written_bytes(sample: &Sample) -> f64 {
    sample.writes.as_ref().map_or(0.0, |writes| writes.bytes.get() as f64)
}

fn time_text(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 600.0 => format!("{seconds:.1} s"),
        seconds if seconds < 172_800.0 => format!("{:.1} h", seconds / 3600.0),
        seconds => format!("{:.1} days", seconds / SECONDS_PER_DAY),
    }
}
