//! Text for readers: untrusted text in a form that is safe to display, and numbers with three significant digits.
//!
//! Names come from result files, job files, traces, drives and paths. A terminal interprets control characters, and
//! characters that change the writing direction make one text look like a different one ("Trojan Source", Boucher and
//! Anderson, 2021). Code that displays a name replaces these characters; code that stores a name keeps them.

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
    let cleaned = |letter| match letter {
        '\n' | '\t' => ' ',
        letter if is_shown(letter) => letter,
        _ => REPLACEMENT,
    };
    Cow::Owned(text.chars().map(cleaned).collect())
}

/// Returns rows as CSV (RFC 4180); each row ends with a line feed.
pub fn csv_text<R>(rows: impl IntoIterator<Item = R>) -> String
where
    R: IntoIterator,
    R::Item: AsRef<[u8]>,
{
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    for row in rows {
        // Writing to memory cannot fail.
        let _ = writer.write_record(row);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// Returns the fields of the first line of CSV in `text`; `None` if the text is empty.
pub fn csv_fields(text: &str) -> Option<Vec<String>> {
    let mut settings = csv::ReaderBuilder::new();
    let mut reader = settings.has_headers(false).from_reader(text.as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(str::to_owned).collect())
}

/// Quotes a word so that a shell reads it back unchanged.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let quoter = shlex::Quoter::new().allow_nul(true);
    quoter.quote(word).unwrap_or(Cow::Borrowed(word))
}

/// Text that replaces an absent value.
pub const ABSENT: &str = "–";

/// Returns `text` with the times in it as they are displayed: `2 us` becomes `2 µs`. Times in files and on the command
/// line keep a notation that every keyboard can produce.
pub fn with_micro(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(" us") {
        let (before, after) = rest.split_at(at);
        let after = &after[" us".len()..];
        let is_time = before.ends_with(|letter: char| letter.is_ascii_digit())
            && !after.starts_with(char::is_alphanumeric);
        result += before;
        result += if is_time { " µs" } else { " us" };
        rest = after;
    }
    result + rest
}

/// Formats `value` with three significant digits or, if it is longer, with all digits of the whole part; with up to
/// three decimals, and with commas between thousands.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if !value.is_finite() {
        ABSENT.to_owned()
    } else if magnitude == 0.0 {
        "0".to_owned()
    } else if magnitude < 0.0005 {
        "<0.001".to_owned()
    } else {
        // At these limits, rounding to one more decimal would carry into an additional digit.
        let decimals = match magnitude {
            m if m >= 99.95 => 0,
            m if m >= 9.995 => 1,
            m if m >= 0.9995 => 2,
            _ => 3,
        };
        grouped(&format!("{value:.decimals$}"))
    }
}

/// Formats a rate in MB/s (10^6 bytes a second), such as `552 MB/s`.
pub fn rate_text(bytes_per_second: f64) -> String {
    format!("{} MB/s", significant(bytes_per_second / 1e6))
}

/// Formats a time in nanoseconds with a suitable unit, such as `80.9 µs`, `22.0 ms` or `1.50 s`.
pub fn latency_text(ns: f64) -> String {
    match ns {
        ns if ns < 1e6 => format!("{} µs", significant(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", significant(ns / 1e6)),
        ns => format!("{} s", significant(ns / 1e9)),
    }
}

/// Groups the digits of a number with commas between thousands. Digits that are already grouped stay unchanged.
pub fn grouped(text: &str) -> String {
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).count();
    let start = text.find(|character: char| character.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(&text[start..]);
    let mut result = text[..start].to_owned();
    for (index, digit) in text[start..start + whole].chars().enumerate() {
        if index > 0 && (whole - index) % 3 == 0 {
            result.push(',');
        }
        result.push(digit);
    }
    result + &text[start + whole..]
}

/// Declares an enum whose variants have one name each, which files, options and documents use. A variant without a name
/// does not compile.
#[macro_export]
macro_rules! named_enum {
    ($(#[$of_enum:meta])* pub enum $Enum:ident {
        $($(#[$of_variant:meta])* $Variant:ident = $name:literal),+ $(,)?
    }) => {
        $(#[$of_enum])*
        pub enum $Enum {
            $($(#[$of_variant])* $Variant),+
        }

        impl $Enum {
            /// All variants in the order of their declaration, each with its name.
            pub const NAMES: [(&'static str, Self); [$($name),+].len()] =
                [$(($name, Self::$Variant)),+];

            /// Returns the name of the variant.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name),+
                }
            }
        }

        impl ::std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl ::std::str::FromStr for $Enum {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::NAMES.iter().find(|(name, _)| *name == text);
                found.map(|(_, one)| *one).ok_or_else(|| {
                    format!("one of {}", Self::NAMES.map(|(name, _)| name).join(", "))
                })
            }
        }
    };
}

/// Implements the serialisation of a type as its displayed text.
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
    fn a_rate_and_a_latency_have_the_unit_that_fits() {
        assert_eq!([0.0, 552e6, 7.18e9].map(rate_text), ["0 MB/s", "552 MB/s", "7,180 MB/s"]);
        let times = [80_900.0, 999_999.0, 1e6, 22e6, 1.5e9].map(latency_text);
        assert_eq!(times, ["80.9 µs", "1,000 µs", "1.00 ms", "22.0 ms", "1.50 s"]);
    }

    #[test]
    fn times_are_shown_with_their_sign() {
        let cases = [
            ("2 us to submit, 1.5 us", "2 µs to submit, 1.5 µs"),
            ("5 usual days of us", "5 usual days of us"),
            ("12 us", "12 µs"),
            ("", ""),
        ];
        for (text, wanted) in cases {
            assert_eq!(with_micro(text), wanted);
        }
    }

    #[test]
    fn control_and_invisible_characters_are_not_shown() {
        let text = "4K\x1b[2J\u{9b}31m read\u{202e}daer\u{2066}\u{200f}\u{e0041}\r";
        let cleaned = shown(text);
        assert!(cleaned.chars().all(is_shown), "{cleaned:?}");
        assert!(cleaned.starts_with("4K\u{fffd}[2J\u{fffd}31m read\u{fffd}daer"), "{cleaned:?}");
        assert_eq!(shown("a\tb\nc"), "a b c");
    }

    #[test]
    fn ordinary_text_is_shown_unchanged() {
        for text in ["SEQ1M Q8T1 read", "größe – 3 µs", "قراءة", "\u{200d}👩\u{200d}💻", "½"]
        {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn thousands_are_apart() {
        let formatted = ["12", "1610", "-1234567.25", "(0.12345)", "–", "1,610"].map(grouped);
        assert_eq!(formatted, ["12", "1,610", "-1,234,567.25", "(0.12345)", "–", "1,610"]);
    }

    #[test]
    fn three_digits_are_significant() {
        let cases = [
            (1610.4, "1,610"),
            (-1_827_490.0, "-1,827,490"),
            (99.96, "100"),
            (37.24, "37.2"),
            (9.996, "10.0"),
            (2.345, "2.35"),
            (0.0251, "0.025"),
            (0.0001, "<0.001"),
            (0.0, "0"),
            (-37.24, "-37.2"),
            (f64::NAN, ABSENT),
            (f64::INFINITY, ABSENT),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }
}
