//! The warnings of a result in a terminal.

use crate::terminal::TerminalText;
use crate::text::table::CellEmphasis;
use crate::text::target;

/// Writes the warnings, each with its advice, after an empty line; writes nothing if there are no warnings.
pub(crate) fn write_warnings(sheet: &mut TerminalText, listed: &[(String, Option<&'static str>)]) {
    if listed.is_empty() {
        return;
    }
    sheet.blank();
    write_items(sheet, listed);
}

/// Writes the warnings, each with its advice.
pub(crate) fn write_items(sheet: &mut TerminalText, listed: &[(String, Option<&'static str>)]) {
    for (warning, advice) in target::with_advice(listed) {
        let advice = advice.map_or(String::new(), |advice| format!(": {advice}"));
        sheet.item("! ", &format!("{warning}{advice}"), CellEmphasis::Warning);
    }
}
