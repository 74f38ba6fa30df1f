//! The tree of a platform in a terminal: one line per node, with the link from the node's parent on the branch.
//!
//! The path has heavy lines and solid marks, so that it is visible without colour. If a line is too long, the longer of
//! its two names is shortened. A rate is never shortened if each name next to it can have three columns or more.

use lanemark_schema::result::{HopId, TopologyNode};
use unicode_width::UnicodeWidthStr;

use super::{MARK, is_bottleneck, link_carries, link_name};
use crate::terminal::{TerminalText, shorten, without_styles};
use crate::text::table::CellEmphasis;

/// Minimum width of a name.
const NAME_MIN: usize = 3;
/// Maximum column to which the links of one parent are extended in order to align with the longest link.
const LINK_ALIGNED: usize = 32;

/// Columns of a node's mark and the spaces around it.
const MARKED: usize = 3;
/// Columns of the spaces around a link and of the shortest line after it.
const LINKED: usize = 3;

/// Draws the tree from its root; links that belong to the hops `narrow` are marked as in the table.
pub(crate) fn draw(sheet: &mut TerminalText, root: &TopologyNode, narrow: &[HopId]) {
    let room = sheet.width() - MARKED;
    let label = shorten(&without_styles(&root.label), room);
    sheet.line(&[node_piece(root.on_path, &label)]);
    draw_children(sheet, root, "", narrow);
}

/// Draws the descendants of `parent`; each line begins with `prefix`.
fn draw_children(sheet: &mut TerminalText, parent: &TopologyNode, prefix: &str, narrow: &[HopId]) {
    let children = &parent.children;
    let path_end = children.iter().rposition(|child| child.on_path);
    let aligned = children.iter().map(|child| link_text(child).width()).max().unwrap_or(0);
    for (index, child) in children.iter().enumerate() {
        let last = index + 1 == children.len();
        // Above the last child on the path, the trunk is part of the path.
        let trunk_on_path = path_end.is_some_and(|end| index < end);
        let branch = match (child.on_path, trunk_on_path, last) {
            (true, true, _) => "┣━",
            (true, false, false) => "┡━",
            (true, false, true) => "┗━",
            (false, true, _) => "┠─",
            (false, false, false) => "├─",
            (false, false, true) => "└─",
        };
        let mark = is_bottleneck(child, narrow);
        draw_branch(sheet, child, &format!("{prefix}{branch}"), aligned.min(LINK_ALIGNED), mark);
        let trunk = match (trunk_on_path, last) {
            (true, _) => "┃  ",
            (false, false) => "│  ",
            (false, true) => "   ",
        };
        draw_children(sheet, child, &format!("{prefix}{trunk}"), narrow);
    }
}

/// Draws one line: the branch, the link on it, the node, and a mark if the link is the bottleneck. The link is extended
/// to `aligned` columns if there is room.
fn draw_branch(
    sheet: &mut TerminalText,
    node: &TopologyNode,
    branch: &str,
    aligned: usize,
    narrow: bool,
) {
    let ink = if node.on_path { CellEmphasis::Plain } else { CellEmphasis::Faint };
    // A tree may be deeper than a line is wide.
    let branch = shorten(branch, sheet.width() / 2);
    let label = without_styles(&node.label);
    let mut pieces = inked(&branch);
    let mark = if narrow { format!(" {MARK}") } else { String::new() };
    let room = sheet.width() - branch.width() - MARKED - mark.width();
    let label = if link_text(node).is_empty() {
        let stroke = if aligned == 0 { 0 } else { aligned + LINKED };
        let stroke = stroke.min(room.saturating_sub(label.width()));
        pieces.push((line_of(node, stroke), ink));
        shorten(&label, room)
    } else {
        let (link, label) = fitted(node, &label, room - LINKED);
        let used = link.width() + label.width();
        let drawn_out =
            aligned.saturating_sub(link.width()).min((room - LINKED).saturating_sub(used));
        pieces.push((format!(" {link} "), ink));
        pieces.push((line_of(node, 1 + drawn_out), ink));
        label
    };
    pieces.push((" ".to_owned(), ink));
    pieces.push(node_piece(node.on_path, &label));
    pieces.push((mark, CellEmphasis::Strong));
    sheet.line(&pieces);
}

/// Returns the branch lines before a node; the lines of the path are bright.
fn inked(branch: &str) -> Vec<(String, CellEmphasis)> {
    let mut pieces: Vec<(String, CellEmphasis)> = Vec::new();
    for character in branch.chars() {
        let ink = if "┃┣┡┗┠━".contains(character) {
            CellEmphasis::Plain
        } else {
            CellEmphasis::Faint
        };
        match pieces.last_mut() {
            Some((text, last)) if *last == ink => text.push(character),
            _ => pieces.push((character.to_string(), ink)),
        }
    }
    pieces
}

/// Shortens the link of `node` and `label`, but only as far as they need to fit into `room` together.
fn fitted(node: &TopologyNode, label: &str, room: usize) -> (String, String) {
    let whole = link_text(node);
    let (name, tail) = match link_name(node) {
        Some(name) => (without_styles(name), whole[without_styles(name).len()..].to_owned()),
        None => (String::new(), whole.clone()),
    };
    let (name, tail) =
        if tail.width() + 2 * NAME_MIN > room { (whole, String::new()) } else { (name, tail) };
    let mut name_width = name.width();
    let mut label_width = label.width();
    while name_width + tail.width() + label_width > room {
        if label_width >= name_width {
            label_width -= 1;
        } else {
            name_width -= 1;
        }
    }
    (format!("{}{tail}", shorten(&name, name_width)), shorten(label, label_width))
}

/// Formats the known properties of the link, such as `DMI 3.0, 3938 MB/s`.
fn link_text(node: &TopologyNode) -> String {
    let name = link_name(node).map(without_styles);
    let parts: Vec<String> = name.into_iter().chain(link_carries(node)).collect();
    parts.join(", ")
}

fn line_of(node: &TopologyNode, length: usize) -> String {
    if node.on_path { "━" } else { "─" }.repeat(length)
}

/// Formats a node, preceded by its mark.
fn node_piece(on_path: bool, label: &str) -> (String, CellEmphasis) {
    if on_path {
        (format!("● {label}"), CellEmphasis::Strong)
    } else {
        (format!("○ {label}"), CellEmphasis::Faint)
    }
}
