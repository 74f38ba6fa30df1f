//! `lanemark inspect SYSTEM`: shows a system's hops and their ceilings, or a platform without drives.

use std::path::Path;

use lanemark_lab::interval::DrawnSystem;
use lanemark_lab::results::OutputFile;
use lanemark_lab::{Lab, assemble, settings};
use lanemark_report::{path_svg, path_table, platform_answer, platform_text};
use lanemark_schema::result::{ParameterOverride, PathLimit, Provenance, TestedPath};
use lanemark_study::library::LibraryKind;
use lanemark_study::{Library, Location, path, workload};

use crate::args::InspectArgs;
use crate::model::library::PlatformEntry;
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::outlets::DRAWING;
use crate::output::progress::LabProgressLine;
use crate::output::stop;

/// The default test.
const USUAL: &str = "iometer-128k-qd32:128kb-sequential-read";

/// Returns whether `target` names a modelled system or a platform instead of a device or a file of another tool.
pub(crate) fn is_modelled(library: &Library, target: &str) -> bool {
    let path = Path::new(target);
    let is_file = path.is_file();
    (target.contains('@') && !is_file)
        || (target.ends_with(".toml") && (is_file || !path.exists()))
        || library.names(LibraryKind::Platform).iter().any(|name| name == target)
}

/// Shows the modelled system or platform `name`.
pub(crate) fn run(
    args: &InspectArgs,
    library: &Library,
    name: &str,
) -> Result<CommandOutcome, Failure> {
    let of_machines =
        [("--capture", args.capture.is_some()), ("--as-platform", args.as_platform.is_some())];
    if let Some((option, _)) = of_machines.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::input(format!("{option} does not apply to a modelled system"))
            .hint("remove the option, or inspect a machine"));
    }
    let settings = settings(&args.set)?;
    if !name.contains('@') {
        return platform(args, library, name, &settings);
    }
    let lab = Lab { cancel: stop::on_signal().into(), ..Lab::default() };
    let system = assemble(library, name, &settings)?;
    let named = args.workload.as_deref().unwrap_or(USUAL);
    let mut workload = workload::open(library, named)?;
    workload.repeats = 1;
    if workload.tests.len() > 1 {
        let names: Vec<String> =
            workload.tests.iter().map(|test| workload::slug(&test.name)).collect();
        return Err(Failure::input(format!("{named} has several tests"))
            .hint(format!("name one: {named}:{}", names.join(", :"))));
    }
    let drawing = OutputFile::open_if_given(args.svg.as_deref(), &DRAWING)?;
    let provenance = Provenance { seed: args.seed, ..Provenance::default() };
    let mut line = LabProgressLine::new(1);
    let mut run = lab.run(&system, &workload, &provenance, &mut |event| line.draw(&event))?;
    if !run.complete {
        return Ok(CommandOutcome::Interrupted);
    }
    line.draw_losses();
    let loss = match run.tests.first() {
        Some(result) => lab.link_loss(&system, 0, result, args.seed)?,
        None => None,
    };
    if !args.no_interval {
        lab.add_intervals(
            &DrawnSystem { library, name, settings: settings.as_slice(), ranges: &[] },
            &mut run,
            &mut |event| line.draw(&event),
        )?;
    }
    drop(line);
    if lab.cancel.is_cancelled() {
        return Ok(CommandOutcome::Interrupted);
    }
    let result = run.tests.first();
    let simulated = result.map(|result| result.samples[0].throughput());
    let mut view = path::view(&system, &workload.tests[0], simulated);
    view.interval = result.and_then(|result| result.interval.clone());
    let sample = result.and_then(|result| result.samples.first());
    view.assumed = sample.and_then(|one| system.assumed_limit(&workload.tests[0], one));
    view.limit = result.and_then(PathLimit::from_result).map(|limit| PathLimit { loss, ..limit });
    deliver(args, drawing.as_ref(), &view)
}

/// Shows a platform with empty ports.
fn platform(
    args: &InspectArgs,
    library: &Library,
    name: &str,
    settings: &[(ParameterOverride, Location)],
) -> Result<CommandOutcome, Failure> {
    if args.workload.is_some() {
        return Err(Failure::input(format!("{name}: a test requires a drive in a port"))
            .hint("name a system, DRIVE@PLATFORM:PORT, or remove the test"));
    }
    let drawing = OutputFile::open_if_given(args.svg.as_deref(), &DRAWING)?;
    let platform = PlatformEntry::read(library, name, settings)?;
    let view = TestedPath {
        system: platform.name.clone(),
        test: "no drive in its ports".to_owned(),
        hops: Vec::new(),
        simulated: None,
        interval: None,
        topology: platform.topology.clone(),
        random_block_bytes: None,
        limit: None,
        assumed: None,
    };
    if let Some(drawing) = &drawing {
        drawing.write(&path_svg(&view))?;
    }
    if args.json {
        output::print_json(&platform)?;
    } else {
        let links = platform.shown_links();
        let ports = platform.shown_ports();
        let answer = platform_answer(&platform.name, &ports);
        let text = platform_text(&view.topology, &links, &ports, &output::style());
        output::print_sentence(&answer)?;
        output::print(&format!("\n{text}"))?;
    }
    report_written(drawing.as_ref());
    Ok(CommandOutcome::Done)
}

fn deliver(
    args: &InspectArgs,
    drawing: Option<&OutputFile>,
    view: &TestedPath,
) -> Result<CommandOutcome, Failure> {
    if let Some(drawing) = drawing {
        drawing.write(&path_svg(view))?;
    }
    if args.json {
        output::print_json(view)?;
    } else {
        output::print(&path_table(view, &output::style()))?;
    }
    report_written(drawing);
    Ok(CommandOutcome::Done)
}

fn report_written(drawing: Option<&OutputFile>) {
    if let Some(drawing) = drawing {
        tell!("wrote {}", drawing.path().display());
    }
}
