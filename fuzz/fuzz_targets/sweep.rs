//! A sweep file with axes and ranges, and the rows of a saved sweep.
#![no_main]

use lanemark_fuzz::with_file;
use lanemark_study::sweep::{SweepDefinition, rows};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    with_file(text, |path| {
        let _ = SweepDefinition::open(path);
    });
    let Ok(sweep) = rows::read(text) else { return };
    if sweep.check().is_ok() {
        let _ = lanemark_report::sweep_html(&sweep, None);
    }
});
