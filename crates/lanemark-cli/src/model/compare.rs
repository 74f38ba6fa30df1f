//! `lanemark compare`: two results test by test, two systems under the same work, a measurement and its prediction, or
//! systems in the order of their rates.

mod baseline;
mod options;
mod ranked;

use lanemark_lab::interval::DrawnSystem;
use lanemark_lab::whatif::{WhatIfQuestion, is_result};
use lanemark_lab::{LabRun, assemble, results};
use lanemark_report::{compare_runs, compare_table, database_compare_text};
use lanemark_schema::result::{RunResult, Target};
use lanemark_study::Library;
use options::{gated, lab, refuse_ranking_options, refuse_simulation_options};

use crate::args::CompareArgs;
use crate::model::library;
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::formats::with;
use crate::output::progress::LabProgressLine;
use crate::output::provenance;

pub(crate) fn run(args: &CompareArgs) -> Result<CommandOutcome, Failure> {
    if let Some(folder) = &args.baseline {
        refuse_ranking_options(args)?;
        return baseline::run(args, folder);
    }
    let mut library = library::open(&args.run.library)?;
    if args.systems.len() > 2 || !args.drives.is_empty() {
        args.host.add_to(&mut library)?;
        return ranked::run(args, &library);
    }
    refuse_ranking_options(args)?;
    let [from, to] =
        [args.systems.first(), args.systems.get(1)].map(|name| name.map(String::as_str));
    let from = from.unwrap_or_default();
    let kinds = (is_result(&library, from), to.is_some_and(|to| is_result(&library, to)));
    match (kinds, to) {
        ((true, true), Some(to)) => {
            refuse_simulation_options(args)?;
            let a = results::load_run(from)?;
            let b = results::load_run(to)?;
            show_results(args, (from, &a), (to, &b))
        }
        ((true, false), Some(to)) if args.model.is_none() && to.contains('@') => {
            let measured = results::load_run(from)?;
            if !matches!(measured.target, Target::Measured(_)) {
                return what_if(args, &mut library, from, Some(to));
            }
            let Some(predicted) = predict(args, &mut library, &measured, to)? else {
                return Ok(CommandOutcome::Interrupted);
            };
            show_results(args, (from, &measured), (to, &predicted))
        }
        ((false, true), Some(to)) => {
            let measured = results::load_run(to)?;
            let Some(predicted) = predict(args, &mut library, &measured, from)? else {
                return Ok(CommandOutcome::Interrupted);
            };
            show_results(args, (from, &predicted), (to, &measured))
        }
        (_, to) => what_if(args, &mut library, from, to),
    }
}

fn show_results(
    args: &CompareArgs,
    a: (&str, &RunResult),
    b: (&str, &RunResult),
) -> Result<CommandOutcome, Failure> {
    let compared = compare_runs(a, b);
    let decision = args.fail_if.map(|gate| gate.check_runs(&compared)).unwrap_or_default();
    if args.json {
        output::print_json(&compared)?;
        return Ok(gated(decision));
    }
    let style = output::style();
    let text = match database_compare_text(a.1, b.1, &style) {
        Some(text) => text,
        None => compare_table(a, b, args.detail, &style),
    };
    output::print(&text)?;
    Ok(gated(decision))
}

/// Predicts the tests of a measured run on the system `named`; returns `None` if the run is cancelled.
fn predict(
    args: &CompareArgs,
    library: &mut Library,
    measured: &RunResult,
    named: &str,
) -> Result<Option<RunResult>, Failure> {
    let options = [
        ("--queue-depth", args.queue_depth.is_some()),
        ("--fit", args.fit.is_some()),
        ("--workload", args.workload.is_some()),
        ("--force", args.force),
    ];
    if let Some((option, _)) = options.iter().find(|(_, is_given)| *is_given) {
        let message = format!("{option} does not apply to a measurement and its prediction");
        return Err(Failure::input(message).hint(
            "add --model DRIVE@PLATFORM:PORT to predict another system from the measurement",
        ));
    }
    args.host.add_to(library)?;
    let name = args.host.of_system(named)?;
    let settings = lanemark_lab::settings(&args.set)?;
    let system = assemble(library, &name, &settings)?;
    let mut workload = measured.workload.clone();
    workload.take_pages();
    workload.repeats = 1;
    let lab = lab(args);
    let mut line =
        LabProgressLine::new(lab.samples(&LabRun { system: &system, workload: &workload }));
    let provenance = provenance::own_provenance(args.run.seed);
    let watch = &mut |event: lanemark_lab::Event<'_>| line.draw(&event);
    let mut result = lab.run(&system, &workload, &provenance, watch)?;
    if !args.no_interval && result.complete {
        let subject = DrawnSystem { library, name: &name, settings: &settings, ranges: &[] };
        lab.add_intervals(&subject, &mut result, watch)?;
    }
    Ok(result.complete.then_some(result))
}

/// Runs the same work on two systems.
fn what_if(
    args: &CompareArgs,
    library: &mut Library,
    from: &str,
    to: Option<&str>,
) -> Result<CommandOutcome, Failure> {
    args.host.add_to(library)?;
    // For a measured result, `--model` states the system.
    let hosted = |system: &str| args.host.of_system(system);
    let from = if is_result(library, from) { from.to_owned() } else { hosted(from)? };
    let model = args.model.as_deref().map(hosted).transpose()?;
    let to = to.map(hosted).transpose()?;
    let question = WhatIfQuestion {
        from: &from,
        model: model.as_deref(),
        to: to.as_deref(),
        queue_depth: args.queue_depth,
        set: &args.set,
        fit: args.fit.as_deref(),
        workload: args.workload.as_deref(),
        intervals: !args.no_interval,
        is_forced: args.force,
        scale: args.run.scale.scale(),
        seed: args.run.seed,
    };
    let line = std::cell::RefCell::new(None);
    let begun = &mut |simulations| drop(line.replace(Some(LabProgressLine::new(simulations))));
    let outcome = lab(args).answer_what_if(library, &question, begun, &mut |event| {
        line.borrow_mut().iter_mut().for_each(|line| line.draw(&event));
    });
    drop(line);
    let Some(whatif) = outcome? else { return Ok(CommandOutcome::Interrupted) };
    let decision = args.fail_if.map(|gate| gate.check_systems(&whatif)).unwrap_or_default();
    if args.json {
        output::print_json(&whatif)?;
    } else {
        let style = output::style();
        let mut text = lanemark_report::whatif_text(&whatif, &style);
        if args.detail {
            text = with(text, &lanemark_report::whatif_evidence(&whatif, &style));
        }
        output::print(&text)?;
    }
    Ok(gated(decision))
}
