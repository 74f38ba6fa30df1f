//! `lanemark trial`: runs and times a user's program on several modelled systems in turn, and optionally cuts the
//! power.

use std::time::Duration;

use lanemark_files::removal::remove_tree;
use lanemark_lab::results::OutputFile;
use lanemark_report::{trial_answer, trial_text};
use lanemark_schema::result::{PowerCut, RunResult};
use lanemark_serve::clock::TimeScale;
use lanemark_study::system::SystemName;
use lanemark_trial::{Trial, TrialEvent, TrialPlan};
use serde_json::json;

use crate::args::TrialArgs;
use crate::emulate::database;
use crate::model::library;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::outlets::PAGE;
use crate::output::progress::Progress;
use crate::output::saving::{Destination, ResultSaver};
use crate::output::{self, provenance, stop};

/// Default number of turns per system.
const TURNS: u32 = 3;
/// Maximum time for the cleanup.
const END: Duration = Duration::from_secs(20);

pub(crate) fn run(args: &TrialArgs) -> Result<CommandOutcome, Failure> {
    if let Some(study) = &args.database.database {
        return database::run(args, study);
    }
    let stop = stop::on_signal();
    let library = library::open(&args.library)?;
    let trial = Trial::new(plan(args), &library)?;
    let mut provenance = provenance::own_provenance(args.seed);
    provenance.inputs = library.used();
    let page = OutputFile::open_if_given(args.html.as_deref(), &PAGE)?;
    let saving = |name: &String| {
        let drive = SystemName::parse(name)?.drive;
        let what = format!("trial-{}", drive.rsplit('/').next().unwrap_or("drive"));
        ResultSaver::open(Destination::from_out(args.out.as_deref()), &what, &provenance.started_at)
    };
    let savings = args.systems.iter().map(saving).collect::<Result<Vec<_>, _>>()?;
    let mut progress = Progress::new();
    let outcome = trial.run(&provenance, &stop, &mut |event| draw(&mut progress, &event))?;
    drop(progress);
    let Some(outcome) = outcome else {
        tell!("interrupted before each system completed a turn; nothing is saved");
        return Ok(CommandOutcome::Interrupted);
    };
    deliver(args, &outcome.results, &savings, page.as_ref())?;
    let cuts: Vec<&PowerCut> = outcome.results.iter().flat_map(|run| &run.power_cuts).collect();
    Ok(command_outcome(&cuts, outcome.is_complete))
}

fn plan(args: &TrialArgs) -> TrialPlan {
    TrialPlan {
        systems: args.systems.clone(),
        command: args.command.clone(),
        file_system: args.fs,
        mount_options: args.mount_options.clone(),
        from: args.from.clone(),
        size: args.size,
        turns: args.turns.unwrap_or(TURNS),
        time_scale: args.time_scale.map(TimeScale::factor),
        check: args.check.clone(),
        cuts: args.cuts,
        seed: args.seed,
        set: args.set.clone(),
        faults: args.fault.clone(),
        folder: args.folder.clone(),
        library: args.library.library.clone(),
        owns_process: true,
    }
}

/// Shows an event of a trial, and prepares the command for a signal during the trial.
pub(crate) fn draw(progress: &mut Progress, event: &TrialEvent<'_>) {
    match event {
        TrialEvent::FolderCreated(folder) => {
            stop::extend_patience(END);
            // A forced end does not drop values, so the folder is removed explicitly.
            let left = folder.to_path_buf();
            stop::at_end(move || drop(remove_tree(&left)));
        }
        TrialEvent::CleanUp => stop::ends_itself(),
        event if event.is_lasting() => progress.note(&event.to_string()),
        event => progress.show(&event.to_string()),
    }
}

/// Returns the end of the command. A loss takes precedence over an interruption, and an interruption over an unknown
/// outcome.
fn command_outcome(cuts: &[&PowerCut], is_complete: bool) -> CommandOutcome {
    if cuts.iter().any(|cut| cut.outcome.is_lost()) {
        CommandOutcome::Damaged
    } else if !is_complete {
        CommandOutcome::Interrupted
    } else if cuts.iter().any(|cut| cut.outcome.is_unknown()) {
        CommandOutcome::Unknown
    } else {
        CommandOutcome::Done
    }
}

/// Prints and saves the results.
fn deliver(
    args: &TrialArgs,
    results: &[RunResult],
    savings: &[ResultSaver],
    page: Option<&OutputFile>,
) -> Result<(), Failure> {
    let runs: Vec<&RunResult> = results.iter().collect();
    let saved: Vec<_> =
        savings.iter().zip(results).map(|(saving, run)| (saving, saving.save_run(run))).collect();
    let written = page.map_or(Ok(()), |page| page.write(&lanemark_report::html(None, &runs)));
    if args.json {
        output::print_json(&json!({ "answer": trial_answer(&runs), "runs": results }))?;
    } else {
        output::print(&trial_text(&runs, &output::style()))?;
    }
    for (saving, saved) in saved {
        saving.report(saved)?;
    }
    written?;
    if let Some(page) = page {
        tell!("wrote {}", page.path().display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::PowerCutOutcome;

    use super::*;

    #[test]
    fn a_loss_an_interruption_and_an_unknown_outcome_end_the_command_in_this_order() {
        let end = |outcomes: &[&PowerCutOutcome], complete: bool| {
            let cut = |outcome: &PowerCutOutcome| PowerCut {
                cut: 1,
                after_s: 0.0,
                finished_before: false,
                lost_writes: false,
                outcome: outcome.clone(),
            };
            let cuts: Vec<PowerCut> = outcomes.iter().map(|outcome| cut(outcome)).collect();
            command_outcome(&cuts.iter().collect::<Vec<_>>(), complete)
        };
        let lost = &PowerCutOutcome::Lost { output: String::new() };
        let unknown = &PowerCutOutcome::Unknown { cause: String::new() };
        let kept = &PowerCutOutcome::Kept;
        assert_eq!(end(&[], true), CommandOutcome::Done);
        assert_eq!(end(&[kept, kept], true), CommandOutcome::Done);
        assert_eq!(end(&[kept, unknown], true), CommandOutcome::Unknown);
        assert_eq!(end(&[unknown, lost], true), CommandOutcome::Damaged);
        for (outcome, wanted) in [
            (kept, CommandOutcome::Interrupted),
            (unknown, CommandOutcome::Interrupted),
            (lost, CommandOutcome::Damaged),
        ] {
            assert_eq!(end(&[outcome], false), wanted);
        }
    }
}
