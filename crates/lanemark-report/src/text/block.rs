//! The parts of a text that the terminal and the page draw (`blocks` builds the text of a test from them).

use lanemark_schema::result::Series;

use super::table::Table;

/// A part of a text.
#[derive(Clone, Debug)]
pub(crate) enum Block<'r> {
    /// One or more sentences.
    Text(String),
    /// The evidence for the sentence before it.
    List(Vec<String>),
    /// A table, with a name for screen readers.
    Table(&'static str, Table),
    /// Rates over time, which a page draws as a chart.
    Rates(&'r Series),
}

impl Block<'_> {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
