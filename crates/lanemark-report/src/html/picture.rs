//! Pictures: panels, and the names of their marks. A page has them among its text, a file of its own has one alone.

use maud::{Markup, html};

use super::svg::Image;

/// Size of a sample of a mark.
pub(crate) const SWATCH: (f64, f64) = (22.0, 12.0);

/// A mark with its name; words between marks have none.
pub(crate) struct Entry {
    /// Sample of the mark, of the size [`SWATCH`].
    pub(crate) swatch: Option<Markup>,
    pub(crate) name: String,
}

/// One panel with its title.
pub(crate) struct Drawing {
    pub(crate) title: String,
    pub(crate) image: Image,
}

/// Panels that share their marks.
#[derive(Default)]
pub(crate) struct Picture {
    pub(crate) entries: Vec<Entry>,
    pub(crate) figures: Vec<Drawing>,
}

impl Entry {
    /// A mark by its sample.
    pub(crate) fn new(swatch: Markup, name: impl Into<String>) -> Self {
        Self { swatch: Some(swatch), name: name.into() }
    }
}

impl Drawing {
    /// Draws the panel below its title.
    pub(crate) fn draw(&self) -> Markup {
        html! { figure { figcaption { (self.title) } (self.image) } }
    }
}

impl Picture {
    /// Names the marks.
    pub(crate) fn legend(&self) -> Markup {
        legend(&self.entries)
    }

    /// Draws the panels side by side, in a grid of this class.
    pub(crate) fn panels(&self, class: &str) -> Markup {
        html! { div class=(class) { @for figure in &self.figures { (figure.draw()) } } }
    }
}

/// Names marks, each beside its sample.
pub(crate) fn legend(entries: &[Entry]) -> Markup {
    html! {
        @if !entries.is_empty() { ul class="legend" {
            @for entry in entries {
                li {
                    @if let Some(swatch) = &entry.swatch {
                        svg viewBox="0 0 22 12" aria-hidden="true" { (swatch) }
                    }
                    (entry.name)
                }
            }
        } }
    }
}
