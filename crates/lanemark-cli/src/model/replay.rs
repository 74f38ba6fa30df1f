//! `lanemark sim SYSTEM TRACE`: replays a recorded trace on a modelled system.

use std::path::Path;

use lanemark_lab::check_faults;
use lanemark_lab::scale::faults;
use lanemark_schema::result::{RunResult, SCHEMA_VERSION, Sample, Target, TestResult, Warning};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{AverageMethod, TestOrder, Workload};
use lanemark_sim::Progress as SoFar;
use lanemark_sim::replay::{ReplayError, ReplayRun, ReplaySettings, RequestRefusal, replay};
use lanemark_sim::{MEMORY, SimError};
use lanemark_study::{Library, Location, System, workload};
use lanemark_trace::{BlkparseAction, Format, Options, Reader, TraceError, TraceNotes};

use crate::args::{SimArgs, refuse_with_trace};
use crate::model::request_rows::RequestRows;
use crate::model::trace_file;
use crate::model::trace_file::TraceDigest;
use crate::output::delivery::{ExtraFiles, ResultDelivery};
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::formats::RequestedSections;
use crate::output::progress::Progress;
use crate::output::{formats, messages, other_text, provenance, stop};

/// Replays the trace in `path` on a system.
pub(crate) fn run(
    args: &SimArgs,
    library: &Library,
    system: &System,
    path: &Path,
) -> Result<CommandOutcome, Failure> {
    check_options(args)?;
    let stop = stop::on_signal();
    let faults = faults(&args.fault)?;
    let spec = system.with_faults(&faults, &Location::file("--fault"))?;
    let spec = spec.with_memory(args.memory.memory.unwrap_or(MEMORY));
    let name = path.display().to_string();
    let (input, read_bytes) = trace_file::open(path)?;
    let options = Options {
        format: args.trace.trace_format,
        devices: args.trace.device.clone(),
        action: args.trace.action.unwrap_or_default(),
        as_one: args.as_one,
    };
    let mut reader = Reader::new(name.as_str(), input, &options)
        .map_err(|error| other_text::failure(path).unwrap_or_else(|| error.into()))?;
    if reader.format() == Format::Mqsim && options.devices.is_empty() && system.spec.drives() == 1 {
        // MQSim itself ignores the numbers of devices.
        reader.take_as_one();
    }
    let mut provenance = provenance::own_provenance(args.run.seed);
    provenance.name.clone_from(&args.name.name);
    provenance.inputs = library.used();
    let stem = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let id = workload::slug(&stem);
    let what = format!("sim-{id}");
    let json = args.run.json;
    let format = args.format;
    let requested = RequestedSections { detail: true, evidence: args.explain };
    let printer = move |result: &RunResult| formats::result_text(result, json, format, requested);
    let out = args.run.save.destination();
    let files = ExtraFiles { series: None, ..args.over_time.files() };
    let mut requests = RequestRows::open(args.over_time.series.as_deref())?;
    let delivery = ResultDelivery::open(out, &what, &provenance.started_at, files, printer)?;

    let mut progress = Progress::new();
    let limit = args.trace.limit.unwrap_or(u64::MAX);
    let mut watch = |so_far: &SoFar| {
        progress.show(&line(so_far, &read_bytes));
        !stop::requested(&stop)
    };
    let mut left = limit;
    let limited = std::iter::from_fn(|| {
        left = left.checked_sub(1)?;
        reader.next()
    });
    let plan = plan(args, system);
    let outcome = replay(&spec, &plan, limited, &mut watch, &mut |ended| requests.add(ended));
    drop(progress);
    let run = outcome.map_err(|error| failure(error, &name, &reader.devices()))?;
    let replayed = run.sample.replay.as_ref().map_or(0, |replay| replay.requests);
    if replayed == 0 && run.sample.complete {
        return Err(empty_trace_error(&name, &reader.other_devices(), &reader.other_actions()));
    }
    note_events(args.trace.action, reader.format(), &reader.other_actions());
    if left > 0 && run.sample.complete {
        provenance.inputs.insert(name, read_bytes.hash());
    }
    let file = path.file_name().map_or(stem, |name| name.to_string_lossy().into_owned());
    let mut result = result(run, system, id, file, &reader.notes(), plan.laid_out);
    result.workload.faults = faults;
    if result.complete {
        check_faults(&result)?;
    }
    result.provenance = provenance;
    let written = requests.write();
    delivery.deliver(&mut result)?;
    written?;
    Ok(if result.complete { CommandOutcome::Done } else { CommandOutcome::Interrupted })
}

/// States which events of a trace were replayed, if that is not obvious. `others` are the events that were not.
fn note_events(action: Option<BlkparseAction>, format: Format, others: &[(char, &str)]) {
    if action == Some(BlkparseAction::COMPLETE) {
        let note = "note: the times of completions are replayed as the times of requests";
        messages::write(format_args!("{note}"));
    } else if let (None, Format::Ftrace, [(letter, word), ..]) = (action, format, others) {
        messages::write(format_args!(
            "note: only events of the kind of the first event are replayed; the trace also contains {letter} ({word}), \
             which --action {letter} replays"
        ));
    }
}

/// Rejects options of a workload, whose values a trace states.
fn check_options(args: &SimArgs) -> Result<(), Failure> {
    refuse_with_trace(&[
        ("--size", args.scale.size.is_some()),
        ("--duration", args.scale.duration.is_some()),
        ("--repeats", args.scale.repeats.is_some()),
        ("--steady", args.over_time.steady.is_some()),
        ("--interval", args.over_time.interval.is_some()),
        ("--bottleneck", args.bottleneck),
        ("--full", args.full),
    ])
}

fn plan(args: &SimArgs, system: &System) -> ReplaySettings {
    let capacity = system.spec.volume_capacity().unwrap_or(system.spec.first().drive.capacity);
    ReplaySettings {
        pace: args.trace.pace(),
        wrap: args.trace.wrap,
        laid_out: args.filled.unwrap_or(capacity).min(capacity),
        seed: args.run.seed,
    }
}

/// Describes the progress in one line.
fn line(so_far: &SoFar, read_bytes: &TraceDigest) -> String {
    let share =
        read_bytes.share().map_or_else(String::new, |share| format!("{:.0}%: ", share * 100.0));
    let seconds = so_far.now.picoseconds() as f64 / 1e12;
    format!("{share}{} requests, {seconds:.1} s simulated", so_far.requests)
}

fn result(
    run: ReplayRun,
    system: &System,
    id: String,
    file: String,
    notes: &TraceNotes,
    laid_out: Bytes,
) -> RunResult {
    let ReplayRun { sample, mut test } = run;
    test.name.clone_from(&file);
    let workload = Workload {
        faults: Vec::new(),
        id,
        name: file,
        repeats: 1,
        average: AverageMethod::Mean,
        order: TestOrder::Listed,
        precondition: None,
        tests: vec![test.clone()],
    };
    let mut warnings = system.warnings.clone();
    warnings.extend(replay_warnings(&sample, notes));
    warnings.extend(system.uncollected([&sample], laid_out.into()));
    let complete = sample.complete;
    if !complete {
        warnings.push(Warning::Interrupted);
    }
    RunResult {
        schema_version: SCHEMA_VERSION,
        inspection: None,
        power_cuts: Vec::new(),
        provenance: Default::default(),
        target: Target::Simulated(system.target.clone()),
        tests: vec![TestResult::new(&workload, &test, vec![sample])],
        workload,
        complete,
        warnings,
    }
}

/// Returns the warnings about a replay.
fn replay_warnings(sample: &Sample, notes: &TraceNotes) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if notes.backward > 0 {
        warnings.push(Warning::TimesBackward {
            requests: notes.backward,
            step_most: notes.backward_most,
        });
    }
    let Some(replay) = &sample.replay else { return warnings };
    if replay.held_back > 0 && replay.speed.is_some() {
        warnings.push(Warning::HeldBack {
            requests: replay.held_back,
            outstanding: replay.outstanding_max,
        });
    }
    if replay.wrapped > 0 {
        warnings.push(Warning::Wrapped { requests: replay.wrapped });
    }
    if replay.empty > 0 {
        warnings.push(Warning::EmptyRequests { requests: replay.empty });
    }
    warnings
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        let message = error.to_string();
        let failure = if error.unreadable { Self::run(message) } else { Self::input(message) };
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Converts the error that ended a replay to a failure with a hint. `devices` are the trace's devices, indexed by
/// number.
pub(crate) fn failure(error: ReplayError<TraceError>, trace: &str, devices: &[String]) -> Failure {
    match error {
        ReplayError::Trace(error) => error.into(),
        ReplayError::Request { line, fault } => {
            let failure = Failure::input(format!("{trace}:{line}: {fault}"));
            match fault {
                RequestRefusal::NoDrive { device, .. } => {
                    let name = devices.get(device as usize).map_or("", String::as_str);
                    failure.hint(format!(
                        "the request is for the device `{name}`; use --as-one to replay all devices on one drive, \
                         --device {} to replay only one, or give SYSTEM one port per device, DRIVE@PLATFORM:PORT+PORT",
                        devices.first().map_or("NAME", String::as_str),
                    ))
                }
                fault => failure.hint(way_out(&fault)),
            }
        }
        ReplayError::Sim(error) => {
            // Offsets are checked before the requests are submitted.
            let failure = Failure::input(format!("{trace}: {error}"));
            match error {
                SimError::Memory { .. } => failure.hint("use --limit, or allow more with --memory"),
                SimError::OutOfRange { .. }
                | SimError::OutOfVolume { .. }
                | SimError::NoTarget { .. }
                | SimError::NotSimulated { .. }
                | SimError::NeverEnds
                | SimError::Cancelled => failure,
            }
        }
    }
}

fn way_out(fault: &RequestRefusal) -> &'static str {
    match fault {
        RequestRefusal::Untimed => {
            "use --as-fast-as-possible; a version 2 iolog contains times only after its first wait"
        }
        RequestRefusal::TooLate => "use a higher --speed",
        RequestRefusal::NoDrive { .. } => "select a device with --device",
        RequestRefusal::OutOfRange { .. } => {
            "use --wrap, or a drive as large as the recorded drive"
        }
        RequestRefusal::TooLong { .. } => "check that the lengths are in the unit of the format",
    }
}

/// Returns the failure of a trace without a matching request. `others` and `actions` are the devices and events of the
/// trace.
pub(crate) fn empty_trace_error(
    trace: &str,
    others: &[String],
    actions: &[(char, &str)],
) -> Failure {
    let failure = Failure::input(format!("{trace} contains no request to replay"));
    match (others, actions) {
        ([], []) => failure,
        ([], [first, ..]) => {
            // Requests arrive when they are queued or issued; D is nearest to the drive.
            let best = actions.iter().find(|(letter, _)| *letter == 'D').unwrap_or(first).0;
            let met: Vec<String> =
                actions.iter().map(|(letter, word)| format!("{letter} ({word})")).collect();
            let met = met.join(", ");
            failure.hint(format!("the trace contains the events {met}; add --action {best}"))
        }
        (others, _) => {
            failure.hint(format!("the trace contains requests for {}", others.join(", ")))
        }
    }
}
