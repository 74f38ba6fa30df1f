//! Drives in another tool's list, each with the library drive of the same model.

use std::path::Path;

use lanemark_formats::drives::{self, DescribedDrive};
use lanemark_inspect::{InspectError, LspciProblem};
use lanemark_lab::input;
use lanemark_schema::text::shown;
use lanemark_study::Library;
use lanemark_study::model_names::{ModelMatches, drives_of};
use serde::Serialize;

use crate::args::InspectArgs;
use crate::model::library;
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};

/// A drive and the library drives of its model.
#[derive(Serialize)]
struct MatchedDrive<'d> {
    #[serde(flatten)]
    drive: &'d DescribedDrive,
    /// Drives of the same product line and capacity.
    library: Vec<String>,
    /// Drives of the same product line with a different capacity.
    library_other_capacity: Vec<String>,
}

/// Returns the file that the arguments name instead of a sysfs tree: a regular file or a pipe.
pub(super) fn file(args: &InspectArgs) -> Option<&Path> {
    let path = Path::new(args.target.as_deref()?);
    (input::is_piped(path) || path.is_file()).then_some(path)
}

/// Returns the failure for a text that is neither a list of drives nor lspci's output.
pub(super) fn refused(error: InspectError) -> Failure {
    match error {
        InspectError::Lspci { file, problem: LspciProblem::NotLspci } => {
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
    if !drives::is_ours(text) {
        return Ok(None);
    }
    let name = file.display().to_string();
    let listed = drives::read(text, &name)?;
    if args.svg.is_some() || args.as_platform.is_some() || args.workload.is_some() {
        let message = format!("{name} lists drives, but not the complete paths to them");
        return Err(Failure::input(message).hint(
            "--svg, --as-platform and --workload need a sysfs tree, a capture or lspci's output",
        ));
    }
    let library = library::open(&args.library)?;
    let found: Vec<MatchedDrive<'_>> =
        listed.iter().map(|drive| match_drive(&library, drive)).collect();
    if args.json {
        output::print_json(&found)?;
    } else {
        let mut blocks = vec![lead(&listed)];
        blocks.extend(found.iter().map(block));
        output::print(&blocks.join("\n"))?;
    }
    Ok(Some(CommandOutcome::Done))
}

fn match_drive<'d>(library: &Library, drive: &'d DescribedDrive) -> MatchedDrive<'d> {
    let model = drive.model.as_deref().unwrap_or_default();
    let ModelMatches { same, other_capacity } = drives_of(library, model, drive.size_bytes);
    MatchedDrive { drive, library: same, library_other_capacity: other_capacity }
}

/// Returns the answer in one line: what needs attention, and on which drive.
fn lead(drives: &[DescribedDrive]) -> String {
    let label = |drive: &DescribedDrive| {
        drive.model.clone().or_else(|| drive.name.clone()).unwrap_or_else(|| "the drive".to_owned())
    };
    let clauses: Vec<String> = drives
        .iter()
        .filter(|drive| !drive.findings.is_empty())
        .map(|drive| format!("{}: {}", label(drive), drive.findings.join(", ")))
        .collect();
    let answer = match (clauses.as_slice(), drives) {
        ([], [drive]) => {
            format!("{}: this text states nothing that needs attention.", label(drive))
        }
        ([], drives) => {
            format!("{} drives; this text states nothing that needs attention.", drives.len())
        }
        (clauses, _) => format!("{}.", clauses.join("; ")),
    };
    format!("{}\n", shown(&answer))
}

/// Returns the lines of a drive.
fn block(matched_drive: &MatchedDrive<'_>) -> String {
    let drive = matched_drive.drive;
    let name = drive.name.as_deref().unwrap_or("drive");
    let kind = drive.rotational.map(|rotational| if rotational { "HDD" } else { "SSD" });
    let size = drive.size_bytes.map(|bytes| format!("{:.1} GB", bytes as f64 / 1e9));
    let facts = [
        Some(drive.model.clone().unwrap_or_else(|| "model not stated".to_owned())),
        size,
        kind.map(str::to_owned),
        drive.transport.clone(),
        drive.firmware.as_ref().map(|firmware| format!("firmware {firmware}")),
        drive.temperature.map(|temperature| format!("{temperature:.0} °C")),
        drive.endurance_used.map(|used| format!("{used:.0}% of the endurance used")),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let mut lines = vec![format!("{name}: {}", facts.join(", "))];
    if !drive.pci.is_empty() {
        let address = |(address, rate): &(String, Option<f64>)| match rate {
            Some(rate) => format!("{address} ({rate:.2} GB/s)"),
            None => address.clone(),
        };
        let addresses: Vec<String> = drive.pci.iter().map(address).collect();
        lines.push(format!("  path: {}", addresses.join(", ")));
    }
    lines.push(
        match (matched_drive.library.as_slice(), matched_drive.library_other_capacity.as_slice()) {
            ([], []) if drive.model.is_none() => {
                "  library: without a model, no drive can be found; `lsblk -J -O` prints models".to_owned()
            }
            ([], []) => {
                "  library: no drive of this model; to create one from its ratings, use `lanemark drive`"
                    .to_owned()
            }
            ([], others) => {
                format!("  library: the same product line with a different capacity, {}", others.join(", "))
            }
            (same, _) => format!("  library: {}", same.join(", ")),
        },
    );
    lines.extend(drive.findings.iter().map(|finding| format!("  attention: {finding}")));
    lines.iter().map(|line| format!("{}\n", shown(line))).collect()
}
