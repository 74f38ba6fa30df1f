//! `lanemark inspect`: shows the storage paths of this machine, or of a machine whose sysfs was captured, and the
//! drives in another tool's list.

mod described;

use std::path::Path;

use lanemark_inspect::{Sysfs, ceilings, inspect};
use lanemark_lab::reserved::ReservedName;
use lanemark_lab::results::OutputFile;
use lanemark_lab::{input, machine};
use lanemark_report::{ceilings_text, inspection_svg, inspection_text};
use lanemark_schema::result::{HopCeiling, Inspection};
use lanemark_study::library::LibraryKind;
use lanemark_study::processors::Processor;
use lanemark_study::{Location, StudyError, inspected, processors, workload};
use serde::Serialize;

use crate::args::InspectArgs;
use crate::model::{library, path};
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::outlets::{DRAWING, PLATFORM};

/// Maximum length of lspci's text; for a server with 500 functions, the text is 2 MB long.
const LSPCI_MAX: u64 = 64 << 20;

/// An inspection with the ceilings of its links for each test.
#[derive(Serialize)]
struct InspectionWithCeilings<'a> {
    inspection: &'a Inspection,
    ceilings: Vec<(String, Vec<HopCeiling>)>,
}

/// Writes the machine as a platform file, after checking that each of its ports accepts a drive.
fn write_platform(
    path: &Path,
    inspection: &Inspection,
    processors: Option<u32>,
    processor: Option<&Processor>,
) -> Result<(), Failure> {
    if path.extension().is_none_or(|extension| extension != "toml") {
        let message = format!("--as-platform {}: expected a .toml file", path.display());
        return Err(Failure::input(message));
    }
    let outlet = OutputFile::open(path, &PLATFORM)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let made = inspected::platform_file(inspection, &stem, processors)?;
    let text = match processor {
        Some(known) => known.added_to(&made.text, "speed"),
        None => made.text.clone(),
    };
    outlet.write(&text)?;
    processor.into_iter().for_each(|known| tell!("processor: {known}"));
    made.left_out.iter().for_each(|reason| tell!("note: device without a port: {reason}"));
    tell!("wrote {}; its ports: {}", path.display(), made.ports.join(", "));
    Ok(())
}

/// Returns the processor of this machine, if the inspected tree is its own and the processor's speed is known.
fn own_processor(args: &InspectArgs) -> Option<Processor> {
    let is_own = args.sysfs == Path::new("/sys") && described::file(args).is_none();
    processors::find(&lanemark_measure::machine().cpu).filter(|_| is_own)
}

/// Returns the sysfs tree to read.
fn sysfs(args: &InspectArgs) -> Result<Sysfs, Failure> {
    let tree = machine::tree(&args.sysfs)?;
    Ok(if args.capture.is_some() { tree.recording() } else { tree })
}

/// Reserves the name of a capture; no file may exist there.
fn capture_file(path: &Path) -> Result<ReservedName, Failure> {
    if path.extension().is_none_or(|extension| extension != "tar") {
        let message = format!("--capture {}: expected a .tar file", path.display());
        return Err(Failure::input(message));
    }
    if path.symlink_metadata().is_ok() {
        let message = format!("{} already exists", path.display());
        return Err(Failure::refused(message).hint("read it with --sysfs, or use a new name"));
    }
    // A capture contains serial numbers.
    Ok(ReservedName::exactly(path)?.for_this_user_only())
}

/// Writes a capture, after checking that an inspection of the capture shows the same devices.
fn write_capture(
    reserved: &ReservedName,
    captured: std::io::Result<Vec<u8>>,
    target: Option<&str>,
    inspection: &Inspection,
) -> Result<(), Failure> {
    let path = reserved.path();
    let to_failure = |error: &dyn std::fmt::Display| {
        Failure::run(format!("{}: can't be captured: {error}", path.display()))
    };
    let bytes = captured.map_err(|error| to_failure(&error))?;
    let again = Sysfs::of_capture(bytes.as_slice(), path)?;
    // A capture does not contain this machine's files, so the name of a path is replaced by its device.
    let named = target.and(inspection.target.as_deref());
    let again = inspect(&again, named)?;
    let same = again
        .devices
        .iter()
        .map(|device| &device.name)
        .eq(inspection.devices.iter().map(|device| &device.name));
    if !same {
        return Err(to_failure(&"the machine changed during the capture").hint("try again"));
    }
    reserved.write(&bytes)?;
    tell!("wrote {}, which contains the serial numbers of drives", path.display());
    Ok(())
}

/// Adds the most similar name of a platform to the error about a target that is neither a device nor a file.
fn no_device(args: &InspectArgs, failure: Failure) -> Failure {
    let Some(name) = args.target.as_deref().filter(|name| !name.contains('/')) else {
        return failure;
    };
    let Ok(library) = library::open(&args.library) else { return failure };
    let platforms = library.names(LibraryKind::Platform);
    let known = platforms.iter().map(String::as_str);
    let unknown = StudyError::unknown(Location::file("library"), "platform", name, known);
    match unknown.hint {
        Some(hint) if hint.starts_with("did you mean") => failure.hint(hint),
        _ => failure,
    }
}

/// Rejects options of modelled systems for a machine.
fn check_machine_options(args: &InspectArgs) -> Result<(), Failure> {
    let of_models = [("--set", !args.set.is_empty()), ("--no-interval", args.no_interval)];
    match of_models.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => {
            Err(Failure::input(format!("{option} applies only to a modelled system"))
                .hint("name a system, DRIVE@PLATFORM:PORT, or remove the option"))
        }
    }
}

pub(crate) fn run(args: &InspectArgs) -> Result<CommandOutcome, Failure> {
    if let Some(target) = &args.target {
        let library = library::open(&args.library)?;
        if path::is_modelled(&library, target) {
            return path::run(args, &library, target);
        }
        check_machine_options(args)?;
    }
    let drawing = OutputFile::open_if_given(args.svg.as_deref(), &DRAWING)?;
    let capture = args.capture.as_deref().map(capture_file).transpose()?;
    let listed = described::file(args);
    let target = args.target.as_deref().filter(|target| listed != Some(Path::new(*target)));
    let sysfs = match listed {
        None => sysfs(args)?,
        Some(file) => {
            let text = input::text(file, LSPCI_MAX)?;
            if let Some(outcome) = described::show(args, &text, file)? {
                return Ok(outcome);
            }
            Sysfs::of_lspci(&text, file).map_err(|error| described::refused(error, file))?
        }
    };
    let inspection = inspect(&sysfs, target).map_err(|error| no_device(args, error.into()))?;
    if let (Some(reserved), Some(captured)) = (&capture, sysfs.capture()) {
        write_capture(reserved, captured, target, &inspection)?;
    }
    if let Some(path) = &args.as_platform {
        write_platform(path, &inspection, sysfs.processors(), own_processor(args).as_ref())?;
    }
    if let Some(drawing) = &drawing {
        drawing.write(&inspection_svg(&inspection))?;
    }
    let tests = match &args.workload {
        Some(name) => workload::open(&library::open(&args.library)?, name)?.tests,
        None => Vec::new(),
    };
    let ceilings: Vec<(String, Vec<HopCeiling>)> =
        tests.iter().map(|test| (test.name.clone(), ceilings(&inspection, test))).collect();
    match (args.json, args.workload.is_some()) {
        (true, false) => output::print_json(&inspection)?,
        (true, true) => {
            output::print_json(&InspectionWithCeilings { inspection: &inspection, ceilings })?;
        }
        (false, _) => {
            let style = output::style();
            let mut text = inspection_text(&inspection, &style);
            for (test, hops) in &ceilings {
                text += "\n";
                text += &ceilings_text(test, hops, &style);
            }
            output::print(&text)?;
        }
    }
    if let Some(drawing) = &drawing {
        tell!("wrote {}", drawing.path().display());
    }
    Ok(CommandOutcome::Done)
}
