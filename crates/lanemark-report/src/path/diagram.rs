//! The tree of a platform as one SVG file. Line widths represent the rates of links, and the system's path is
//! highlighted.
//!
//! The SVG does not refer to external files and adapts to the reader's preference for light or dark colours. All style
//! rules apply to one class, so the SVG works as a file and inside a page. The widths represent link rates, regardless
//! of the test. The highlighted link is the bottleneck of the test in the table, if the bottleneck is a link.

use lanemark_schema::result::{TestedPath, TopologyNode};
use maud::{Markup, PreEscaped, html};

use super::layout::{LINE, MARGIN, PlacedNode, TreeLayout, printable};
use super::scale::{RateScale, SAMPLES, THIN, WIDE};
use super::{bottleneck, is_bottleneck, link_carries, link_name, sentence};
use crate::charts::svg::{num, text_fitted_to, text_width};
use crate::terminal::wrap;
use crate::text::number::{rate_text, significant};

const STYLE: &str = include_str!("diagram.css");

/// The minimum width of the drawing, which the text below it needs.
const WIDTH_MIN: f64 = 560.0;
/// The maximum width of the text below the tree, regardless of the tree's width.
const TEXT_WIDTH_MAX: f64 = 900.0;
/// The size of the heading relative to labels, for which text widths are estimated.
const HEADING: f64 = 15.0 / 11.0;
/// Top of the tree, below the heading.
const TREE_TOP: f64 = 64.0;
/// The height of a line of the text below the tree.
const LEADING: f64 = 17.0;
/// Space above the legend; its thickest sample extends half its thickness into this space.
const LEGEND_DROP: f64 = 30.0;
const SAMPLE: f64 = 30.0;

/// A tree to draw, and the texts around it.
pub(crate) struct TreeDrawing<'a> {
    pub(crate) heading: &'a str,
    pub(crate) subtitle: &'a str,
    /// Title of the drawing, for screen readers.
    pub(crate) title: &'a str,
    pub(crate) topology: &'a TopologyNode,
    /// Whether the link to a node is highlighted.
    pub(crate) narrow: &'a dyn Fn(&TopologyNode) -> bool,
    /// Meaning of a dashed line.
    pub(crate) dashed: &'a str,
    /// The paragraphs below the tree, each with its class.
    pub(crate) sentences: Vec<(&'static str, String)>,
}

/// Draws the platform of `view` as one self-contained SVG file, and highlights the system's path.
pub fn path_svg(view: &TestedPath) -> String {
    let narrow = bottleneck(view);
    TreeDrawing {
        heading: &view.system,
        subtitle: &view.test,
        title: &title(view),
        topology: &view.topology,
        narrow: &|node| is_bottleneck(node, &narrow),
        dashed: "Dashed: the rate is not known.",
        sentences: vec![("bottleneck", sentence(view))],
    }
    .svg()
}

impl TreeDrawing<'_> {
    /// Writes the drawing as one self-contained file.
    pub(crate) fn svg(self) -> String {
        let scale = RateScale::for_tree(self.topology);
        let layout = TreeLayout::new(self.topology, scale, TREE_TOP);
        let width = layout.width.max(WIDTH_MIN);
        let notes = notes(&layout, scale, self.dashed);
        let notes_and_sentences =
            notes.into_iter().map(|text| ("note", text)).chain(self.sentences);
        let legend_top = layout.height + LEGEND_DROP;
        let text_top = if scale.is_some() { legend_top + LEADING + 6.0 } else { legend_top };
        let columns = ((width.min(TEXT_WIDTH_MAX) - 2.0 * MARGIN) / text_width(" ")) as usize;
        let lines: Vec<(&str, String)> = notes_and_sentences
            .flat_map(|(class, text)| {
                wrap(&printable(&text), columns).into_iter().map(move |line| (class, line))
            })
            .collect();
        let height = text_top + lines.len() as f64 * LEADING + MARGIN - 8.0;
        let room = width - 2.0 * MARGIN;
        let title = printable(self.title);
        html! {
            svg xmlns="http://www.w3.org/2000/svg" class="lanemark-path" role="img" aria-label=(title)
                width=(num(width)) height=(num(height))
                viewBox=(format!("0 0 {} {}", num(width), num(height))) {
                title { (title) }
                style { (PreEscaped(STYLE)) }
                rect class="page" width=(num(width)) height=(num(height)) {}
                text class="heading" x=(num(MARGIN)) y="26" {
                    (text_fitted_to(&printable(self.heading), room / HEADING))
                }
                text x=(num(MARGIN)) y="44" { (text_fitted_to(&printable(self.subtitle), room)) }
                @for placed in &layout.boxes {
                    (draw(placed, placed.link.is_some() && (self.narrow)(placed.node)))
                }
                @if let Some(scale) = scale { (legend(scale, legend_top)) }
                @for (line, (class, text)) in lines.iter().enumerate() {
                    text class=(class) x=(num(MARGIN))
                        y=(num(text_top + line as f64 * LEADING)) { (text) }
                }
            }
        }
        .into_string()
    }
}

/// Draws a box and its label, and the link that leads to it, with the link's name above and its rate below.
fn draw(placed: &PlacedNode<'_>, narrow: bool) -> Markup {
    let class = match (placed.node.on_path, narrow) {
        (true, true) => "on narrow",
        (true, false) => "on",
        (false, true) => "off narrow",
        (false, false) => "off",
    };
    let middle = num(placed.x + placed.width / 2.0);
    let first = placed.anchor - LINE * (placed.lines.len() as f64 - 1.0) / 2.0 + 4.0;
    html! {
        g class=(class) {
            title { (node_description(placed.node)) }
            @if let Some(link) = &placed.link {
                @let at = num((link.from + link.to) / 2.0);
                @let y = num(placed.anchor);
                line class=(if placed.node.link_rate.is_some() { "link" } else { "link unknown" })
                    x1=(num(link.from)) x2=(num(link.to)) y1=(y) y2=(y)
                    stroke-width=(num(link.width)) {}
                @if !link.name.is_empty() {
                    text class="wire" x=(at) y=(num(placed.anchor - link.width / 2.0 - 5.0))
                        text-anchor="middle" { (link.name) }
                }
                @if !link.rate.is_empty() {
                    text class="wire" x=(at) y=(num(placed.anchor + link.width / 2.0 + 12.0))
                        text-anchor="middle" { (link.rate) }
                }
            }
            rect class="node" x=(num(placed.x)) y=(num(placed.y)) width=(num(placed.width))
                height=(num(placed.height)) rx="5" {}
            @for (line, text) in placed.lines.iter().enumerate() {
                text class="label" x=(middle) y=(num(first + line as f64 * LINE))
                    text-anchor="middle" { (text) }
            }
        }
    }
}

/// Draws sample lines, each with the rate that it represents.
fn legend(scale: RateScale, y: f64) -> Markup {
    const HEAD: &str = "Line width, one way:";
    let mut x = MARGIN + text_width(HEAD) + 10.0;
    let samples = SAMPLES.map(|width| {
        let label = rate_text(scale.megabytes(width) * 1e6);
        let from = x;
        x += SAMPLE + 6.0 + text_width(&label) + 14.0;
        (width, from, label)
    });
    html! {
        text x=(num(MARGIN)) y=(num(y + 4.0)) { (HEAD) }
        @for (width, from, label) in samples {
            line class="link" x1=(num(from)) x2=(num(from + SAMPLE)) y1=(num(y)) y2=(num(y))
                stroke-width=(num(width)) {}
            text x=(num(from + SAMPLE + 6.0)) y=(num(y + 4.0)) { (label) }
        }
    }
}

/// Returns notes on the minimum and maximum line width, if they apply.
fn notes(layout: &TreeLayout<'_>, scale: Option<RateScale>, dashed: &str) -> Option<String> {
    let links = || layout.boxes.iter().filter(|placed| placed.link.is_some());
    let rates =
        || links().filter_map(|placed| placed.node.link_rate).map(|rate| rate.as_megabytes());
    let mut notes = Vec::new();
    if let Some(scale) = scale {
        let least = scale.megabytes(THIN);
        let most = scale.megabytes(WIDE);
        if rates().any(|rate| rate > most) {
            notes.push(format!("Lines have the maximum width above {} MB/s.", significant(most)));
        }
        if rates().any(|rate| rate < least) {
            notes.push(format!("Lines have the minimum width below {} MB/s.", significant(least)));
        }
    }
    if links().any(|placed| placed.node.link_rate.is_none()) {
        notes.push(dashed.to_owned());
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

/// Describes a node and its link.
fn node_description(node: &TopologyNode) -> String {
    let link = link_name(node).map(printable);
    let parts: Vec<String> = link.into_iter().chain(link_carries(node)).collect();
    match parts.as_slice() {
        [] => printable(&node.label),
        parts => format!("{}: {}", printable(&node.label), parts.join(", ")),
    }
}

/// Describes the drawing for screen readers.
fn title(view: &TestedPath) -> String {
    let mut path = Vec::new();
    collect(&view.topology, &mut path);
    let head = format!("{} under {}", printable(&view.system), printable(&view.test));
    if path.is_empty() { head } else { format!("{head}: {}", path.join(" → ")) }
}

/// Collects the labels of the nodes on the path, in order from the processor.
fn collect(node: &TopologyNode, path: &mut Vec<String>) {
    if node.on_path {
        path.push(printable(&node.label));
    }
    for child in &node.children {
        collect(child, path);
    }
}

#[cfg(test)]
mod tests;
