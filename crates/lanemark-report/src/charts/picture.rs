//! Pictures: panels and a legend for their marks. A page contains pictures among its text; a separate drawing file
//! contains only one picture.

use maud::{Markup, html};

use super::svg::SvgImage;

/// Size of a sample of a mark.
pub(crate) const SWATCH: (f64, f64) = (22.0, 12.0);

/// A mark and its name, or text between marks without a separate mark.
pub(crate) struct LegendEntry {
    /// Sample of the mark, with the size [`SWATCH`].
    pub(crate) swatch: Option<Markup>,
    pub(crate) name: String,
}

pub(crate) struct TitledPanel {
    pub(crate) title: String,
    pub(crate) image: SvgImage,
}

/// Panels that share a legend.
#[derive(Default)]
pub(crate) struct PanelPicture {
    pub(crate) entries: Vec<LegendEntry>,
    pub(crate) figures: Vec<TitledPanel>,
}

impl LegendEntry {
    /// Creates an entry from a sample of the mark.
    pub(crate) fn new(swatch: Markup, name: impl Into<String>) -> Self {
        Self { swatch: Some(swatch), name: name.into() }
    }
}

impl TitledPanel {
    /// Draws the panel below its title.
    pub(crate) fn draw(&self) -> Markup {
        html! { figure { figcaption { (self.title) } (self.image) } }
    }
}

impl PanelPicture {
    /// Writes the legend of the marks.
    pub(crate) fn legend(&self) -> Markup {
        legend(&self.entries)
    }

    /// Draws the panels next to each other, in a grid with this class.
    pub(crate) fn panels(&self, class: &str) -> Markup {
        html! { div class=(class) { @for figure in &self.figures { (figure.draw()) } } }
    }
}

/// Writes the names of the marks, each next to a sample.
pub(crate) fn legend(entries: &[LegendEntry]) -> Markup {
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
