//! The style of terminal text.

/// The style of terminal text, which the caller chooses for its terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Maximum length of a line in columns. Tables first shorten names, then omit columns and list the omitted ones;
    /// for fewer than 60 columns they are drawn as for 60.
    pub width: usize,
    /// Whether to use ANSI colours.
    pub colour: bool,
}
