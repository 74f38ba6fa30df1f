//! The detail of the tests of a run in a terminal.

use lanemark_schema::result::RunResult;

use crate::blocks::test_blocks;
use crate::terminal::{Style, TerminalText};

/// Writes all tests of `run` in detail. The target and the warnings are part of [`crate::run_table`].
pub fn test_details(run: &RunResult, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    for test in &run.tests {
        sheet.heading(&format!("{}: {}", run.target_name(), test.test.name));
        sheet.blocks(&test_blocks(test));
    }
    sheet.finish()
}
