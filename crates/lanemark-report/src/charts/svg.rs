//! Functions for inline SVG: short numbers, the width of text, and a labelled frame.

use maud::{Markup, Render, html};

/// Mean width of a character at label size; this is a generous estimate.
const CHARACTER: f64 = 6.6;

/// Formats a coordinate with one decimal, which is precise enough on a page.
pub(crate) fn num(value: f64) -> String {
    let text = format!("{:.1}", value + 0.0);
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Estimates the width of `text` as a label, because no font is available here.
pub(crate) fn text_width(text: &str) -> f64 {
    unicode_width::UnicodeWidthStr::width(text) as f64 * CHARACTER
}

/// Cuts `text` to a label of `width`.
pub(crate) fn text_fitted_to(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for character in text.chars() {
        cut.push(character);
        if text_width(&cut) + CHARACTER > width {
            cut.pop();
            break;
        }
    }
    format!("{}…", cut.trim_end())
}

/// Returns the path of a rectangle with its corner at `x`, `y`, in half the characters of a `rect` element.
pub(crate) fn block(x: f64, y: f64, width: f64, height: f64) -> String {
    format!("M{0} {1}H{2}v{3}H{0}z", num(x), num(y), num(x + width), num(height))
}

/// Cuts the name of a run to `width` by omitting its middle, because the two ends distinguish runs.
pub(crate) fn named(text: &str, width: f64) -> String {
    let room = (width / CHARACTER).floor() as usize;
    let letters: Vec<char> = text.chars().collect();
    let is_even = (text_width(text) - letters.len() as f64 * CHARACTER).abs() < 0.1;
    if text_width(text) <= width || room < 8 || !is_even {
        return text_fitted_to(text, width);
    }
    let end = (room - 1) / 2;
    let start: String = letters[..(room - 1 - end).min(letters.len())].iter().collect();
    let end: String = letters[letters.len().saturating_sub(end)..].iter().collect();
    format!("{start}…{end}")
}

/// Maximum number of series or bars that the label of a drawing describes; the table lists the others for users of
/// screen readers.
const TOLD: usize = 8;

/// Lists the first of `parts`, and states the number of the remaining parts.
pub(crate) fn shortened_list(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    let first = parts[..parts.len().min(TOLD)].join("; ");
    match parts.len().saturating_sub(TOLD) {
        0 => first,
        more => format!("{first}; {more} more in the table"),
    }
}

/// Splits `bars` bars into ranges of about the same length, up to `most`, so that a drawing of each range fits on a
/// sheet of paper.
pub(crate) fn split(bars: usize, most: usize) -> Vec<std::ops::Range<usize>> {
    let parts = bars.div_ceil(most).max(1);
    (0..parts).map(|part| part * bars / parts..(part + 1) * bars / parts).collect()
}

/// Returns the title of one of several parts.
pub(crate) fn part_title(title: &str, part: usize, parts: usize) -> String {
    match parts {
        1 => title.to_owned(),
        _ => format!("{title}, {} of {parts}", part + 1),
    }
}

/// A drawing whose label screen readers announce.
pub(crate) struct SvgImage {
    /// Room to the left of the origin of the coordinates.
    left: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    label: String,
    content: Markup,
}

/// Creates an image of `width` by `height` with the description `label`.
pub(crate) fn image(width: f64, height: f64, label: &str, content: Markup) -> SvgImage {
    SvgImage { left: 0.0, width, height, label: label.to_owned(), content }
}

impl SvgImage {
    /// Returns the image with its left edge at the coordinate `left`.
    pub(crate) fn from(self, left: f64) -> Self {
        Self { left, ..self }
    }
}

impl Render for SvgImage {
    fn render(&self) -> Markup {
        let box_of = format!("{} 0 {} {}", num(-self.left), num(self.width), num(self.height));
        html! {
            svg viewBox=(box_of) role="img" aria-label=(self.label) { (self.content) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends_and_their_room() {
        let name = "samsung-850-pro-1tb@workstation-z170:sata";
        let [first, second] = ["", " (2)"].map(|end| named(&format!("{name}{end}"), 130.0));
        assert_eq!(
            (first.as_str(), second.as_str()),
            ("samsung-8…z170:sata", "samsung-8…:sata (2)")
        );
        assert!(text_width(&first) <= 130.0);
        assert_eq!(named("short", 130.0), "short");
        let wide = named(&"磁".repeat(40), 130.0);
        assert!(text_width(&wide) <= 130.0 && wide.ends_with('…'), "{wide}");
    }

    #[test]
    fn bars_are_split_evenly_without_losses() {
        assert_eq!(split(50, 25), [0..25, 25..50]);
        assert_eq!(split(51, 25), [0..17, 17..34, 34..51]);
        assert_eq!((split(0, 25).len(), split(25, 25).len()), (1, 1));
    }
}
