//! Drives in another tool's list, each with the library drive of the same model.

use std::path::Path;

use lanemark_formats::drives::{self, DescribedDrive};
use lanemark_lab::input;
use lanemark_schema::text::shown;
use lanemark_study::Library;
use lanemark_study::model_names::{ModelMatches, drives_of};
use serde::Serialize;

use crate::args::InspectArgs;
use crate::failure::{CommandOutcome, Failure};
use crate::{library, output};

/// Length of the beginning of a file that decides whether the file is a list.
const HEAD_MAX: u64 = 64 << 10;

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

/// Returns the file that the arguments name instead of a sysfs tree: the file of `--lspci`, or a target that is a list
/// from another tool.
pub(super) fn file(args: &InspectArgs) -> Option<&Path> {
    if let Some(file) = &args.lspci {
        return Some(file);
    }
    let path = Path::new(args.target.as_deref()?);
    if input::is_piped(path) {
        return Some(path);
    }
    let head = path.is_file().then(|| input::head(path, HEAD_MAX).ok())??;
    drives::is_ours(&String::from_utf8_lossy(&head)).then_some(path)
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
        output::print(&found.iter().map(block).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Some(CommandOutcome::Done))
}

fn match_drive<'d>(library: &Library, drive: &'d DescribedDrive) -> MatchedDrive<'d> {
    let model = drive.model.as_deref().unwrap_or_default();
    let ModelMatches { same, other_capacity } = drives_of(library, model, drive.size_bytes);
    MatchedDrive { drive, library: same, library_other_capacity: other_capacity }
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
            ([], []) => {
                "  library: no drive of this model; to create one from its ratings, use `lanemark drive new`"
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
