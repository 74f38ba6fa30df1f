//! The drives in another program's text.

use std::path::Path;

use lanemark_formats::drives;
use lanemark_inspect::{InspectError, LspciProblem};
use lanemark_lab::described::{described_drives, described_text};
use lanemark_lab::input;

use crate::args::InspectArgs;
use crate::model::library;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::{self, other_text};

/// Returns the file that the arguments name instead of a sysfs tree: a regular file or a pipe.
pub(super) fn file(args: &InspectArgs) -> Option<&Path> {
    let path = Path::new(args.target.as_deref()?);
    (input::is_piped(path) || path.is_file()).then_some(path)
}

/// Returns the failure for a text that is neither a list of drives nor lspci's output.
pub(super) fn refused(error: InspectError, path: &Path) -> Failure {
    match error {
        InspectError::Lspci { file, problem: LspciProblem::NotLspci } => {
            if let Some(failure) = other_text::failure(path) {
                return failure;
            }
            let message = format!("{}: no known text about drives or their paths", file.display());
            let folder = "to see the path to the disk that holds a file, name the file's folder";
            Failure::input(message).hint(format!("{}; {folder}", drives::HINT))
        }
        other => other.into(),
    }
}

/// Prints the drives in `text` if it is a list from another tool; otherwise returns `None`.
pub(super) fn show(
    args: &InspectArgs,
    text: &str,
    file: &Path,
) -> Result<Option<CommandOutcome>, Failure> {
    let name = file.display().to_string();
    let library = library::open(&args.library)?;
    let Some(listed) = described_drives(&library, text, &name) else { return Ok(None) };
    let listed = listed?;
    if args.svg.is_some() || args.as_platform.is_some() || args.workload.is_some() {
        let message = format!("{name} lists drives, but not the complete paths to them");
        return Err(Failure::input(message).hint(
            "--svg, --as-platform and --workload need a sysfs tree, a capture or lspci's output",
        ));
    }
    if args.json {
        output::print_json(&listed)?;
    } else {
        output::print(&described_text(&listed))?;
    }
    Ok(Some(CommandOutcome::Done))
}
