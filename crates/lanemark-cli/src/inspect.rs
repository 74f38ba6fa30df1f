//! `lanemark inspect`: the storage paths of this machine, or of one whose sysfs was captured.

use std::path::Path;

use lanemark_core::result::{HopCeiling, Inspection};
use lanemark_inspect::{Sysfs, ceilings, inspect};
use lanemark_lab::results::Outlet;
use lanemark_report::{ceilings_text, inspection_svg, inspection_text};
use lanemark_study::{inspected, workload};
use serde::Serialize;

use crate::args::InspectArgs;
use crate::failure::{Failure, Outcome};
use crate::messages::tell;
use crate::outlets::{DRAWING, PLATFORM};
use crate::{library, output};

/// An inspection with what its links can carry for each test.
#[derive(Serialize)]
struct WithCeilings<'a> {
    inspection: &'a Inspection,
    ceilings: Vec<(String, Vec<HopCeiling>)>,
}

/// Writes the machine as a platform file, once each of its ports is known to take a drive.
fn write_platform(
    path: &Path,
    inspection: &Inspection,
    processors: Option<u32>,
) -> Result<(), Failure> {
    if path.extension().is_none_or(|extension| extension != "toml") {
        let message = format!("--as-platform {}: a platform file ends in .toml", path.display());
        return Err(Failure::input(message));
    }
    let outlet = Outlet::open(path, &PLATFORM)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let made = inspected::platform_file(inspection, &stem, processors)?;
    outlet.write(&made.text)?;
    made.left_out.iter().for_each(|reason| tell!("note: without a port: {reason}"));
    tell!("wrote {}: ports {}", path.display(), made.ports.join(", "));
    Ok(())
}

pub(crate) fn run(args: &InspectArgs) -> Result<Outcome, Failure> {
    let drawing = Outlet::of(args.svg.as_deref(), &DRAWING)?;
    let sysfs = Sysfs::open(&args.sysfs)?;
    let inspection = inspect(&sysfs, args.target.as_deref())?;
    if let Some(path) = &args.as_platform {
        write_platform(path, &inspection, sysfs.processors())?;
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
        (true, true) => output::print_json(&WithCeilings { inspection: &inspection, ceilings })?,
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
    Ok(Outcome::Done)
}
