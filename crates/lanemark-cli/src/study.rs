//! `lanemark study`: modelled systems held against published figures.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lanemark_core::result::{RunResult, StudyOutcome, Warning};
use lanemark_report::{bottlenecks, html, study_table};
use lanemark_study::Study;

use crate::args::StudyArgs;
use crate::failure::{Failure, Outcome};
use crate::messages::tell;
use crate::progress::Progress;
use crate::results::{Outlet, PAGE, Place};
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
    let place = Place::new(&args.run.out, &what, &provenance.started_at)?;
    let (json, bottleneck) = (args.run.json, args.bottleneck);
    let places = Arc::new(Places { place, page, measured, json, bottleneck });
    // A test may take longer than a signal waits.
    let so_far: Arc<Mutex<Option<StudyOutcome>>> = Arc::default();
    let (at_last, to) = (Arc::clone(&so_far), Arc::clone(&places));
    stop::at_end(move || to.deliver_so_far(kept(&at_last).take()));

    let mut progress = Progress::new();
    let total = study.cells();
    let mut done = 0;
    let mut outcome = study.run_shown(&provenance, &mut |outcome, _| {
        done += 1;
        progress.show(&format!("simulated {done} of {total} cells"));
        *kept(&so_far) = Some(outcome());
        !stop::requested(&stop)
    })?;
    if args.bottleneck {
        for (one, (_, system)) in outcome.systems.iter_mut().zip(study.systems()) {
            bottleneck::ask(&system.spec, &mut one.run, &mut progress, &stop)?;
        }
    }
    drop(progress);
    stop::ends_itself();
    places.deliver(&mut outcome)?;
    let complete = outcome.systems.iter().all(|system| system.run.complete);
    Ok(if complete { Outcome::Done } else { Outcome::Interrupted })
}

fn kept(so_far: &Mutex<Option<StudyOutcome>>) -> MutexGuard<'_, Option<StudyOutcome>> {
    so_far.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a study's outcome goes, and how it is shown.
struct Places {
    place: Place,
    page: Option<Outlet>,
    measured: Option<RunResult>,
    json: bool,
    bottleneck: bool,
}

impl Places {
    /// Files first; what cannot be saved is printed all the same.
    fn deliver(&self, outcome: &mut StudyOutcome) -> Result<(), Failure> {
        outcome.provenance.finished_at = results::now();
        let saved = self.place.save(outcome);
        let drawn = self.page.as_ref().map_or(Ok(()), |page| {
            let runs: Vec<&RunResult> = self.measured.iter().collect();
            page.write(&html(Some(outcome), &runs))
        });
        if self.json {
            output::print_json(outcome)?;
        } else {
            let style = output::style();
            output::print(&study_table(outcome, self.measured.as_ref(), &style))?;
            if self.bottleneck {
                let systems = outcome.systems.iter();
                let systems: Vec<_> = systems.map(|one| (one.label.as_str(), &one.run)).collect();
                output::print(&format!("\n{}", bottlenecks(&systems, &style)))?;
            }
        }
        saved?;
        tell!("saved {}", self.place.path().display());
        drawn?;
        if let Some(page) = &self.page {
            tell!("wrote {}", page.path().display());
        }
        Ok(())
    }

    /// Delivers what had ended when a signal came in the middle of a test.
    fn deliver_so_far(&self, so_far: Option<StudyOutcome>) {
        let Some(mut outcome) = so_far else {
            return tell!("interrupted before any test had ended; nothing is saved");
        };
        if let Some(last) = outcome.systems.last_mut() {
            last.run.complete = false;
            last.run.warnings.push(Warning::Interrupted);
        }
        if let Err(failure) = self.deliver(&mut outcome) {
            tell!("{failure}");
        }
    }
}
