//! `lanemark study`: modelled systems held against published figures.

use lanemark_core::result::RunResult;
use lanemark_report::{bottlenecks, html, study_table};
use lanemark_study::Study;

use crate::args::StudyArgs;
use crate::failure::{Failure, Outcome};
use crate::messages::tell;
use crate::progress::Progress;
use crate::results::{Outlet, PAGE};
use crate::{bottleneck, library, output, results, stop};

pub(crate) fn run(args: &StudyArgs) -> Result<Outcome, Failure> {
    let stop = stop::on_signal();
    let library = library::open(&args.run.library)?;
    let study = Study::open(&library, &args.file)?;
    let measured: Option<RunResult> = match &args.measured {
        Some(path) => Some(results::load_run(&path.to_string_lossy())?),
        None => None,
    };
    let mut provenance = results::provenance(args.run.seed);
    provenance.inputs = library.used();
    let what = format!("study-{}", study.id());
    let page = Outlet::of(args.html.as_deref(), &PAGE)?;
    let place = results::Place::new(&args.run.out, &what, &provenance.started_at)?;

    let mut progress = Progress::new();
    let total = study.cells();
    let mut done = 0;
    let mut outcome = study.run(&provenance, &mut |_| {
        done += 1;
        progress.show(&format!("simulated {done} of {total} cells"));
        !stop::requested(&stop)
    })?;
    if args.bottleneck {
        for (one, (_, system)) in outcome.systems.iter_mut().zip(study.systems()) {
            bottleneck::ask(&system.spec, &mut one.run, &mut progress, &stop)?;
        }
    }
    drop(progress);
    outcome.provenance.finished_at = results::now();
    // Files first; what cannot be saved is printed all the same.
    let saved = place.save(&outcome);
    let drawn = page.as_ref().map_or(Ok(()), |page| {
        let runs: Vec<&RunResult> = measured.iter().collect();
        page.write(&html(Some(&outcome), &runs))
    });
    if args.run.json {
        output::print_json(&outcome)?;
    } else {
        let style = output::style();
        output::print(&study_table(&outcome, measured.as_ref(), &style))?;
        if args.bottleneck {
            let systems = outcome.systems.iter();
            let systems: Vec<_> = systems.map(|one| (one.label.as_str(), &one.run)).collect();
            output::print(&format!("\n{}", bottlenecks(&systems, &style)))?;
        }
    }
    saved?;
    tell!("saved {}", place.path().display());
    drawn?;
    if let Some(page) = &page {
        tell!("wrote {}", page.path().display());
    }
    let complete = outcome.systems.iter().all(|system| system.run.complete);
    Ok(if complete { Outcome::Done } else { Outcome::Interrupted })
}
