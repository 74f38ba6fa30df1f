//! `lanemark trial --database`: runs a database study with a real database, and compares the measured figures with the
//! simulated and the published figures.

use std::path::Path;

use lanemark_lab::results::OutputFile;
use lanemark_schema::result::Warning;
use lanemark_serve::clock::TimeScale;
use lanemark_study::Study;
use lanemark_trial::database::{DatabaseOutcome, DatabasePlan, DatabaseTrial};

use crate::args::TrialArgs;
use crate::emulate::database_table::TableInputs;
use crate::emulate::trial::draw;
use crate::model::library;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::outlets::LIVE;
use crate::output::progress::Progress;
use crate::output::saving::{Destination, ResultSaver};
use crate::output::{self, provenance, stop};

pub(crate) fn run(args: &TrialArgs, named: &Path) -> Result<CommandOutcome, Failure> {
    let stop = stop::on_signal();
    let library = library::open(&args.library)?;
    let study = Study::find(&library, named)?;
    let mut provenance = provenance::own_provenance(args.seed);
    provenance.inputs = library.used();
    let trial = DatabaseTrial::new(plan(args), study, &named.display().to_string(), &provenance)?;
    let saving = |name: &str| {
        let what = format!("oltp-live-{name}");
        ResultSaver::open(Destination::from_out(args.out.as_deref()), &what, &provenance.started_at)
    };
    // The saver that created the folder is dropped last, and removes the folder if it is empty.
    let [first, second] = trial.names();
    let second = saving(second)?;
    let first = saving(first)?;
    let table = OutputFile::open_if_given(args.database.csv.as_deref(), &LIVE)?;
    let mut progress = Progress::new();
    let outcome = trial.run(&provenance, &stop, &mut |event| draw(&mut progress, &event))?;
    drop(progress);
    let Some(outcome) = outcome else {
        tell!("interrupted before both systems completed a turn; nothing is saved");
        return Ok(CommandOutcome::Interrupted);
    };
    deliver(args, &outcome, &[first, second], table.as_ref())?;
    Ok(if outcome.is_complete { CommandOutcome::Done } else { CommandOutcome::Interrupted })
}

fn plan(args: &TrialArgs) -> DatabasePlan {
    DatabasePlan {
        is_short: args.database.short,
        turns: args.turns,
        ramp: args.database.ramp,
        duration: args.database.duration,
        warehouses: args.database.warehouses,
        divisor: args.database.scale,
        time_scale: args.time_scale.map(TimeScale::factor),
        seed: args.seed,
        folder: args.folder.clone(),
        library: args.library.library.clone(),
    }
}

/// Saves and prints the outcome.
fn deliver(
    args: &TrialArgs,
    outcome: &DatabaseOutcome,
    savings: &[ResultSaver; 2],
    csv: Option<&OutputFile>,
) -> Result<(), Failure> {
    let table = TableInputs { outcome, nodes: args.database.nodes };
    let saved: Vec<_> = savings
        .iter()
        .zip(&outcome.results)
        .filter_map(|(saving, result)| Some((saving, saving.save_run(result.as_ref()?))))
        .collect();
    let written = csv.map_or(Ok(()), |csv| csv.write(&table.csv()));
    if args.json {
        output::print(&table.json().to_string())?;
    } else {
        print_text(args, outcome, &table)?;
    }
    for (saving, saved) in saved {
        saving.report(saved)?;
    }
    written?;
    if let Some(csv) = csv {
        tell!("wrote {}", csv.path().display());
    }
    Ok(())
}

fn print_text(
    args: &TrialArgs,
    outcome: &DatabaseOutcome,
    table: &TableInputs<'_>,
) -> Result<(), Failure> {
    let style = output::style();
    output::print(&outcome.description)?;
    output::print(&table.text(&style))?;
    output::print(&lanemark_report::paragraph(&outcome.remarks, &style))?;
    if outcome.predicted.is_some() {
        let first = &outcome.sides[0].name;
        let remark = format!(
            "Predicted figures are simulated. Their workload is derived from {first}'s turns."
        );
        output::print(&lanemark_report::paragraph(&remark, &style))?;
    }
    let warnings = outcome.results.iter().flatten().flat_map(|result| &result.warnings);
    let warnings: Vec<&Warning> = warnings.collect();
    let is_stated: [fn(&&&Warning) -> bool; 2] = [
        |warning| matches!(warning, Warning::OthersBusy { .. }),
        |warning| matches!(warning, Warning::PageCache { .. }),
    ];
    for warning in is_stated.iter().filter_map(|is_this| warnings.iter().find(is_this)) {
        let advice = warning.advice().map_or(String::new(), |advice| format!("; {advice}"));
        output::print(&format!("Warning: {warning}{advice}."))?;
    }
    if args.database.short {
        output::print("This is a short run: its figures are meaningless.")?;
    }
    Ok(())
}
