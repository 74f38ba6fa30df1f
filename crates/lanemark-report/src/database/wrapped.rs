//! Paragraphs in lines of up to [`WIDTH`] columns.

use crate::terminal::lines_of;

/// Minimum width in columns of a terminal that can show the text without wrapping.
pub const WIDTH: usize = 60;

/// Wraps a paragraph into lines of up to [`WIDTH`] columns; lines after the first are indented by `indent`. A word that
/// is longer than a line is split.
pub fn wrapped(paragraph: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    textwrap::fill(paragraph, lines_of(WIDTH).subsequent_indent(&indent)) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_longer_than_the_terminal_and_no_letter_is_lost() {
        let long = "x".repeat(150);
        for paragraph in [
            "short",
            &format!("A  PostgreSQL · {long} and more"),
            "a longer sentence that needs more than one line of up to sixty columns",
            "",
        ] {
            let text = wrapped(paragraph, 3);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(letters(&text), letters(paragraph));
        }
        assert_eq!(wrapped("A  B", 0), "A  B\n");
    }
}
