//! The drives that another program's text describes, each with the library drives of the same model, and the paths to
//! drives in a text of lspci.

use std::path::Path;

use lanemark_formats::drives::{self, DescribedDrive};
use lanemark_formats::{FormatError, RecognisedFormat, recognise};
use lanemark_inspect::{InspectError, LspciProblem, Sysfs, inspect};
use lanemark_schema::result::Inspection;
use lanemark_schema::text::shown;
use lanemark_study::Library;
use lanemark_study::model_names::{ModelMatches, drives_of};
use serde::Serialize;

use crate::error::LabError;

/// A drive and the library drives of its model.
#[derive(Clone, Debug, Serialize)]
pub struct MatchedDrive {
    #[serde(flatten)]
    drive: DescribedDrive,
    /// Drives of the same product line and capacity.
    pub library: Vec<String>,
    /// Drives of the same product line with a different capacity.
    library_other_capacity: Vec<String>,
}

/// Returns the drives in a text of another program, or `None` for a text about something else. `name` is the name of
/// the text in errors.
///
/// # Errors
/// Returns the error of the text's reader.
pub fn described_drives(
    library: &Library,
    text: &str,
    name: &str,
) -> Option<Result<Vec<MatchedDrive>, FormatError>> {
    drives::is_ours(text).then(|| {
        let listed = drives::read(text, name)?;
        Ok(listed.into_iter().map(|drive| matched(library, drive)).collect())
    })
}

/// Returns the paths to the drives of the machine that a text of lspci describes, or `None` for a text about something
/// else. `name` is the name of the text in errors.
///
/// # Errors
/// Returns an error if the text of lspci does not contain a storage controller.
pub fn described_paths(text: &str, name: &str) -> Option<Result<Inspection, LabError>> {
    if matches!(recognise(text), RecognisedFormat::Result(_)) {
        return None;
    }
    match Sysfs::of_lspci(text, Path::new(name)).and_then(|sysfs| inspect(&sysfs, None)) {
        Err(InspectError::Lspci {
            problem: LspciProblem::NotLspci | LspciProblem::Empty, ..
        }) => None,
        inspected => Some(inspected.map_err(LabError::from)),
    }
}

/// Returns the answer, followed by the lines about each drive.
pub fn described_text(drives: &[MatchedDrive]) -> String {
    let lines = drives.iter().flat_map(lines);
    [answer(drives), String::new()].into_iter().chain(lines).map(|line| line + "\n").collect()
}

fn matched(library: &Library, drive: DescribedDrive) -> MatchedDrive {
    let model = drive.model.as_deref().unwrap_or_default();
    let ModelMatches { same, other_capacity } = drives_of(library, model, drive.size_bytes);
    MatchedDrive { drive, library: same, library_other_capacity: other_capacity }
}

/// Returns the answer in one line: what needs attention, and on which drive.
pub fn answer(drives: &[MatchedDrive]) -> String {
    let label = |drive: &DescribedDrive| {
        drive.model.clone().or_else(|| drive.name.clone()).unwrap_or_else(|| "the drive".to_owned())
    };
    let drives: Vec<&DescribedDrive> = drives.iter().map(|matched| &matched.drive).collect();
    let clauses: Vec<String> = drives
        .iter()
        .filter(|drive| !drive.findings.is_empty())
        .map(|drive| format!("{}: {}", label(drive), drive.findings.join(", ")))
        .collect();
    let answer = match (clauses.as_slice(), drives.as_slice()) {
        ([], [drive]) => {
            format!("{}: this text states nothing that needs attention.", label(drive))
        }
        ([], drives) => {
            format!("{} drives; this text states nothing that needs attention.", drives.len())
        }
        (clauses, _) => format!("{}.", clauses.join("; ")),
    };
    shown(&answer).into_owned()
}

/// Returns the lines about a drive.
fn lines(matched_drive: &MatchedDrive) -> Vec<String> {
    let drive = &matched_drive.drive;
    let name = drive.name.as_deref().unwrap_or("drive");
    let kind = drive.rotational.map(|rotational| if rotational { "HDD" } else { "SSD" });
    let size = drive.size_bytes.map(|bytes| format!("{} GB", (bytes as f64 / 1e8).round() / 10.0));
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
    lines.iter().map(|line| shown(line).into_owned()).collect()
}
