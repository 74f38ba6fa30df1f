//! The commands that show: reports, the laboratory in a browser, completions and manual pages.

pub(crate) mod completions;
pub(crate) mod report;
pub(crate) mod ui;
