//! `lanemark sim`: a workload on a modelled system.

use lanemark_core::result::{Calibration, RunResult, Target};
use lanemark_core::workload::{Interval, Rounds, TestError, Workload};
use lanemark_study::system::{NamedAt, SystemName};
use lanemark_study::{Location, System, workload};

use crate::args::{OverTimeArgs, ScaleArgs, SimArgs};
use crate::failure::{Failure, Outcome};
use crate::formats::OutputFormat;
use crate::progress::Progress;
use crate::{bottleneck, formats, library, output, results, stop};

pub(crate) fn run(args: &SimArgs) -> Result<Outcome, Failure> {
    let stop = stop::on_signal()?;
    let library = library::open(&args.run.library)?;
    let parts = SystemName::parse(&args.system)?;
    let named_at = NamedAt::all(&Location::file(&args.system));
    let settings = args.set.iter().map(|text| setting(text)).collect::<Result<Vec<_>, _>>()?;
    let system = System::assemble(&library, &parts, &named_at, &args.system, &settings)?;
    let opened = formats::open(&library, &args.workload, None)?;
    opened.tell_notes();
    let workload = scaled(opened.workload, &args.scale)?;
    let workload = watched(workload, &args.over_time)?;
    let mut provenance = results::provenance(args.run.seed);
    provenance.inputs = library.used();
    provenance.inputs.extend(opened.input);
    let what = format!("sim-{}-{}", workload.id, parts.drive.rsplit('/').next().unwrap_or("drive"));
    let place = results::Place::new(&args.run.out, &what, &provenance.started_at)?;

    refuse_others(&args.over_time)?;

    let mut progress = Progress::new();
    let mut saved = Ok(());
    let mut result = system.run(&workload, provenance, &mut |so_far| {
        progress.show(&format!(
            "simulated {} of {} tests",
            so_far.tests.len(),
            workload.tests.len()
        ));
        saved = save(&place, &mut so_far.clone());
        saved.is_ok() && !stop::requested(&stop)
    })?;
    saved?;
    if args.bottleneck && result.complete {
        bottleneck::ask(&system.spec, &mut result, &mut progress, &stop)?;
    }
    save(&place, &mut result)?;
    drop(progress);
    show(&result, args)?;
    eprintln!("saved {}", place.path().display());
    write_others(&result, &args.over_time)?;
    Ok(if result.complete { Outcome::Done } else { Outcome::Interrupted })
}

/// Whether the files that a run is to write besides may be written, to know before.
pub(crate) fn refuse_others(args: &OverTimeArgs) -> Result<(), Failure> {
    args.html.as_deref().map_or(Ok(()), results::refuse_other_page)?;
    args.series.as_deref().map_or(Ok(()), results::refuse_other_series)
}

/// Writes them.
pub(crate) fn write_others(result: &RunResult, args: &OverTimeArgs) -> Result<(), Failure> {
    if let Some(path) = &args.series {
        results::write_series(path, &lanemark_report::series_csv(result))?;
        eprintln!("wrote {}", path.display());
    }
    if let Some(path) = &args.html {
        results::write_page(path, &lanemark_report::html(None, &[result]))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// Saves a result with the time.
pub(crate) fn save(place: &results::Place, result: &mut RunResult) -> Result<(), Failure> {
    result.provenance.finished_at = results::now();
    place.save(result)
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

/// Reads `parameter=value`.
pub(crate) fn setting(text: &str) -> Result<(Calibration, Location), Failure> {
    let Some((parameter, value)) = text.split_once('=') else {
        return Err(Failure::input(format!("--set {text}: is not written as PARAMETER=VALUE"))
            .hint("for example --set drive.flash.read=\"60 us\""));
    };
    let calibration = Calibration {
        parameter: parameter.trim().to_owned(),
        value: value.trim().to_owned(),
        figure: None,
        reason: None,
    };
    Ok((calibration, Location::file(format!("--set {text}"))))
}

fn show(result: &RunResult, args: &SimArgs) -> Result<(), Failure> {
    if let Some(text) = formats::foreign(result, args.output_format) {
        return output::print(&text);
    }
    if args.run.json || args.output_format == Some(OutputFormat::Json) {
        return output::print_json(result);
    }
    let style = output::style();
    let mut text = lanemark_report::run_table(result, &style);
    if args.detail || result.tests.len() == 1 {
        for test in &result.tests {
            text += "\n";
            text += &lanemark_report::test_detail(result, test, &style);
        }
    }
    output::print(&text)?;
    if let (Target::Simulated(_), [first, _, ..], false) =
        (&result.target, result.tests.as_slice(), args.detail)
    {
        let slug = workload::slug(&first.test.name);
        eprintln!("hint: --detail, or {}:{slug}, shows where the time goes", result.workload.id);
    }
    Ok(())
}
