//! The storage paths of a real machine as text: a block per device, the limits found, and the files that were not read.
//!
//! A drawing shows the paths of all devices as one tree, because devices share hops. The rate of a link is computed
//! with the simulator's model; a rate is marked *raw* if only the overhead of the line code is subtracted.

mod diagram;
mod gaps;
mod steps;
mod tree;
mod words;

use std::collections::BTreeMap;

use lanemark_schema::result::{
    BlockDeviceKind, Finding, InspectedDevice, InspectedFinding, InspectedLink, Inspection,
    UnreadFile, UnreadReason,
};
use unicode_width::UnicodeWidthStr;

use crate::terminal::{Style, TerminalText, shorten, without_styles};
use crate::text::table::CellEmphasis;

pub use diagram::inspection_svg;

/// Maximum number of devices that a finding names individually.
const NAMED_MAX: usize = 6;
/// Maximum number of unread paths that are listed per reason.
const UNREAD_MAX: usize = 3;

/// Writes the devices of `inspection` with their paths, the findings with advice, and the files that were not read.
pub fn inspection_text(inspection: &Inspection, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.answer(&answer(inspection));
    let all: BTreeMap<&str, &InspectedDevice> =
        inspection.devices.iter().map(|device| (device.name.as_str(), device)).collect();
    for device in &inspection.devices {
        let name = shorten(&without_styles(&device.name), sheet.width() / 2);
        let room = sheet.width().saturating_sub(name.width() + 2);
        let description = shorten(&without_styles(&words::device(device)), room);
        sheet.line(&[
            (name, CellEmphasis::Strong),
            ("  ".to_owned(), CellEmphasis::Plain),
            (description, CellEmphasis::Plain),
        ]);
        tree::draw(&mut sheet, device, &all);
        sheet.blank();
    }
    write_findings(&mut sheet, inspection);
    if !inspection.unread.is_empty() {
        sheet.minor_paragraph(&unread(&inspection.unread));
    }
    if inspection.empty_skipped > 0 {
        let (count, verb) = match inspection.empty_skipped {
            1 => ("1 loop, RAM or compressed device".to_owned(), "is"),
            many => (format!("{many} loop, RAM or compressed devices"), "are"),
        };
        sheet.minor_paragraph(&format!("Not shown: {count} of size 0, which {verb} empty."));
    }
    sheet.finish()
}

/// Returns the answer of an inspection: the slowest link of a single drive, or the number of drives, and then the first
/// limit that was found.
fn answer(inspection: &Inspection) -> String {
    let drives: Vec<&InspectedDevice> =
        inspection.devices.iter().filter(|device| has_own_path(device)).collect();
    let (controllers, counted): (Vec<&InspectedDevice>, Vec<&InspectedDevice>) =
        drives.iter().partition(|device| device.is_of_unknown_drives());
    // Most USB controllers of a machine are without a drive.
    let controllers: Vec<&InspectedDevice> =
        controllers.into_iter().filter(|device| !device.name.starts_with("usb-")).collect();
    let subject = match counted.as_slice() {
        [] if !controllers.is_empty() => "No drive is shown".to_owned(),
        [] => match inspection.devices.len() {
            0 => return "There is no device to show.".to_owned(),
            1 => "1 device without links".to_owned(),
            count => format!("{count} devices without links"),
        },
        [drive] => {
            let model = drive.identity.full_name();
            let about = match (model.is_empty(), drive.size) {
                (false, _) => format!(" ({model})"),
                (true, Some(size)) => format!(" ({})", words::capacity(size)),
                (true, None) => String::new(),
            };
            format!("{}{about}{}", drive.name, slowest(drive))
        }
        several => format!("{} drives ({})", several.len(), join_names(several)),
    };
    let subject = match controllers.len() {
        0 => subject,
        1 => {
            format!(
                "{subject}, and 1 controller without a list of its drives ({})",
                join_names(&controllers)
            )
        }
        count => format!(
            "{subject}, and {count} controllers without lists of their drives ({})",
            join_names(&controllers)
        ),
    };
    let limits: Vec<&InspectedFinding> =
        inspection.findings.iter().filter(|finding| !finding.finding.is_note()).collect();
    let shared = inspection
        .findings
        .iter()
        .find(|found| matches!(found.finding, Finding::SharedUplink { .. }));
    if let (true, Some(shared)) = (limits.is_empty(), shared) {
        return format!("{subject}; a shared link limits them together: {}", finding(shared));
    }
    match limits.as_slice() {
        [] if drives.iter().any(|drive| !gaps::find_gaps(drive).is_empty()) => {
            format!("{subject}; no limit found, but not all links are known.")
        }
        [] => format!("{subject}; no limit found."),
        [only] => format!("{subject}; 1 limit found: {}", finding(only)),
        [first, ..] => {
            format!("{subject}; {} limits found, first {}", limits.len(), finding(first))
        }
    }
}

/// Returns `: its slowest link, PCIe 3.0 x4, carries 3938 MB/s`; empty if no rate is known.
fn slowest(drive: &InspectedDevice) -> String {
    let links = drive.paths.iter().flat_map(|path| &path.hops).filter_map(|hop| hop.link.as_ref());
    let rate = |link: &InspectedLink| link.usable().or(link.range().map(|(least, _)| least));
    let known = links.filter_map(|link| Some((link, rate(link)?)));
    known.min_by_key(|(_, rate)| rate.0).map_or(String::new(), |(link, rate)| {
        format!(": its slowest link, {}, carries {}", words::link(link), words::rate(rate))
    })
}

fn write_findings(sheet: &mut TerminalText, inspection: &Inspection) {
    for found in &inspection.findings {
        let (mark, ink) = if found.finding.is_note() {
            ("· ", CellEmphasis::Plain)
        } else {
            ("! ", CellEmphasis::Warning)
        };
        let text = finding(found);
        sheet.item(mark, &text, ink);
        sheet.item("  ", &format!("Advice: {}.", found.finding.advice()), CellEmphasis::Faint);
    }
    if inspection.findings.is_empty() {
        nothing_found(sheet, &inspection.devices);
    }
    for text in gaps::sentences(inspection) {
        sheet.paragraph(&text);
    }
    sheet.blank();
}

/// Names the devices without a limit, which are the devices for which both ends of every link are known.
fn nothing_found(sheet: &mut TerminalText, devices: &[InspectedDevice]) {
    let devices_with_path = || devices.iter().filter(|device| has_own_path(device));
    let known: Vec<&InspectedDevice> =
        devices_with_path().filter(|device| gaps::find_gaps(device).is_empty()).collect();
    if !known.is_empty() {
        let are_all_known = known.len() == devices_with_path().count();
        let devices = if are_all_known { "these devices".to_owned() } else { join_names(&known) };
        sheet.paragraph(&format!("No limits were found for {devices}."));
    }
    if devices_with_path().next().is_none() && !devices.is_empty() {
        sheet.paragraph("These devices do not have hardware to inspect.");
    }
}

/// Returns whether the links lead to the device itself, rather than to its components.
fn has_own_path(device: &InspectedDevice) -> bool {
    device.below.is_empty() && has_hardware(device)
}

/// Returns whether devices of this type are attached by links.
fn has_hardware(device: &InspectedDevice) -> bool {
    matches!(device.kind, BlockDeviceKind::Disk | BlockDeviceKind::NvmeNamespace { .. })
}

fn join_names(devices: &[&InspectedDevice]) -> String {
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    short_list(&names)
}

/// Returns a list such as `sda, sdb and 7 more`.
fn short_list(names: &[&str]) -> String {
    match names {
        few if few.len() <= NAMED_MAX => few.join(", "),
        many => format!("{} and {} more", many[..NAMED_MAX].join(", "), many.len() - NAMED_MAX),
    }
}

/// Formats a finding as `sda, sdb: text of the finding`.
fn finding(inspected_finding: &InspectedFinding) -> String {
    let names: Vec<&str> = inspected_finding.devices.iter().map(String::as_str).collect();
    format!("{}: {}.", short_list(&names), inspected_finding.finding)
}

/// Writes the files that were not read, by reason.
fn unread(unread: &[UnreadFile]) -> String {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for entry in unread {
        reasons.entry(reason(&entry.reason)).or_default().push(&entry.path);
    }
    let sentences: Vec<String> = reasons
        .into_iter()
        .map(|(reason, paths)| {
            let listed = paths[..paths.len().min(UNREAD_MAX)].join(", ");
            match paths.len().checked_sub(UNREAD_MAX) {
                Some(more @ 1..) => format!("{reason}: {listed} and {more} more."),
                _ => format!("{reason}: {listed}."),
            }
        })
        .collect();
    format!("Not read. {}", sentences.join(" "))
}

fn reason(reason: &UnreadReason) -> String {
    match reason {
        UnreadReason::Permission => "No permission".to_owned(),
        UnreadReason::Partly { bytes } => {
            format!("Only {bytes} bytes, as read without privileges (payload sizes are missing)")
        }
        UnreadReason::TooLong => "Too long".to_owned(),
        UnreadReason::NotText => "Not text".to_owned(),
        UnreadReason::Meaningless { value } => format!("Not understood, `{value}`"),
        UnreadReason::Outside => "A symbolic link that leads out of the tree".to_owned(),
        UnreadReason::LinkCycle => "Circular symbolic links".to_owned(),
        UnreadReason::Dangling => "A symbolic link without a target".to_owned(),
        UnreadReason::WrongKind => "Neither file nor folder".to_owned(),
        UnreadReason::TooMany => "Too many entries".to_owned(),
        UnreadReason::System { message } => message.clone(),
    }
}
