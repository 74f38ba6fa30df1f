//! `lanemark sim`: a workload on a modelled system.

use lanemark_core::result::{RunResult, Target};
use lanemark_core::workload::{Fault, Interval, Rounds, TestError, Workload};
use lanemark_lab::interval::Subject;
use lanemark_lab::{Event, Lab, assemble, settings};
use lanemark_study::system::SystemName;
use lanemark_study::{Location, workload};

use crate::args::{OverTimeArgs, ScaleArgs, SimArgs};
use crate::delivery::Delivery;
use crate::failure::{Failure, Outcome};
use crate::messages::tell;
use crate::progress::LabLine;
use crate::{formats, library, provenance, stop};

pub(crate) fn run(args: &SimArgs) -> Result<Outcome, Failure> {
    let lab = Lab { cancel: stop::on_signal().into(), ..Lab::default() };
    let library = library::open(&args.run.library)?;
    let settings = settings(&args.set)?;
    let system = assemble(&library, &args.system, &settings)?;
    let target_size = args.scale.size.unwrap_or(system.capacity());
    let opened = formats::open(&library, &args.workload, Some(target_size))?;
    opened.tell_notes();
    let workload = scaled(opened.workload, &args.scale)?;
    let mut workload = watched(workload, &args.over_time)?;
    workload.faults.extend(faults(&args.fault)?);
    system.with_faults(&workload.faults, &Location::file("--fault"))?;
    let mut provenance = provenance::own(args.run.seed);
    provenance.inputs = library.used();
    provenance.inputs.extend(opened.input);
    let drive = SystemName::parse(&args.system)?.drive;
    let what = format!("sim-{}-{}", workload.id, drive.rsplit('/').next().unwrap_or("drive"));
    let (json, format, detail) = (args.run.json, args.output_format, args.detail);
    let shown = move |result: &RunResult| {
        formats::shown(result, json, format, detail || result.tests.len() == 1)
    };
    let (out, over_time) = (&args.run.out, Some(&args.over_time));
    let delivery = Delivery::open(out, &what, &provenance.started_at, over_time, shown)?;

    let mut line = LabLine::new("tests", workload.tests.len());
    let mut result = lab.run(&system, &workload, &provenance, &mut |event| {
        line.draw(&event);
        if let Event::TestEnded { so_far, .. } = event
            && let Some(failed) = delivery.save_on_the_way(&mut so_far())
        {
            line.note(&failed);
        }
    })?;
    if result.tests.is_empty() && !result.complete {
        drop(line);
        delivery.deliver_nothing();
        return Ok(Outcome::Interrupted);
    }
    if args.bottleneck && result.complete {
        lab.bottleneck(&system.spec, &mut result, &mut |event| line.draw(&event))?;
    }
    if !args.no_interval && result.complete {
        let (library, name, settings) = (&library, args.system.as_str(), settings.as_slice());
        lab.add_intervals(&Subject { library, name, settings, ranges: &[] }, &mut result)?;
    }
    drop(line);
    delivery.deliver(&mut result)?;
    if let (Target::Simulated(_), [first, _, ..], None, false, false) =
        (&result.target, result.tests.as_slice(), format, json, detail)
    {
        let slug = workload::slug(&first.test.name);
        tell!("hint: --detail, or {}:{slug}, shows where the time goes", result.workload.id);
    }
    Ok(if result.complete { Outcome::Done } else { Outcome::Interrupted })
}

/// A workload with the changes of the command line.
pub(crate) fn scaled(mut workload: Workload, scale: &ScaleArgs) -> Result<Workload, Failure> {
    if let Some(repeats) = scale.repeats {
        workload.repeats = repeats;
    }
    for test in &mut workload.tests {
        if let Some(size) = scale.size {
            test.volume = test.volume.map(|volume| {
                let scaled =
                    u128::from(volume.get()) * u128::from(size.get()) / u128::from(test.span.get());
                lanemark_core::units::Bytes(u64::try_from(scaled).unwrap_or(u64::MAX))
            });
            test.span = size;
        }
        if let Some(duration) = scale.duration {
            test.duration = Some(duration);
            test.volume = None;
            test.rounds = None;
        }
        test.check().map_err(|TestError { field, value, bound }| {
            let of_size = scale.size.is_some() && (field != "duration" || scale.duration.is_none());
            let option = if of_size { "--size" } else { "--duration" };
            Failure::input(format!("{option}: test `{}`: {field} = {value}: {bound}", test.name))
        })?;
    }
    Ok(workload)
}

/// A workload with the rounds and intervals of the command line.
pub(crate) fn watched(mut workload: Workload, args: &OverTimeArgs) -> Result<Workload, Failure> {
    for test in &mut workload.tests {
        if let Some(length) = args.steady {
            test.rounds = Some(Rounds { length, tracked: args.track.unwrap_or_default() });
            (test.duration, test.volume) = (None, None);
        }
        match args.interval {
            Some(interval) => test.interval = Some(Interval::Fixed { interval }),
            None if args.series.is_some() && test.interval.is_none() => {
                test.interval = Some(Interval::Automatic);
            }
            None => {}
        }
        test.check().map_err(|TestError { field, value, bound }| {
            let option = if field == "round" { "--steady" } else { "--interval" };
            Failure::input(format!("{option}: test `{}`: {field} = {value}: {bound}", test.name))
        })?;
    }
    Ok(workload)
}

/// Reads what goes wrong, and tells of all that cannot be read.
pub(crate) fn faults(texts: &[String]) -> Result<Vec<Fault>, Failure> {
    let read = |text: &String| {
        text.parse::<Fault>().map_err(|error| format!("--fault \"{text}\": {error}"))
    };
    let (good, bad): (Vec<_>, Vec<_>) = texts.iter().map(read).partition(Result::is_ok);
    let errors: Vec<String> = bad.into_iter().filter_map(Result::err).collect();
    if errors.is_empty() {
        return Ok(good.into_iter().flatten().collect());
    }
    Err(Failure::input(errors.join("\n"))
        .hint("write a kind and its keys, for example --fault \"power-cut at=2s boot=5s\""))
}

/// Refuses a workload in which something is to go wrong: a real target is not made to fail.
pub(crate) fn real_without_faults(workload: &Workload) -> Result<(), Failure> {
    match workload.faults.is_empty() {
        true => Ok(()),
        false => Err(Failure::input(format!("{}: its faults can only be simulated", workload.id))
            .hint("leave its [[fault]] tables out, or run it with lanemark sim")),
    }
}
