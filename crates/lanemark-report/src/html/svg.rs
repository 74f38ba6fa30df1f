//! Small things of inline SVG: short numbers, the width of text, and a frame that says what it shows.

use maud::{Markup, Render, html};

/// Mean width of a character at the size of labels, on the wide side.
const CHARACTER: f64 = 6.6;

/// A coordinate with one decimal, enough at the size of a page.
pub(crate) fn num(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// About how wide `text` is as a label. There is no font here to ask.
pub(crate) fn text_width(text: &str) -> f64 {
    unicode_width::UnicodeWidthStr::width(text) as f64 * CHARACTER
}

/// `text` cut to what fits in `width` as a label.
pub(crate) fn fitted(text: &str, width: f64) -> String {
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

/// A drawing that reads as its label to those who do not see it.
pub(crate) struct Image {
    pub(crate) width: f64,
    pub(crate) height: f64,
    label: String,
    content: Markup,
}

/// An image of `width` by `height` that reads as `label`.
pub(crate) fn image(width: f64, height: f64, label: &str, content: Markup) -> Image {
    Image { width, height, label: label.to_owned(), content }
}

impl Render for Image {
    fn render(&self) -> Markup {
        let box_of = format!("0 0 {} {}", num(self.width), num(self.height));
        html! {
            svg viewBox=(box_of) role="img" aria-label=(self.label) {
                title { (self.label) }
                (self.content)
            }
        }
    }
}
