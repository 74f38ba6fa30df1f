//! `lanemark inspect`: the storage paths of this machine, or of one whose sysfs was captured.

use lanemark_inspect::{Sysfs, inspect};
use lanemark_report::{inspection_svg, inspection_text};

use crate::args::InspectArgs;
use crate::failure::{Failure, Outcome};
use crate::{output, results};

pub(crate) fn run(args: &InspectArgs) -> Result<Outcome, Failure> {
    let sysfs = Sysfs::open(&args.sysfs)?;
    let inspection = inspect(&sysfs, args.target.as_deref())?;
    if let Some(file) = &args.svg {
        results::write_drawing(file, &inspection_svg(&inspection))?;
    }
    if args.json {
        output::print_json(&inspection)?;
    } else {
        output::print(&inspection_text(&inspection, &output::style()))?;
    }
    if let Some(file) = &args.svg {
        eprintln!("wrote {}", file.display());
    }
    Ok(Outcome::Done)
}
