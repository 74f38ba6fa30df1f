//! `lanemark study`: compares modelled systems with published figures.

use lanemark_lab::results::{self, OutputFile};
use lanemark_lab::study::AdditionalResults;
use lanemark_lab::{Lab, LabRun, RunLength};
use lanemark_report::{bottlenecks, html, study_table};
use lanemark_schema::result::RunResult;
use lanemark_study::Study;

use crate::args::StudyArgs;
use crate::model::library;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::outlets::PAGE;
use crate::output::progress::LabProgressLine;
use crate::output::saving::ResultSaver;
use crate::output::{self, provenance, stop};

pub(crate) fn run(args: &StudyArgs) -> Result<CommandOutcome, Failure> {
    let length = RunLength::from_full(args.full);
    let lab = Lab {
        cancel: stop::on_signal().into(),
        length,
        memory: args.memory.memory,
        ..Lab::default()
    };
    let library = library::open(&args.run.library)?;
    let study = Study::find(&library, &args.file)?;
    let measured: Option<RunResult> = match &args.measured {
        Some(path) => Some(results::load_run(&path.to_string_lossy())?),
        None => None,
    };
    let mut provenance = provenance::own_provenance(args.run.seed);
    provenance.inputs = library.used();
    let what = format!("study-{}", study.id());
    let page = OutputFile::open_if_given(args.html.as_deref(), &PAGE)?;
    let saving = ResultSaver::open(args.run.save.destination(), &what, &provenance.started_at)?;

    let systems = study.systems().count();
    let simulations = study
        .systems()
        .map(|(_, system, workload)| lab.samples(&LabRun { system, workload }))
        .sum();
    let mut line = LabProgressLine::new(simulations);
    let watch = &mut |event: lanemark_lab::Event<'_>| line.draw(&event);
    let intervals = (!args.no_interval).then_some(&library);
    let extras = AdditionalResults { bottleneck: args.bottleneck, intervals };
    let mut outcome = lab.study(&study, &provenance, extras, watch)?;
    drop(line);
    if outcome.systems.is_empty() && lab.cancel.is_cancelled() {
        tell!("interrupted before a test was complete; nothing is saved");
        return Ok(CommandOutcome::Interrupted);
    }
    // Files are written first; the outcome is printed even if saving fails.
    outcome.provenance.finished_at = results::now();
    let saved = saving.save_study(&outcome);
    let drawn = page.as_ref().map_or(Ok(()), |page| {
        let runs: Vec<&RunResult> = measured.iter().collect();
        page.write(&html(Some(&outcome), &runs))
    });
    if args.run.json {
        output::print_json(&outcome)?;
    } else {
        let style = output::style();
        output::print(&study_table(&outcome, measured.as_ref(), args.explain, &style))?;
        if args.bottleneck {
            let systems = outcome.systems.iter();
            let systems: Vec<_> =
                systems.map(|system| (system.label.as_str(), &system.run)).collect();
            output::print(&format!("\n{}", bottlenecks(&systems, &style)))?;
        }
    }
    saving.report(saved)?;
    drawn?;
    if let Some(page) = &page {
        tell!("wrote {}", page.path().display());
    }
    let complete = outcome.systems.len() == systems
        && outcome.systems.iter().all(|system| system.run.complete);
    Ok(if complete { CommandOutcome::Done } else { CommandOutcome::Interrupted })
}
