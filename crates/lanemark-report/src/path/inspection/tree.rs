//! The path of a device in a terminal: one line per hop, each indented further than the previous one, with the hop's
//! link on the branch.
//!
//! A link is drawn as a double line, `═`. A hop that is part of the previous hop is connected by a single line.

use std::collections::{BTreeMap, BTreeSet};

use lanemark_schema::result::{InspectedDevice, InspectedPath};
use unicode_width::UnicodeWidthStr;

use super::steps::{PathStep, steps};
use super::words;
use crate::terminal::{TerminalText, shorten, without_styles, wrap};
use crate::text::table::CellEmphasis;

/// Maximum depth of nested devices.
const DEPTH_MAX: usize = 12;
/// Maximum number of lines for the components of a device.
const BELOW_MAX: usize = 200;
/// Minimum width of the text, regardless of the depth.
const ROOM_MIN: usize = 24;
/// Maximum number of partitions that are shown per device.
const PARTITIONS_MAX: usize = 16;

/// Draws the paths to `device`, or its components if it does not have a path, and then its partitions.
pub(super) fn draw<'a>(
    sheet: &mut TerminalText,
    device: &'a InspectedDevice,
    all: &'a BTreeMap<&'a str, &'a InspectedDevice>,
) {
    for (index, path) in device.paths.iter().enumerate() {
        draw_path(sheet, device, path, index + 1 == device.paths.len());
    }
    if device.paths.is_empty() {
        let limits = words::queue(&device.queue);
        if !limits.is_empty() {
            sheet.item("", &limits, CellEmphasis::Faint);
        }
        let mut lower_device = ComponentTree { all, followed: BTreeSet::new(), lines: BELOW_MAX };
        lower_device.draw(sheet, device, "", 0);
        draw_partitions(sheet, device, 0);
    }
}

fn draw_path(sheet: &mut TerminalText, device: &InspectedDevice, path: &InspectedPath, last: bool) {
    let node = path.hops.iter().find_map(|hop| hop.numa_node);
    let start = words::joined(&[
        "CPU".to_owned(),
        node.map_or(String::new(), |node| format!("NUMA node {node}")),
        path.name.clone().unwrap_or_default(),
        path.state.clone().unwrap_or_default(),
    ]);
    sheet.item("", &start, CellEmphasis::Plain);
    // If there are several paths, the limits of the device appear once, at the last path.
    let limits = if last { words::queue(&device.queue) } else { String::new() };
    let lines = steps(device, path, limits);
    let end = lines.len() - 1;
    for (depth, line) in lines.iter().enumerate() {
        draw_line(sheet, line, depth, depth == end);
    }
    if last {
        draw_partitions(sheet, device, lines.len());
    }
}

fn draw_line(sheet: &mut TerminalText, line: &PathStep<'_>, depth: usize, strong: bool) {
    let branch = match line.link {
        Some(link) => format!("└═ {} ═ ", without_styles(&words::link_with_rate(link))),
        None => "└─ ".to_owned(),
    };
    // A path may be deeper than a line is wide.
    let width = sheet.width();
    let indent = (3 * depth).min(width.saturating_sub(ROOM_MIN + branch.width()));
    let name = without_styles(&line.name);
    let name = shorten(&name, width.saturating_sub(indent + branch.width()).max(8));
    let used = indent + branch.width() + name.width() + 1;
    let name_ink = if strong { CellEmphasis::Strong } else { CellEmphasis::Plain };
    let head = vec![
        (" ".repeat(indent), CellEmphasis::Faint),
        (branch, CellEmphasis::Faint),
        (name, name_ink),
    ];
    let words = without_styles(&line.words);
    let gap = if strong { "  " } else { " " };
    if used + gap.len() + ROOM_MIN.min(words.width()) > width {
        sheet.line(&head);
        let room = width.saturating_sub(indent + 3).max(ROOM_MIN);
        for text in wrap(&words, room).iter().filter(|text| !text.is_empty()) {
            sheet.line(&[
                (" ".repeat(indent + 3), CellEmphasis::Faint),
                (text.clone(), CellEmphasis::Faint),
            ]);
        }
        return;
    }
    let room = width - used - gap.len() + 1;
    let mut pieces = head;
    for (index, text) in wrap(&words, room).into_iter().enumerate() {
        if index > 0 {
            pieces = vec![(" ".repeat(used + gap.len() - 1), CellEmphasis::Faint)];
        } else {
            pieces.push((gap.to_owned(), CellEmphasis::Faint));
        }
        pieces.push((text, CellEmphasis::Faint));
        sheet.line(&pieces);
    }
}

fn draw_partitions(sheet: &mut TerminalText, device: &InspectedDevice, depth: usize) {
    let count = device.partitions.len();
    let listed = &device.partitions[..count.min(PARTITIONS_MAX)];
    let indent = " ".repeat((3 * depth).min(sheet.width() / 2));
    for (index, partition) in listed.iter().enumerate() {
        let last = index + 1 == count;
        let size = partition.size.map(|size| format!("  {}", words::capacity(size)));
        let branch = if last { "└─ " } else { "├─ " };
        let room = sheet.width().saturating_sub(indent.width() + 16);
        sheet.line(&[
            (format!("{indent}{branch}"), CellEmphasis::Faint),
            (shorten(&without_styles(&partition.name), room), CellEmphasis::Plain),
            (size.unwrap_or_default(), CellEmphasis::Faint),
        ]);
    }
    if count > listed.len() {
        let rest = format!("{indent}└─ and {} more", count - listed.len());
        sheet.line(&[(rest, CellEmphasis::Faint)]);
    }
}

/// The components of a device, as drawn so far.
struct ComponentTree<'a> {
    all: &'a BTreeMap<&'a str, &'a InspectedDevice>,
    /// Devices that were already followed; a device that contains itself would otherwise cause an endless loop.
    followed: BTreeSet<&'a str>,
    /// Number of lines that may still be drawn.
    lines: usize,
}

impl<'a> ComponentTree<'a> {
    /// Draws the components of `device` recursively; each line begins with `prefix`.
    fn draw(
        &mut self,
        sheet: &mut TerminalText,
        device: &'a InspectedDevice,
        prefix: &str,
        depth: usize,
    ) {
        self.followed.insert(&device.name);
        let room = sheet.width();
        for (index, name) in device.below.iter().enumerate() {
            if self.lines == 0 {
                return;
            }
            self.lines -= 1;
            if self.lines == 0 {
                return sheet.line(&[(format!("{prefix}└─ and more"), CellEmphasis::Faint)]);
            }
            let last = index + 1 == device.below.len();
            let branch = format!("{prefix}{}", if last { "└─ " } else { "├─ " });
            let below = self.all.get(name.as_str());
            let words = below.map(|below| format!(" {}", without_styles(&words::device(below))));
            let name = shorten(&without_styles(name), room.saturating_sub(branch.width()).max(8));
            let left = room.saturating_sub(branch.width() + name.width());
            let words = words.filter(|_| left > 3).map(|words| shorten(&words, left));
            sheet.line(&[
                (branch, CellEmphasis::Faint),
                (name, CellEmphasis::Plain),
                (words.unwrap_or_default(), CellEmphasis::Faint),
            ]);
            let follow = |below: &&&InspectedDevice| !self.followed.contains(below.name.as_str());
            if let Some(below) = below.filter(follow)
                && depth < DEPTH_MAX
            {
                let prefix = format!("{prefix}{}", if last { "   " } else { "│  " });
                self.draw(sheet, below, &prefix, depth + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests;
