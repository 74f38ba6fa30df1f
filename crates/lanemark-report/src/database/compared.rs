//! Two runs beside each other, in lines of at most [`WIDTH`] columns.

use std::fmt::Write;

use lanemark_core::result::RunResult;

use super::change::{Change, compare, doubts, interval};
use super::text::{NO_TPC_RESULT, line, parts, title};

/// The columns of the narrowest terminal that this fits.
pub const WIDTH: usize = 60;

/// Two runs on databases as a table: each figure with its change, and below it the intervals with what they show.
/// Nothing where one of them is of no database.
pub fn database_compare_text(from: &RunResult, to: &RunResult) -> Option<String> {
    let mut text = String::new();
    for (side, run) in [("A", from), ("B", to)] {
        text += &wrapped(&format!("{side}  {}", title(parts(run)?.0)), 3);
    }
    let _ = writeln!(text, "\n{:<24}{:>12}{:>12}{:>12}", "", "A", "B", "change");
    let changes = compare(from, to);
    for change in &changes {
        text += &row(change);
    }
    text += &wrapped("\nBelow each figure: where its mean lies with 95% confidence.", 0);
    let doubts = doubts(from, to);
    if !doubts.is_empty() {
        text.push('\n');
    }
    doubts.iter().for_each(|doubt| text += &wrapped(&format!("doubt: {doubt}"), 7));
    text.push('\n');
    text += &wrapped(NO_TPC_RESULT, 0);
    Some(text)
}

fn row(change: &Change) -> String {
    let (a, b) = (change.from.value, change.to.value);
    let digits = match a.max(b) {
        1_000.0.. => 0,
        100.0.. => 1,
        _ => 3,
    };
    let per_cent = change.per_cent.map_or("–".to_owned(), |per_cent| format!("{per_cent:+.1}%"));
    let mut text = format!("{:<24}{a:>12.digits$}{b:>12.digits$}{per_cent:>12}\n", change.name);
    let told = |statistic| {
        let (low, high) = interval(statistic)?;
        // No figure here can be below nothing, whatever the spread of a few repeats says.
        Some(format!("{:.digits$} to {high:.digits$}", low.max(0.0)))
    };
    let mut below = Vec::new();
    if let Some((a, b)) = told(&change.from).zip(told(&change.to)) {
        below.push(format!("A {a}, B {b}"));
    }
    if change.name.ends_with(", %") {
        below.push(format!("{:+.1} points", b - a));
    }
    below.extend(change.verdict.words().map(str::to_owned));
    let mut one = String::new();
    for part in below {
        if !one.is_empty() && 2 + one.chars().count() + 2 + part.chars().count() > WIDTH {
            line(&mut text, &format!("  {one}"));
            one.clear();
        }
        one += if one.is_empty() { "" } else { "; " };
        one += &part;
    }
    if !one.is_empty() {
        line(&mut text, &format!("  {one}"));
    }
    text
}

/// A paragraph in lines of at most [`WIDTH`] columns, those after the first set in by `indent`. A word that is longer
/// than a line is cut.
pub fn wrapped(paragraph: &str, indent: usize) -> String {
    let mut text = String::new();
    for (at, own) in paragraph.split('\n').enumerate() {
        text += if at > 0 { "\n" } else { "" };
        let mut column = 0;
        for word in own.split(' ') {
            let letters: Vec<char> = word.chars().collect();
            for (part, piece) in letters.chunks(WIDTH - indent).enumerate() {
                if column > 0 && (part > 0 || column + 1 + piece.len() > WIDTH) {
                    text.push('\n');
                    text.extend(std::iter::repeat_n(' ', indent));
                    column = indent;
                } else if column > 0 {
                    text.push(' ');
                    column += 1;
                }
                text.extend(piece);
                column += piece.len();
            }
            if letters.is_empty() && column > 0 {
                text.push(' ');
                column += 1;
            }
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_longer_than_the_terminal_and_no_letter_is_lost() {
        let long = "x".repeat(150);
        for paragraph in ["short", &format!("A  PostgreSQL · {long} and more"), NO_TPC_RESULT, ""]
        {
            let text = wrapped(paragraph, 3);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(letters(&text), letters(paragraph));
        }
        assert_eq!(wrapped("A  B", 0), "A  B\n");
    }
}
