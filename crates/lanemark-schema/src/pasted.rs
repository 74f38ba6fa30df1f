//! Restores the output of a program from pasted text: removes the characters that terminals, mail programs, forums and
//! web pages add around lines.
//!
//! The module removes terminal escape sequences (ECMA-48, section 5.4: `ESC [` up to a byte from 40h to 7Eh), carriage
//! returns, a byte order mark, quotation marks (`>`) at the beginning of a line, Markdown's code fences, and the
//! indentation that all lines share. It decodes entities of HTML, unless the text is XML.
//! The number of lines and the columns within a table do not change. Lost line breaks are not restored.

use std::borrow::Cow;

/// Entities of HTML, with `&amp;` last, so that `&amp;lt;` becomes `&lt;`.
const ENTITIES: [(&str, &str); 6] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
];

/// Returns `text` without the characters that were added around its lines.
pub fn restored(text: &str) -> Cow<'_, str> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('<') || !was_pasted(text) {
        return Cow::Borrowed(text);
    }
    let mut plain = without_escapes(text);
    if is_escaped(&plain) {
        for (entity, character) in ENTITIES {
            plain = plain.replace(entity, character);
        }
    }
    let lines: Vec<&str> = plain.lines().map(unquoted).collect();
    let margin = margin(&lines);
    let mut restored = String::with_capacity(plain.len());
    for line in lines {
        if !is_fence(line) {
            restored.push_str(line.get(margin..).unwrap_or_default());
        }
        restored.push('\n');
    }
    Cow::Owned(restored)
}

/// Returns the words of the command that a line of a terminal shows after its prompt, such as `nvme list` in
/// `root@host:~# nvme list`; `None` if the line does not begin with a prompt.
pub fn after_prompt(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let (prompt, command) = ["$ ", "# ", "> "]
        .iter()
        .filter_map(|mark| line.split_once(mark))
        .min_by_key(|(prompt, _)| prompt.len())?;
    let is_host = prompt.contains('@') && !prompt.contains([',', '{', '"', '=']);
    let is_windows = prompt.contains(":\\");
    let is_bare = prompt.is_empty() && line.starts_with('$');
    let begins = command.trim_start().starts_with(|letter: char| letter.is_ascii_alphabetic());
    ((is_host || is_windows || is_bare) && begins).then(|| command.trim())
}

/// Returns whether any line has a character that [`restored`] removes.
fn was_pasted(text: &str) -> bool {
    text.contains(['\u{1b}', '\r', '\u{a0}'])
        || is_escaped(text)
        || text.lines().any(|line| is_quoted(line) || is_fence(line))
        || text.lines().all(|line| line.is_empty() || line.starts_with([' ', '\t']))
}

/// Returns whether a text contains entities of HTML instead of the characters.
fn is_escaped(text: &str) -> bool {
    ["&lt;", "&gt;", "&quot;"].iter().any(|entity| text.contains(entity))
}

/// Returns the number of blanks with which all lines begin.
fn margin(lines: &[&str]) -> usize {
    let blanks = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let written = lines.iter().filter(|line| !line.trim().is_empty() && !is_fence(line));
    written.map(blanks).min().unwrap_or(0)
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

/// Returns whether a line begins with a quotation mark. `>=` is the beginning of fio's longest latencies.
fn is_quoted(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('>') && !line.starts_with(">=")
}

/// Returns the line without its leading quotation marks and the space after each quotation mark.
fn unquoted(line: &str) -> &str {
    let mut rest = line;
    while is_quoted(rest) {
        rest = rest.trim_start().strip_prefix('>').unwrap_or(rest);
        rest = rest.strip_prefix(' ').unwrap_or(rest);
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
            ("```text\na\n```\n", "\na\n\n"),
            ("\u{1b}[1;32m01:00.0\u{1b}[0m x\n", "01:00.0 x\n"),
            ("\u{feff}a\rb", "a\nb\n"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("    a\n      b\n\n    c\n", "a\n  b\n\nc\n"),
            ("{&quot;a&quot;: &quot;x &amp;lt; y&quot;}", "{\"a\": \"x &lt; y\"}\n"),
            ("&gt; a\n&gt; b", "a\nb\n"),
            ("a\n  >=64=0.0%\n", "a\n  >=64=0.0%\n"),
            ("<a b=\"x &lt; y\">\r\n", "<a b=\"x &lt; y\">\r\n"),
            ("a &amp; b", "a &amp; b"),
            ("", ""),
        ];
        for (text, plain) in cases {
            assert_eq!(restored(text), plain, "{text:?}");
        }
    }

    #[test]
    fn a_command_follows_the_prompt_of_a_shell() {
        for (line, command) in [
            ("$ nvme list", Some("nvme list")),
            ("root@pve:~# smartctl -a /dev/sda", Some("smartctl -a /dev/sda")),
            ("[me@box ~]$ sudo dmesg", Some("sudo dmesg")),
            ("PS C:\\Users\\me> smartctl -a /dev/sda", Some("smartctl -a /dev/sda")),
            ("# a comment", None),
            ("# sda 8:0", None),
            ("$ 5", None),
            ("a=b@c # d", None),
            ("0,R,1,2,3", None),
        ] {
            assert_eq!(after_prompt(line), command, "{line}");
        }
    }
}
