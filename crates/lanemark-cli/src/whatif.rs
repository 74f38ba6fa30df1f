//! `lanemark whatif`: the same work on another path.

use lanemark_core::result::{
    Calibration, FittedDrive, Outlook, RunResult, Standing, Target, WhatIf, WhatIfTest,
};
use lanemark_core::workload::Workload;
use lanemark_study::system::{NamedAt, SystemName};
use lanemark_study::{Library, Location, System};

use crate::args::WhatIfArgs;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::sim::{scaled, setting};
use crate::{formats, library, output, results};

/// A system as its parts, and values that are set otherwise.
struct Named {
    name: String,
    set: Vec<(Calibration, Location)>,
}

pub(crate) fn run(args: &WhatIfArgs) -> Result<Outcome, Failure> {
    let library = library::open(&args.library)?;
    let from = From::read(args)?;
    let present = Named { name: from.system.clone(), set: Vec::new() };
    let other = other(args, &present.name)?;
    let workload = match (&args.workload, &from.run) {
        (Some(name), _) => formats::open(&library, name, args.scale.size)?.workload,
        (None, Some(run)) => run.workload.clone(),
        (None, None) => formats::open(&library, "data-sheet", None)?.workload,
    };
    let mut now = scaled(workload, &args.scale)?;
    // Simulated repeats differ by their offsets alone.
    now.repeats = 1;
    let mut then = now.clone();
    if let Some(depth) = args.queue_depth {
        then.tests.iter_mut().for_each(|test| test.queue_depth = depth);
    }
    // All that may be wrong is found before anything is simulated.
    let here = assemble(&library, &present)?;
    let there = assemble(&library, &other)?;
    check_places(&here, &present.name, &now)?;
    check_places(&there, &other.name, &then)?;
    let ends = match &args.fit {
        Some(path) => ends(&library, &other, &results::read_fit(path)?)?,
        None => Vec::new(),
    };
    let mut progress = Progress::new();
    progress.show("simulating both");
    let before = simulate(&here, &now, args.seed)?;
    let after = simulate(&there, &then, args.seed)?;
    let mut tests = Vec::new();
    for (one, two) in before.tests.iter().zip(&after.tests) {
        let measured = from.measured();
        let measured = measured.and_then(|run| run.test(&one.test.name));
        tests.push(WhatIfTest {
            test: one.test.name.clone(),
            measured: measured.map(Outlook::of),
            present: Outlook::of(one),
            other: Outlook::of(two),
            uncertainty: None,
        });
    }
    if args.fit.is_some() {
        let spread = uncertainty(&after, &ends, &then, args.seed, &mut progress)?;
        for (test, off) in tests.iter_mut().zip(spread) {
            test.uncertainty = Some(off);
        }
    }
    drop(progress);
    let depth = args.queue_depth.map_or(String::new(), |depth| format!(" at queue depth {depth}"));
    let whatif = WhatIf {
        present: present.name,
        other: other.name + &depth,
        measured: from.measured().and(Some(args.from.clone())),
        tests,
    };
    match args.json {
        true => output::print_json(&whatif)?,
        false => output::print(&lanemark_report::whatif_text(&whatif, &output::style()))?,
    }
    Ok(Outcome::Done)
}

/// What there is: a system, or a result with the system that it came from or stands for.
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

/// The system with the changes of the command line.
fn other(args: &WhatIfArgs, present: &str) -> Result<Named, Failure> {
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
    let set = args.set.iter().map(|text| setting(text)).collect::<Result<Vec<_>, _>>()?;
    let unchanged =
        args.drive.is_none() && args.platform.is_none() && args.port.is_none() && set.is_empty();
    if unchanged && args.queue_depth.is_none() {
        return Err(Failure::input("there is nothing else to compare with")
            .hint("give --port, --platform, --drive, --queue-depth or --set"));
    }
    Ok(Named { name: format!("{drive}@{platform}:{port}"), set })
}

fn assemble(library: &Library, system: &Named) -> Result<System, Failure> {
    let parts = SystemName::parse(&system.name)?;
    let named_at = NamedAt::all(&Location::file(&system.name));
    Ok(System::assemble(library, &parts, &named_at, &system.name, &system.set)?)
}

/// Refuses tests that reach beyond what they run on.
fn check_places(system: &System, name: &str, workload: &Workload) -> Result<(), Failure> {
    let capacity = system.spec.capacities().into_iter().min().unwrap_or_default();
    let Some(test) = workload.tests.iter().find(|test| test.end() > capacity) else {
        return Ok(());
    };
    let (end, name) = (test.end(), name.to_owned());
    Err(Failure::input(format!("{name}: test `{}` reaches to {end} of {capacity}", test.name))
        .hint("use a smaller --size"))
}

fn simulate(system: &System, workload: &Workload, seed: u64) -> Result<RunResult, Failure> {
    Ok(system.run(workload, results::provenance(seed), &mut |_| true)?)
}

/// A fitted value with the systems that have it at either end of its interval.
type Ends = (String, [System; 2]);

/// The other system with each fitted value that is known at both of its ends, one at a time.
fn ends(library: &Library, other: &Named, fit: &FittedDrive) -> Result<Vec<Ends>, Failure> {
    let mut all = Vec::new();
    let known = fit.parameters.iter().filter(|one| one.standing == Standing::Identified);
    for parameter in known {
        let Some((low, high)) = &parameter.interval_95 else { continue };
        let at = |end: &str| {
            let mut set = other.set.clone();
            set.push(setting(&format!("{}={end}", parameter.parameter))?);
            assemble(library, &Named { name: other.name.clone(), set })
        };
        all.push((parameter.parameter.clone(), [at(low)?, at(high)?]));
    }
    Ok(all)
}

/// How far each test may be off: every fitted value at both ends of its interval, one at a time, and the greater of both
/// deviations added in squares.
fn uncertainty(
    base: &RunResult,
    ends: &[Ends],
    workload: &Workload,
    seed: u64,
    progress: &mut Progress,
) -> Result<Vec<f64>, Failure> {
    let mut squares = vec![0.0; base.tests.len()];
    for (parameter, systems) in ends {
        progress.show(&format!("at both ends of {parameter}"));
        let mut worst = vec![0.0f64; squares.len()];
        for system in systems {
            let run = simulate(system, workload, seed)?;
            for ((off, one), was) in worst.iter_mut().zip(&run.tests).zip(&base.tests) {
                let rate = |test: &lanemark_core::result::TestResult| {
                    test.throughput_bytes_per_second.value
                };
                *off = off.max((rate(one) / rate(was) - 1.0).abs());
            }
        }
        squares.iter_mut().zip(worst).for_each(|(sum, off)| *sum += off * off);
    }
    Ok(squares.into_iter().map(f64::sqrt).collect())
}
