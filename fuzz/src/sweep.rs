//! Reads a sweep file with axes and ranges, and the rows of a saved sweep.

use super::with_file;
use lanemark_study::sweep::{SweepDefinition, rows};

pub(crate) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    with_file(text, |path| {
        let _ = SweepDefinition::open(path);
    });
    let Ok(sweep) = rows::read(text) else { return };
    if sweep.check().is_ok() {
        let _ = lanemark_report::sweep_html(&sweep, None);
    }
}
