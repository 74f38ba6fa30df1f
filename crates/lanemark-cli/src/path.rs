//! `lanemark path`: where a system's hops are, and what each can carry.

use lanemark_core::result::Provenance;
use lanemark_lab::interval::Subject;
use lanemark_lab::results::Outlet;
use lanemark_lab::{Lab, assemble, settings};
use lanemark_report::{path_svg, path_table};
use lanemark_study::{path, workload};

use crate::args::PathArgs;
use crate::failure::{Failure, Outcome};
use crate::messages::tell;
use crate::outlets::DRAWING;
use crate::{library, output};

pub(crate) fn run(args: &PathArgs) -> Result<Outcome, Failure> {
    let library = library::open(&args.library)?;
    let settings = settings(&args.set)?;
    let system = assemble(&library, &args.system, &settings)?;
    let mut workload = workload::open(&library, &args.workload)?;
    workload.repeats = 1;
    if workload.tests.len() > 1 {
        let names: Vec<String> =
            workload.tests.iter().map(|test| workload::slug(&test.name)).collect();
        return Err(Failure::input(format!("{}: has several tests", args.workload)).hint(format!(
            "name one: {}:{}",
            args.workload,
            names.join(", :")
        )));
    }
    let drawing = Outlet::of(args.svg.as_deref(), &DRAWING)?;
    let provenance = Provenance { seed: args.seed, ..Provenance::default() };
    let mut run = system.run(&workload, provenance)?;
    if !args.no_interval {
        let (library, name, settings) = (&library, args.system.as_str(), settings.as_slice());
        let subject = Subject { library, name, settings, ranges: &[] };
        Lab::default().add_intervals(&subject, &mut run)?;
    }
    let simulated = run.tests.first().map(|result| result.samples[0].throughput());
    let mut view = path::view(&system, &workload.tests[0], simulated);
    view.interval = run.tests.first().and_then(|result| result.interval.clone());
    if let Some(drawing) = &drawing {
        drawing.write(&path_svg(&view))?;
    }
    if args.json {
        output::print_json(&view)?;
    } else {
        output::print(&path_table(&view, &output::style()))?;
    }
    if let Some(drawing) = &drawing {
        tell!("wrote {}", drawing.path().display());
    }
    Ok(Outcome::Done)
}
