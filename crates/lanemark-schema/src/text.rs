//! Untrusted text, in a form that is safe to display.
//!
//! Names come from result files, job files, traces, drives and paths. A terminal obeys control characters, and
//! characters that change the writing direction make one text look like another ("Trojan Source", Boucher and Anderson,
//! 2021). Code that displays a name replaces these characters; code that stores a name keeps them.

use std::borrow::Cow;

/// The replacement for a character that is not printed.
pub const REPLACEMENT: char = '\u{fffd}';

/// Returns whether a character may appear on a terminal or in a text file. Control characters, characters that change
/// the writing direction or break a line, and invisible tags may not appear.
pub fn is_shown(letter: char) -> bool {
    let unseen = matches!(letter,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    !letter.is_control() && !unseen
}

/// Returns `text` as one displayable line: tabs and line ends become spaces, and other characters that cannot be
/// displayed become [`REPLACEMENT`].
pub fn shown(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let one = |letter| match letter {
        '\n' | '\t' => ' ',
        letter if is_shown(letter) => letter,
        _ => REPLACEMENT,
    };
    Cow::Owned(text.chars().map(one).collect())
}

/// Implements serialisation of a type as its displayed text.
macro_rules! saved_as_text {
    ($saved:ty) => {
        impl TryFrom<String> for $saved {
            type Error = <Self as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$saved> for String {
            fn from(saved: $saved) -> Self {
                saved.to_string()
            }
        }
    };
}
pub(crate) use saved_as_text;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_or_hides_is_not_shown() {
        let text = "4K\x1b[2J\u{9b}31m read\u{202e}daer\u{2066}\u{200f}\u{e0041}\r";
        let told = shown(text);
        assert!(told.chars().all(is_shown), "{told:?}");
        assert!(told.starts_with("4K\u{fffd}[2J\u{fffd}31m read\u{fffd}daer"), "{told:?}");
        assert_eq!(shown("a\tb\nc"), "a b c");
    }

    #[test]
    fn what_people_write_is_shown_as_it_is() {
        for text in ["SEQ1M Q8T1 read", "größe – 3 µs", "قراءة", "\u{200d}👩\u{200d}💻", "½"]
        {
            assert_eq!(shown(text), text);
        }
    }
}
