//! What goes to stdout, and how it looks there.

use std::io::{self, IsTerminal, Write};

use lanemark_report::Style;

use crate::failure::Failure;

/// The width where no terminal tells one.
const WIDTH: usize = 100;

/// Prints `text` to stdout and ends its last line. A reader that has gone away (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    match write!(stdout, "{text}{end}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::run(format!("stdout can't be written: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Prints a value as JSON to stdout.
pub(crate) fn print_json<T: serde::Serialize>(value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::run(format!("the result can't be written as JSON: {error}")))?;
    print(&text)
}

/// How tables look on this stdout: as wide as the terminal, in colour where it is one.
pub(crate) fn style() -> Style {
    let terminal = io::stdout().is_terminal();
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = terminal
        .then(|| rustix::termios::tcgetwinsize(io::stdout()).ok())
        .flatten()
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0);
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Style { width: seen.or(told).unwrap_or(WIDTH).clamp(60, 160), colour: terminal && !plain }
}
