//! `lanemark drive --from`: fits a drive's model to measured results.

use lanemark_lab::results::{self, OutputFile};
use lanemark_lab::{Pool, settings};
use lanemark_predict::{FitInput, REQUESTS, WORK_MAX, fit};

use crate::args::DriveArgs;
use crate::model::library;
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::outlets::DRIVE;
use crate::output::progress::Progress;
use crate::output::provenance;

pub(crate) fn run(args: &DriveArgs) -> Result<CommandOutcome, Failure> {
    let mut library = library::open(&args.library)?;
    let fit_args = &args.fit;
    fit_args.host.add_to(&mut library)?;
    let measured_in = fit_args.platform.as_deref().unwrap_or_default();
    let full_name = fit_args.host.of_port(measured_in)?;
    let Some((platform, port)) = full_name.rsplit_once(':') else {
        let message = format!("--platform {measured_in}: expected PLATFORM:PORT");
        return Err(Failure::input(message).hint("for example --platform workstation-z170:m2"));
    };
    let out = OutputFile::open(&args.file()?, &DRIVE)?;
    let settings = settings(&fit_args.set)?;
    let load = |name: &String| Ok((name.clone(), results::load_run(name)?));
    let loaded = fit_args.from.iter().map(load).collect::<Result<Vec<_>, Failure>>()?;
    let job = FitInput {
        results: &loaded,
        platform,
        port,
        like: fit_args.like.as_deref(),
        settings: &settings,
        requests: REQUESTS,
        work_max: WORK_MAX,
        pool: Pool::default(),
        provenance: provenance::own_provenance(fit_args.seed),
        cancel: Default::default(),
    };
    let mut progress = Progress::new();
    let mut fitted =
        fit(&library, &job, &mut |stage| progress.keep_moving(&format!("fitting: {stage}")))?;
    drop(progress);
    fitted.drive.provenance.finished_at = results::now();
    out.write(&fitted.file(&args.name)?)?;
    if args.json {
        output::print_json(&fitted.drive)?;
    } else {
        output::print(&lanemark_report::fit_table(&fitted.drive, &output::style()))?;
    }
    tell!("wrote {}", out.path().display());
    Ok(CommandOutcome::Done)
}
