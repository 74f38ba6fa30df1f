//! `lanemark whatif`: the same work on another path.

use lanemark_core::result::{Calibration, RunResult, Target};
use lanemark_lab::interval::Subject;
use lanemark_lab::results;
use lanemark_lab::whatif::fitted_ranges;
use lanemark_lab::{Lab, Side, WhatIfJob, assemble, settings};
use lanemark_study::Location;
use lanemark_study::system::SystemName;

use crate::args::WhatIfArgs;
use crate::failure::{Failure, Outcome};
use crate::progress::LabLine;
use crate::sim::scaled;
use crate::{formats, library, output};

pub(crate) fn run(args: &WhatIfArgs) -> Result<Outcome, Failure> {
    let library = library::open(&args.run.library)?;
    let from = From::read(args)?;
    let (other, set) = other(args, &from.system)?;
    let workload = match (&args.workload, &from.run) {
        (Some(name), _) => formats::open(&library, name, args.run.scale.size)?.workload,
        (None, Some(run)) => run.workload.clone(),
        (None, None) => formats::open(&library, "data-sheet", None)?.workload,
    };
    let mut now = scaled(workload, &args.run.scale)?;
    // Simulated repeats differ by their offsets alone.
    now.repeats = 1;
    let mut then = now.clone();
    if let Some(depth) = args.queue_depth {
        for test in &mut then.tests {
            let Some(requests) = test.requests_mut() else {
                let error = format!("--queue-depth: test `{}` is of transactions", test.name);
                return Err(Failure::input(error).hint("give another workload, or leave it out"));
            };
            requests.queue_depth = depth;
        }
    }
    // All that may be wrong is found before anything is simulated.
    let here = assemble(&library, &from.system, &[])?;
    let present = Side { name: from.system.clone(), system: here, workload: now };
    let there = assemble(&library, &other, &set)?;
    let mut other = Side { name: other, system: there, workload: then };
    present.check_places()?;
    other.check_places()?;
    let ranges = match &args.fit {
        Some(path) => fitted_ranges(&results::read_fit(path)?),
        None => Vec::new(),
    };
    let named = other.name.clone();
    // The fit is of the other system's drive, and of the present one's where it is the same.
    let same = drive_of(&from.system) == drive_of(&named);
    let of_present = if same { ranges.as_slice() } else { &[] };
    let subject = |name, settings, ranges| Subject { library: &library, name, settings, ranges };
    let subjects =
        [subject(&from.system, &[], of_present), subject(&named, set.as_slice(), &ranges)];
    if let Some(depth) = args.queue_depth {
        other.name += &format!(" at queue depth {depth}");
    }
    let cells = 2 * present.workload.tests.len();
    let measured = from.measured().map(|run| (args.from.as_str(), run));
    let subjects = (!args.no_interval).then_some(subjects);
    let job = WhatIfJob { present, other, subjects, measured, seed: args.run.seed };
    let mut line = LabLine::new("tests of both", cells);
    let whatif = Lab::default().what_if(&job, &mut |event| line.draw(&event))?;
    drop(line);
    let Some(whatif) = whatif else { return Ok(Outcome::Interrupted) };
    match args.json {
        true => output::print_json(&whatif)?,
        false => output::print(&lanemark_report::whatif_text(&whatif, &output::style()))?,
    }
    Ok(Outcome::Done)
}

/// The present system: by name, or with a result that it came from or stands for.
struct From {
    system: String,
    run: Option<RunResult>,
}

impl From {
    fn read(args: &WhatIfArgs) -> Result<Self, Failure> {
        let named = &args.from;
        if !named.ends_with(".json") && !named.contains(".json#") {
            return Ok(Self { system: named.clone(), run: None });
        }
        let run = results::load_run(named)?;
        let system = match (&run.target, &args.model) {
            (_, Some(model)) => model.clone(),
            (Target::Simulated(target), None) => target.system.clone(),
            (Target::Database(_), None) => {
                return Err(Failure::input(format!("{named}: is a run on a real database")).hint(
                    "`lanemark oltp workload` makes a workload of it, for systems of the simulator",
                ));
            }
            (Target::Measured(_), None) => {
                return Err(Failure::input(format!("{named}: was measured on a real drive"))
                    .hint("say which model stands for it, --model DRIVE@PLATFORM:PORT; lanemark fit makes one"));
            }
        };
        Ok(Self { system, run: Some(run) })
    }

    fn measured(&self) -> Option<&RunResult> {
        self.run.as_ref().filter(|run| matches!(run.target, Target::Measured(_)))
    }
}

/// Returns the drive of a system's name.
fn drive_of(system: &str) -> Option<&str> {
    system.split_once('@').map(|(drive, _)| drive)
}

/// The system with the changes of the command line: its name, and the values that are set otherwise.
fn other(
    args: &WhatIfArgs,
    present: &str,
) -> Result<(String, Vec<(Calibration, Location)>), Failure> {
    let parts = SystemName::parse(present)?;
    let drive = args.drive.clone().unwrap_or_else(|| parts.drive.clone());
    let platform = args.platform.clone().unwrap_or_else(|| parts.platform.clone());
    let port = match (&args.port, &args.platform) {
        (Some(port), _) => port.clone(),
        (None, None) => present.rsplit_once(':').map_or(String::new(), |(_, port)| port.to_owned()),
        (None, Some(_)) => {
            return Err(Failure::input("--platform: in which of its ports?")
                .hint("give --port; `lanemark library` lists them"));
        }
    };
    let set = settings(&args.set)?;
    let unchanged =
        args.drive.is_none() && args.platform.is_none() && args.port.is_none() && set.is_empty();
    if unchanged && args.queue_depth.is_none() {
        return Err(Failure::input("there is nothing else to compare with")
            .hint("give --port, --platform, --drive, --queue-depth or --set"));
    }
    Ok((format!("{drive}@{platform}:{port}"), set))
}
