//! `lanemark sim`: runs a workload on a modelled system.

use lanemark_lab::interval::DrawnSystem;
use lanemark_lab::scale::{faults, scaled_workload, with_series_settings};
use lanemark_lab::{Event, Lab, LabRun, RunLength, assemble, opened, settings};
use lanemark_schema::result::{RunResult, Target};
use lanemark_study::system::SystemName;
use lanemark_study::{Location, workload};

use crate::args::{SimArgs, trace_file};
use crate::model::{library, replay};
use crate::output::delivery::ResultDelivery;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::formats::RequestedSections;
use crate::output::messages::tell;
use crate::output::progress::LabProgressLine;
use crate::output::{formats, provenance, stop};

pub(crate) fn run(args: &SimArgs) -> Result<CommandOutcome, Failure> {
    let length = RunLength::from_full(args.full);
    let lab = Lab {
        cancel: stop::on_signal().into(),
        length,
        memory: args.memory.memory,
        ..Lab::default()
    };
    let mut library = library::open(&args.run.library)?;
    args.host.add_to(&mut library)?;
    let settings = settings(&args.set)?;
    let system_name = args.host.of_system(&args.system)?;
    let system = assemble(&library, &system_name, &settings)?;
    if let Some(trace) = args.workload.as_deref().and_then(|name| trace_file(&library, name)) {
        return replay::run(args, &library, &system, trace);
    }
    args.trace
        .refuse_without_trace(&[("--as-one", args.as_one), ("--filled", args.filled.is_some())])?;
    let named = args.command.workload(args.workload.as_deref())?;
    let scale = args.scale.scale();
    let mut opened = opened::open_simulated(&library, &named, &scale, system.capacity())?;
    let assumed = opened.simulate();
    formats::tell_notes(&opened);
    let workload = scaled_workload(opened.workload, &scale)?;
    let mut workload = with_series_settings(workload, &args.over_time.over_time())?;
    workload.faults.extend(faults(&args.fault)?);
    system.with_faults(&workload.faults, &Location::file("--fault"))?;
    let mut provenance = provenance::own_provenance(args.run.seed);
    provenance.name.clone_from(&args.name.name);
    provenance.inputs = library.used();
    provenance.inputs.extend(opened.input);
    let drive = SystemName::parse(&args.system)?.drive;
    let what = format!("sim-{}-{}", workload.id, drive.rsplit('/').next().unwrap_or("drive"));
    let json = args.run.json;
    let format = args.format;
    let detail = args.detail;
    let evidence = args.explain;
    let printer = move |result: &RunResult| {
        let detail = detail || result.tests.len() == 1;
        formats::result_text(result, json, format, RequestedSections { detail, evidence })
    };
    let out = args.run.save.destination();
    let files = args.over_time.files();
    let delivery = ResultDelivery::open(out, &what, &provenance.started_at, files, printer)?;

    let work = LabRun { system: &system, workload: &workload };
    let mut line = LabProgressLine::new(lab.samples(&work));
    let mut result = lab.run(&system, &workload, &provenance, &mut |event| {
        line.draw(&event);
        if let Event::TestEnded { so_far, .. } = event
            && let Some(failed) = delivery.save_on_the_way(&mut so_far())
        {
            line.note(&failed);
        }
    })?;
    result.warnings.extend(assumed);
    if result.tests.is_empty() && !result.complete {
        drop(line);
        delivery.deliver_nothing();
        return Ok(CommandOutcome::Interrupted);
    }
    if args.bottleneck && result.complete {
        lab.add_sensitivity(&system.spec, &mut result, &mut |event| line.draw(&event))?;
    }
    if !args.no_interval && result.complete {
        lab.add_intervals(
            &DrawnSystem {
                library: &library,
                name: system_name.as_str(),
                settings: settings.as_slice(),
                ranges: &[],
            },
            &mut result,
            &mut |event| line.draw(&event),
        )?;
    }
    drop(line);
    delivery.deliver(&mut result)?;
    if let (Target::Simulated(_), [first, _, ..], None, false, false) =
        (&result.target, result.tests.as_slice(), format, json, detail)
    {
        let slug = workload::slug(&first.test.name);
        tell!(
            "hint: to show the time budget, use --detail or select the test {}:{slug}",
            result.workload.id
        );
    }
    Ok(if result.complete { CommandOutcome::Done } else { CommandOutcome::Interrupted })
}
