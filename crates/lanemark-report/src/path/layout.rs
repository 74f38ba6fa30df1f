//! The layout of a drawn tree: the positions of its boxes and links.
//!
//! Levels are columns from left to right. A box is as tall as all its descendants together, like a chip in a block
//! diagram that has its ports along one edge. Every link is therefore a straight line, links do not cross, and boxes do
//! not overlap. A link enters its node in the row of the node's child on the path, so the whole path is one straight
//! line.

use lanemark_schema::result::TopologyNode;

use super::scale::{RateScale, THIN};
use super::{link_carries, link_name};
use crate::charts::svg::{text_fitted_to, text_width};
use crate::terminal::{without_styles, wrap};

/// The height of a line of text in a box.
pub(super) const LINE: f64 = 13.0;
/// Space around the whole tree.
pub(super) const MARGIN: f64 = 16.0;
/// The minimum height of a box: two lines of text.
const BOX: f64 = 34.0;
/// The minimum width of a box.
const BOX_WIDTH: f64 = 64.0;
/// Maximum length in columns of a text line in a box.
const BOX_TEXT: usize = 24;
/// Ratio between the width of bold text, which the path uses, and the width of other text.
const BOLD: f64 = 1.15;
/// Space on each side of a text in a box, or of a label along a link.
const PAD: f64 = 10.0;
/// Height of a label above or below a link.
const LABEL: f64 = 16.0;
/// The minimum and the maximum room for the labels of a link.
const LINK: (f64, f64) = (56.0, 190.0);
/// Space between two rows.
const GAP: f64 = 10.0;

/// The boxes of a tree, and the total size.
pub(super) struct TreeLayout<'a> {
    pub(super) boxes: Vec<PlacedNode<'a>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A node's box and the link that leads to it.
pub(super) struct PlacedNode<'a> {
    pub(super) node: &'a TopologyNode,
    /// The label in up to two lines.
    pub(super) lines: Vec<String>,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Vertical position of the link and of the box's label.
    pub(super) anchor: f64,
    /// The link that leads to the box; `None` for the root.
    pub(super) link: Option<LinkLine>,
}

/// A link as a horizontal line at its box's anchor.
pub(super) struct LinkLine {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) width: f64,
    pub(super) name: String,
    pub(super) rate: String,
}

/// The widths of the boxes and of the gaps before them, by level.
struct LevelColumns {
    widths: Vec<f64>,
    gaps: Vec<f64>,
}

/// Top, bottom and anchor of a positioned box.
#[derive(Clone, Copy)]
struct BoxSpan {
    top: f64,
    bottom: f64,
    anchor: f64,
}

/// The boxes positioned so far.
struct PlacedNodes<'a> {
    columns: LevelColumns,
    scale: Option<RateScale>,
    boxes: Vec<PlacedNode<'a>>,
    /// The top of the next row.
    cursor: f64,
}

impl<'a> TreeLayout<'a> {
    /// Lays out the tree of `root`, with the first row at `top`.
    pub(super) fn new(root: &'a TopologyNode, scale: Option<RateScale>, top: f64) -> Self {
        let mut columns = LevelColumns { widths: Vec::new(), gaps: Vec::new() };
        columns.measure(root, 0);
        let width = columns.widths.iter().chain(&columns.gaps).sum::<f64>() + 2.0 * MARGIN;
        let mut placing = PlacedNodes { columns, scale, boxes: Vec::new(), cursor: top };
        placing.place(root, 0, 0.0);
        Self { boxes: placing.boxes, width, height: placing.cursor - GAP }
    }
}

impl LevelColumns {
    fn measure(&mut self, node: &TopologyNode, level: usize) {
        if self.widths.len() == level {
            self.widths.push(BOX_WIDTH);
            self.gaps.push(if level == 0 { 0.0 } else { LINK.0 });
        }
        let bold = if node.on_path { BOLD } else { 1.0 };
        let text = bold * lines(node).iter().map(|line| text_width(line)).fold(0.0, f64::max);
        self.widths[level] = self.widths[level].max(text + 2.0 * PAD);
        if level > 0 {
            let (name, rate) = labels(node);
            let text = bold * text_width(&name).max(text_width(&rate));
            self.gaps[level] = self.gaps[level].max(text + 2.0 * PAD);
        }
        for child in &node.children {
            self.measure(child, level + 1);
        }
    }

    /// Returns the left edge of the boxes of `level`.
    fn left(&self, level: usize) -> f64 {
        let before = self.widths[..level].iter().chain(&self.gaps[..=level]);
        MARGIN + before.sum::<f64>()
    }
}

impl<'a> PlacedNodes<'a> {
    /// Positions `node` and its descendants below the cursor. A line of width `through` reaches the row of the anchor
    /// from the left and needs room there too.
    fn place(&mut self, node: &'a TopologyNode, level: usize, through: f64) -> BoxSpan {
        let width = match (node.link_rate, self.scale) {
            _ if level == 0 => 0.0,
            (Some(rate), Some(scale)) => scale.width(rate),
            _ => THIN,
        };
        let through = through.max(width);
        let index = self.boxes.len();
        let left = self.columns.left(level);
        let link = (level > 0).then(|| {
            let (name, rate) = labels(node);
            LinkLine { from: left - self.columns.gaps[level], to: left, width, name, rate }
        });
        self.boxes.push(PlacedNode {
            node,
            lines: lines(node),
            x: left,
            y: 0.0,
            width: self.columns.widths[level],
            height: 0.0,
            anchor: 0.0,
            link,
        });
        let span = match node.children.as_slice() {
            [] => self.row(through),
            children => self.rows(children, level + 1, through),
        };
        let placed = &mut self.boxes[index];
        (placed.y, placed.height, placed.anchor) = (span.top, span.bottom - span.top, span.anchor);
        span
    }

    /// Adds a row for a node without children.
    fn row(&mut self, through: f64) -> BoxSpan {
        let height = BOX.max(through + 8.0);
        let row = height.max(through + 2.0 * LABEL);
        let anchor = self.cursor + row / 2.0;
        self.cursor += row + GAP;
        BoxSpan { top: anchor - height / 2.0, bottom: anchor + height / 2.0, anchor }
    }

    /// Adds the rows of `children`. The anchor is the row of the child on the path; without one, it is the middle of
    /// the rows.
    fn rows(&mut self, children: &'a [TopologyNode], level: usize, through: f64) -> BoxSpan {
        let on_path = children.iter().position(|child| child.on_path);
        // The middle of two or more rows has room for any line, but a single row must be made tall enough.
        let aligned = on_path.or((children.len() == 1).then_some(0));
        let spans: Vec<BoxSpan> = children
            .iter()
            .enumerate()
            .map(|(index, child)| {
                self.place(child, level, if aligned == Some(index) { through } else { 0.0 })
            })
            .collect();
        let first = spans[0];
        let last = spans[spans.len() - 1];
        let middle = (first.anchor + last.anchor) / 2.0;
        let anchor = aligned.map_or(middle, |index| spans[index].anchor);
        BoxSpan { top: first.top, bottom: last.bottom, anchor }
    }
}

/// Replaces the characters in `text` that XML does not permit: control characters, and two other characters.
pub(super) fn printable(text: &str) -> String {
    without_styles(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// Returns the label of a node in up to two lines.
fn lines(node: &TopologyNode) -> Vec<String> {
    let mut lines = wrap(&printable(&node.label), BOX_TEXT);
    if lines.len() > 2 {
        let room = text_width(&" ".repeat(BOX_TEXT));
        lines[1] = text_fitted_to(&lines[1..].join(" "), room);
        lines.truncate(2);
    }
    lines
}

/// Returns the name and the rate of the link to `node`; each is empty if not known.
fn labels(node: &TopologyNode) -> (String, String) {
    let name = link_name(node).map(printable).unwrap_or_default();
    let rate = link_carries(node).unwrap_or_default();
    (text_fitted_to(&name, LINK.1), text_fitted_to(&rate, LINK.1))
}
