//! The chart library that `lanemark report --interactive` puts into a page.
//!
//! A page runs the script that it contains. Therefore only the script that `make charts` builds from pinned releases of
//! Vega-Lite, Vega and Vega's interpreter is accepted. The program does not contain the script, because it would make
//! the program a third larger.

use std::path::Path;

use lanemark_lab::{input, opened};
use lanemark_report::ChartScript;

use crate::failure::Failure;

/// The SHA-256 digest of the script.
const DIGEST: &str = "10d8a28e024a59730f5fb57874e0e3338648c1def1444a5a193213638abbcc96";
/// Maximum length of the script; the pinned script is shorter.
const LENGTH_MAX: u64 = 4 << 20;

/// Reads the library at `path`.
pub(crate) fn library(path: &Path) -> Result<ChartScript, Failure> {
    let to_failure = |message: String| {
        Failure::input(message)
            .hint("build it with `make charts`, and use --interactive target/tools/charts.js")
    };
    let script = input::text(path, LENGTH_MAX).map_err(|error| to_failure(error.to_string()))?;
    if opened::hash(script.as_bytes()) != DIGEST {
        let message = format!("{} is not the chart library for this version", path.display());
        return Err(to_failure(message));
    }
    ChartScript::new(script)
        .map_err(|end| to_failure(format!("{}: contains `{end}`", path.display())))
}
