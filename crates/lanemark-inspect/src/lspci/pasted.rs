//! Restores the output of lspci from pasted text: removes the characters that terminals, mail programs and forums add
//! around lines.
//!
//! The module removes terminal escape sequences (ECMA-48, section 5.4: `ESC [` up to a byte from 40h to 7Eh), carriage
//! returns, a byte order mark, quotation marks (`>`) at the beginning of a line, and the lines of Markdown's code
//! fences. Columns stay aligned, because each line of a quotation loses the same prefix. Lost line breaks and
//! indentation are not restored. The reader of `lspci -vvv` does not need them; the reader of a tree does.

/// Returns `text` without the characters that were added around its lines.
pub(super) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let plain = without_escapes(text.strip_prefix('\u{feff}').unwrap_or(text));
    for line in plain.lines() {
        let line = unquoted(line);
        if is_fence(line) {
            continue;
        }
        cleaned.push_str(line);
        cleaned.push('\n');
    }
    cleaned
}

/// Removes escape sequences, converts carriage returns to line feeds, and replaces non-breaking spaces with spaces.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => {
                if rest.next_if_eq(&'[').is_some() {
                    for inside in rest.by_ref() {
                        if ('\u{40}'..='\u{7e}').contains(&inside) {
                            break;
                        }
                    }
                }
            }
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => plain.push('\n'),
            '\u{a0}' => plain.push(' '),
            other => plain.push(other),
        }
    }
    plain
}

/// Returns the line without its leading quotation marks and the space after each quotation mark.
fn unquoted(line: &str) -> &str {
    let mut rest = line;
    while let Some(inner) = rest.trim_start().strip_prefix('>') {
        rest = inner.strip_prefix(' ').unwrap_or(inner);
    }
    rest
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_surrounds_lines_is_removed_and_columns_stay() {
        let cases = [
            ("> a\n>   b\n", "a\n  b\n"),
            ("> > a\r\n>> b\r\n", "a\nb\n"),
            ("```text\na\n```\n", "a\n"),
            ("\u{1b}[1;32m01:00.0\u{1b}[0m x\n", "01:00.0 x\n"),
            ("\u{feff}a\rb", "a\nb\n"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
        ];
        for (text, plain) in cases {
            assert_eq!(clean(text), plain, "{text:?}");
        }
    }
}
