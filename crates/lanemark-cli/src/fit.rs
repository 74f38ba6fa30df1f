//! `lanemark fit`: fits a drive's model to measured results.

use lanemark_lab::results::{self, OutputFile};
use lanemark_lab::{Pool, settings};
use lanemark_predict::{FitInput, REQUESTS, WORK_MAX, fit};

use crate::args::FitArgs;
use crate::failure::{CommandOutcome, Failure};
use crate::messages::tell;
use crate::outlets::DRIVE;
use crate::progress::Progress;
use crate::{library, output, provenance};

pub(crate) fn run(args: &FitArgs) -> Result<CommandOutcome, Failure> {
    let mut library = library::open(&args.library)?;
    args.host.add_to(&mut library)?;
    let full_name = args.host.of_port(&args.platform)?;
    let Some((platform, port)) = full_name.rsplit_once(':') else {
        let message = format!("--platform {}: expected PLATFORM:PORT", args.platform);
        return Err(Failure::input(message).hint("for example --platform workstation-z170:m2"));
    };
    let out = OutputFile::open_if_given(args.out.as_deref(), &DRIVE)?;
    let settings = settings(&args.set)?;
    let load = |name: &String| Ok((name.clone(), results::load_run(name)?));
    let loaded = args.results.iter().map(load).collect::<Result<Vec<_>, Failure>>()?;
    let job = FitInput {
        results: &loaded,
        platform,
        port,
        like: args.like.as_deref(),
        settings: &settings,
        requests: REQUESTS,
        work_max: WORK_MAX,
        pool: Pool::default(),
        provenance: provenance::own_provenance(args.seed),
        cancel: Default::default(),
    };
    let mut progress = Progress::new();
    let mut fitted =
        fit(&library, &job, &mut |stage| progress.keep_moving(&format!("fitting: {stage}")))?;
    drop(progress);
    fitted.drive.provenance.finished_at = results::now();
    if let Some(out) = &out {
        let name = out.path().file_stem().and_then(|stem| stem.to_str()).unwrap_or("fitted");
        out.write(&fitted.file(name)?)?;
    }
    if args.json {
        output::print_json(&fitted.drive)?;
    } else {
        output::print(&lanemark_report::fit_table(&fitted.drive, &output::style()))?;
    }
    if let Some(out) = &out {
        tell!("wrote {}", out.path().display());
    }
    Ok(CommandOutcome::Done)
}
