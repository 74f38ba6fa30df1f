//! `lanemark bench`: a workload on a real target.

use lanemark_core::result::{RunResult, SCHEMA_VERSION, Target};
use lanemark_core::units::Bytes;
use lanemark_core::workload::Workload;
use lanemark_measure::{Bench, Event, Outcome as Measured};

use crate::args::BenchArgs;
use crate::failure::{Failure, Outcome};
use crate::formats::OutputFormat;
use crate::progress::Progress;
use crate::sim::{save, scaled};
use crate::{formats, library, output, results, stop};

pub(crate) fn run(args: &BenchArgs) -> Result<Outcome, Failure> {
    let stop = stop::on_signal()?;
    let library = library::open(&args.run.library)?;
    let opened = formats::open(&library, &args.workload, formats::size_of(&args.path))?;
    // What the job file asks of the engine is in `opened.settings`; so far it is only told.
    opened.tell();
    let workload = scaled(opened.workload, &args.scale)?;
    let mut provenance = results::provenance(args.run.seed);
    provenance.inputs = library.used();
    provenance.inputs.extend(opened.input);
    let what = format!("bench-{}", workload.id);
    let place = results::Place::new(&args.run.out, &what, &provenance.started_at)?;
    let result_of = |measured: &Measured| RunResult {
        schema_version: SCHEMA_VERSION,
        provenance: provenance.clone(),
        target: Target::Measured(measured.target.clone()),
        workload: workload.clone(),
        tests: measured.tests.clone(),
        complete: measured.complete,
        warnings: measured.warnings.clone(),
    };

    let bench = Bench {
        path: &args.path,
        workload: &workload,
        seed: args.run.seed,
        overwrite: args.overwrite.as_deref(),
        stop: &stop,
    };
    let mut progress = Progress::new();
    let measured = bench.run(&mut |event| match event {
        Event::TestEnded { outcome } => {
            if let Err(failure) = save(&place, &mut result_of(outcome)) {
                progress.note(failure.to_string().trim_end());
            }
        }
        event => progress.show(&line(&event, &workload)),
    })?;
    drop(progress);
    let mut result = result_of(&measured);
    save(&place, &mut result)?;
    match formats::foreign(&result, args.output_format) {
        Some(text) => output::print(&text)?,
        None if args.run.json || args.output_format == Some(OutputFormat::Json) => {
            output::print_json(&result)?;
        }
        None => output::print(&lanemark_report::run_table(&result, &output::style()))?,
    }
    eprintln!("saved {}", place.path().display());
    Ok(if result.complete { Outcome::Done } else { Outcome::Interrupted })
}

/// What is going on, in a line.
fn line(event: &Event<'_>, workload: &Workload) -> String {
    match event {
        Event::LayingOut { done, total } => {
            format!("laying out random data: {} of {total}", rounded(*done))
        }
        Event::Running { test, index, repeat, elapsed, bytes, operations } => {
            let tests = workload.tests.len();
            let seconds = elapsed.as_seconds().max(1e-9);
            format!(
                "{}/{tests} {}, repeat {} of {}: {:.0} MB/s, {:.0} IOPS",
                index + 1,
                test.name,
                repeat + 1,
                workload.repeats,
                bytes.get() as f64 / 1e6 / seconds,
                *operations as f64 / seconds,
            )
        }
        Event::TestEnded { .. } => String::new(),
    }
}

/// To whole MiB, so that the line does not flicker.
fn rounded(bytes: Bytes) -> Bytes {
    Bytes(bytes.get() >> 20 << 20)
}
