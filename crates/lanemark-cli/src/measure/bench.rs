//! `lanemark bench`: a workload on a real target.

use std::path::Path;

use lanemark_lab::measured;
use lanemark_lab::opened::{self, OpenedWorkload};
use lanemark_lab::scale::{real_without_faults, scaled_workload, with_series_settings};
use lanemark_measure::{Bench, Event, MeasureSettings, PurgeMethod, SampleInProgress};
use lanemark_schema::result::RunResult;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Workload;
use lanemark_trial::served_target::ServedMeasurement;

use crate::args::{BenchArgs, refuse_with_trace, trace_file};
use crate::measure::host;
use crate::measure::trace::RecordedTrace;
use crate::model::library;
use crate::output::delivery::ResultDelivery;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::formats::RequestedSections;
use crate::output::progress::Progress;
use crate::output::{formats, messages, provenance, stop};

/// The default workload.
const USUAL: &str = "crystaldiskmark-8";

pub(crate) fn run(args: &BenchArgs) -> Result<CommandOutcome, Failure> {
    if let Some(out) = &args.host_only {
        return host::measure(args, out);
    }
    let Some(path) = &args.path else {
        return Err(Failure::input("a target is missing"));
    };
    let stop = stop::on_signal();
    messages::tell_left_over(path);
    let library = library::open(&args.run.library)?;
    let named = args.workload.as_deref().unwrap_or(USUAL);
    let trace = trace_file(&library, named);
    check_trace_options(args, trace)?;
    let target_size = opened::size_of(path).or(args.scale.size);
    let named = args.command.workload(Some(if trace.is_some() { USUAL } else { named }))?;
    let opened = opened::open(&library, &named, target_size)?;
    real_without_faults(&opened.workload)?;
    let settings = settings(args, &opened);
    let recorded = trace.map(|trace| RecordedTrace::open(args, trace)).transpose()?;
    let workload = match &recorded {
        Some(recorded) => recorded.workload.clone(),
        None => {
            formats::tell(&opened, settings.buffered);
            with_series_settings(
                scaled_workload(opened.workload, &args.scale.scale())?,
                &args.over_time.over_time(),
            )?
        }
    };
    let mut provenance = provenance::own_provenance(args.run.seed);
    provenance.name.clone_from(&args.name.name);
    provenance.inputs = library.used();
    provenance.inputs.extend(opened.input);
    let what = format!("bench-{}", workload.id);
    let json = args.run.json;
    let format = args.format;
    let detail = args.detail || args.explain;
    let printer = move |result: &RunResult| {
        formats::result_text(result, json, format, RequestedSections { detail, evidence: false })
    };
    let out = args.run.save.destination();
    let files = args.over_time.files();
    let delivery = ResultDelivery::open(out, &what, &provenance.started_at, files, printer)?;
    let mut served = messages::with_remarks(|remarks| {
        ServedMeasurement::find(path, args.served.as_deref(), remarks)
    })?;

    let bench = Bench {
        path,
        workload: &workload,
        seed: args.run.seed,
        overwrite: args.overwrite.as_deref(),
        offered: args.i_will_lose_all_data_on.as_deref(),
        purge: args.purge.as_deref().map(PurgeMethod::named),
        settings,
        stop: &stop,
    };
    let mut progress = Progress::new();
    // The test and the repeat that are currently running.
    let mut running = None;
    let mut on = |event: Event<'_>| match event {
        Event::SampleEnded { outcome } => {
            let mut result = measured::result(outcome, &workload, &provenance);
            if let Some(served) = &mut served {
                served.end(&outcome.tests);
                served.complete(&mut result);
            }
            running = None;
            let failed = delivery.save_on_the_way(&mut result);
            failed.iter().for_each(|failed| progress.note(failed));
        }
        event => {
            if let Event::Running(SampleInProgress { index, repeat, .. }) = &event
                && running.replace((*index, *repeat)) != Some((*index, *repeat))
            {
                served.iter_mut().for_each(ServedMeasurement::begin);
            }
            progress.show(&line(&event, &workload));
        }
    };
    let outcome = match (&recorded, trace) {
        (Some(recorded), Some(trace)) => {
            bench.replay(recorded.arrivals(trace)?, recorded.speed, &mut on)
        }
        _ => bench.run(&mut on),
    };
    drop(progress);
    let outcome = outcome?;
    let mut result = measured::explained_result(&outcome, &workload, &provenance);
    served.iter().for_each(|served| served.complete(&mut result));
    delivery.deliver(&mut result)?;
    if let Some(failure) = outcome.failure {
        return Err(failure.into());
    }
    Ok(if result.complete { CommandOutcome::Done } else { CommandOutcome::Interrupted })
}

/// Rejects options of a trace without a trace, and options of a workload with one.
fn check_trace_options(args: &BenchArgs, trace: Option<&Path>) -> Result<(), Failure> {
    match trace {
        None => args.trace.refuse_without_trace(&[]),
        Some(_) => refuse_with_trace(&[
            ("--duration", args.scale.duration.is_some()),
            ("--repeats", args.scale.repeats.is_some()),
            ("--steady", args.over_time.steady.is_some()),
            ("--series", args.over_time.series.is_some()),
        ]),
    }
}

/// Returns the engine settings from the command line; a job file supplies the settings that are missing there.
fn settings(args: &BenchArgs, opened: &OpenedWorkload) -> MeasureSettings {
    MeasureSettings {
        engine: args.engine.or(opened.engine()).unwrap_or_default(),
        buffered: args.buffered || opened.is_buffered(),
        register: !args.unregistered,
        submission_polled: args.sqpoll,
        completion_polled: args.iopoll,
        precondition: args.precondition,
        probe: args.explain,
        pinned: args.pin,
        no_idle: args.no_idle,
        on_error: args.on_error.map_or(opened.on_error(), Into::into),
        host: !args.no_host,
    }
}

/// Describes an event in one line.
fn line(event: &Event<'_>, workload: &Workload) -> String {
    match event {
        Event::LayingOut { done, total } => {
            format!("laying out random data: {} of {total}", rounded(*done))
        }
        Event::Running(SampleInProgress { test, repeat, .. }) if *repeat >= workload.repeats => {
            format!("{}: queue depth {}", test.name, test.issue_depth())
        }
        Event::Running(SampleInProgress {
            test,
            repeat,
            samples,
            elapsed,
            bytes,
            requests,
            ..
        }) => {
            let seconds = elapsed.as_seconds().max(1e-9);
            format!(
                "{}/{} {}, repeat {} of {}: {:.0} MB/s, {:.0} IOPS",
                samples.0 + 1,
                samples.1,
                test.name,
                repeat + 1,
                workload.repeats,
                bytes.get() as f64 / 1e6 / seconds,
                *requests as f64 / seconds,
            )
        }
        Event::MeasuringHost => "measuring the processor time of requests".to_owned(),
        Event::SampleEnded { .. } => String::new(),
    }
}

/// Rounds to whole MiB, so that the line does not flicker.
fn rounded(bytes: Bytes) -> Bytes {
    Bytes(bytes.get() >> 20 << 20)
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::Duration;
    use lanemark_schema::workload::Test;

    use super::*;

    #[test]
    fn an_event_is_a_line_with_its_rates() {
        let mut test = Test::of_blocks(Bytes::kibi(4)).with(|requests| requests.queue_depth = 16);
        test.name = "RND4K".to_owned();
        let mut workload = Workload::of_test("w", "W", test.clone());
        workload.repeats = 3;
        let running = |repeat, elapsed| {
            let event = Event::Running(&SampleInProgress {
                test: &test,
                index: 1,
                repeat,
                samples: (4, 9),
                elapsed,
                bytes: Bytes(12_000_000),
                requests: 3_000,
            });
            line(&event, &workload)
        };
        let two = Duration::from_seconds(2);
        assert_eq!(running(1, two), "5/9 RND4K, repeat 2 of 3: 6 MB/s, 1500 IOPS");
        assert_eq!(running(2, two), "5/9 RND4K, repeat 3 of 3: 6 MB/s, 1500 IOPS");
        assert_eq!(running(3, two), "RND4K: queue depth 16");
        assert!(running(0, Duration::ZERO).starts_with("5/9 RND4K, repeat 1 of 3: "));
        let laying = Event::LayingOut { done: Bytes((5 << 20) + 7), total: Bytes::mebi(64) };
        let done = Bytes::mebi(5);
        let total = Bytes::mebi(64);
        assert_eq!(line(&laying, &workload), format!("laying out random data: {done} of {total}"));
        assert_eq!(rounded(Bytes((3 << 20) - 1)), Bytes::mebi(2));
    }
}
