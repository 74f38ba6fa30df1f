//! Reads numbers with units in the texts of other programs.

/// Returns the number at the start of `text`, and the rest. A number does not contain thousands separators.
pub(crate) fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    let number = digits.parse::<f64>().ok().filter(|number| number.is_finite())?;
    Some((number, rest))
}

/// Returns the number at the start of `text`, with the thousands separators and the decimal mark of any locale:
/// `1,234`, `1.234.567`, `1 234`, `1’234`, `14,6` and `14.6`. A single comma or point before three digits separates
/// thousands, because programs that group digits do not print three decimals.
pub(crate) fn localised_number(text: &str) -> Option<f64> {
    let mut groups = vec![String::new()];
    let mut marks = Vec::new();
    let mut letters = text.trim_start().chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_ascii_digit() {
            groups.last_mut()?.push(letter);
        } else if ",. \u{a0}\u{2009}\u{202f}'’".contains(letter)
            && letters.peek().is_some_and(char::is_ascii_digit)
        {
            marks.push(letter);
            groups.push(String::new());
        } else {
            break;
        }
    }
    let last = groups.last()?;
    let is_decimal = marks.last().is_some_and(|mark| {
        let is_thousands = last.len() == 3
            && marks.iter().all(|other| other == mark)
            && groups.first().is_some_and(|first| (1..=3).contains(&first.len()) && first != "0");
        matches!(mark, ',' | '.') && !is_thousands
    });
    let digits = match groups.split_last() {
        Some((fraction, whole)) if is_decimal => format!("{}.{fraction}", whole.concat()),
        _ => groups.concat(),
    };
    digits.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Returns the whole number at the start of `text`.
pub(crate) fn whole_number(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Returns the number at the start of `text` and the rest. The number may have the suffix `k`, `M` or `G`, in powers of
/// 1000.
pub(crate) fn scaled_number(text: &str) -> Option<(f64, &str)> {
    let (number, rest) = number(text)?;
    let factor = match rest.chars().next() {
        Some('k' | 'K') => 1e3,
        Some('m' | 'M') => 1e6,
        Some('g' | 'G') => 1e9,
        _ => return Some((number, rest)),
    };
    Some((number * factor, &rest[1..]))
}

/// Returns the size at the start of `text` in bytes, and the rest. Prefixes are powers of 1024, with or without an `i`.
/// If `decimal` is set, only prefixes with an `i` are powers of 1024.
pub(crate) fn size(text: &str, decimal: bool) -> Option<(f64, &str)> {
    let (number, rest) = number(text)?;
    let rest = rest.trim_start();
    let power = match rest.chars().next()?.to_ascii_uppercase() {
        'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        'P' => 5,
        'B' => 0,
        _ => return None,
    };
    let mut rest = if power > 0 { &rest[1..] } else { rest };
    let binary = rest.starts_with('i');
    rest = rest.strip_prefix('i').unwrap_or(rest);
    rest = rest.strip_prefix(['B', 'b']).unwrap_or(rest);
    let base: f64 = if binary || !decimal { 1024.0 } else { 1000.0 };
    Some((number * base.powi(power), rest))
}

/// Returns the text between `before` and `after` in `text`.
pub(crate) fn text_between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(inside, _)| inside)
}

/// Returns the seconds since 1970 for a time such as `2021/10/13 17:19:51 UTC`, or for the same time with dashes, `T`
/// and `Z`.
pub(crate) fn utc(text: &str) -> Option<u64> {
    let parts: Vec<u32> = text
        .split(|letter: char| !letter.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .take(6)
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let &[year, month, day, hour, minute, second] = parts.as_slice() else { return None };
    let fits = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61;
    if !fits {
        return None;
    }
    // Days since 1970 in the proleptic Gregorian calendar; here, years begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let days = u64::from(days - 719_468);
    Some(days * 86_400 + u64::from(hour) * 3600 + u64::from(minute) * 60 + u64::from(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_units_of_their_program() {
        assert_eq!(scaled_number("25.5k, BW"), Some((25_500.0, ", BW")));
        assert_eq!(scaled_number("9999, "), Some((9999.0, ", ")));
        assert_eq!(size("391MiB/10001msec", true), Some((391.0 * 1_048_576.0, "/10001msec")));
        assert_eq!(size("1 MiB (Q", false), Some((1_048_576.0, " (Q")));
        assert_eq!(size("41.0MB/s", true), Some((41e6, "/s")));
        for text in ["", "MB", "1.2.3 MB", "7", "1 X", "µ"] {
            assert_eq!(size(text, false), None, "{text}");
        }
    }

    #[test]
    fn numbers_of_all_locales_are_read() {
        for (text, number) in [
            ("1,000,204,886,016 [1.00 TB]", 1_000_204_886_016.0),
            ("1.600.321.314.816 [1,60 TB]", 1_600_321_314_816.0),
            ("500 107 862 016 bytes", 500_107_862_016.0),
            ("500\u{202f}107\u{202f}862\u{202f}016 bytes", 500_107_862_016.0),
            ("28’604’965 [14.6 TB]", 28_604_965.0),
            ("9.025", 9_025.0),
            ("1000.2 GB", 1000.2),
            ("1000,2 GB", 1000.2),
            ("1.000,25", 1000.25),
            ("34567.890", 34_567.89),
            ("0.125", 0.125),
            ("100%", 100.0),
            ("43 Celsius", 43.0),
        ] {
            assert_eq!(localised_number(text), Some(number), "{text}");
        }
        assert!(localised_number("x").is_none() && localised_number("").is_none());
    }

    #[test]
    fn every_part_of_a_date_has_its_bounds() {
        for (text, wanted) in [
            ("1970/01/01 00:00:00 UTC", Some(0)),
            ("1970-01-01T00:00:60Z", Some(60)),
            ("1970-12-31T23:59:59Z", Some(365 * 86_400 - 1)),
            ("1972-03-01T00:00:00Z", Some((365 * 2 + 31 + 29) * 86_400)),
            ("1999-12-31T23:59:59Z", Some(946_684_799)),
            ("2000-02-29T00:00:00Z", Some(951_782_400)),
            ("2000/03/01 12:00:01 UTC", Some(951_912_001)),
            ("2038-01-19T03:14:07Z", Some(2_147_483_647)),
            // The year 2100 does not have a 29th of February.
            ("2100-03-01T00:00:00Z", Some(4_107_542_400)),
            ("9999-12-31T23:59:59Z", Some(253_402_300_799)),
            ("10000-01-01T00:00:00Z", None),
            ("2001-00-01T00:00:00Z", None),
            ("2001-13-01T00:00:00Z", None),
            ("2001-01-00T00:00:00Z", None),
            ("2001-01-32T00:00:00Z", None),
            ("2001-01-01T24:00:00Z", None),
            ("2001-01-01T00:60:00Z", None),
            ("2001-01-01T00:00:61Z", None),
            ("1969/12/31 23:59:59", None),
            ("2024", None),
            ("", None),
        ] {
            assert_eq!(utc(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_number_ends_with_its_last_digit() {
        assert_eq!(number("  7.5 x"), Some((7.5, " x")));
        assert_eq!(number("x7"), None);
        assert_eq!(whole_number(" 12x"), Some(12));
        assert_eq!(whole_number("4294967295"), Some(u32::MAX));
        assert_eq!(whole_number("4294967296"), None);
        assert_eq!(whole_number("x"), None);
        assert_eq!(scaled_number("3M)"), Some((3e6, ")")));
        assert_eq!(scaled_number("3G)"), Some((3e9, ")")));
        for (text, binary, decimal) in [
            ("3B", 3.0, 3.0),
            ("3kB", 3072.0, 3000.0),
            ("3 GB", 3_221_225_472.0, 3e9),
            ("3TiB", 3_298_534_883_328.0, 3_298_534_883_328.0),
            ("3P", 3_377_699_720_527_872.0, 3e15),
        ] {
            assert_eq!(size(text, false), Some((binary, "")), "{text}");
            assert_eq!(size(text, true), Some((decimal, "")), "{text}");
        }
        assert_eq!(text_between("a (b) (c)", "(", ")"), Some("b"));
        assert_eq!(text_between("a (b", "(", ")"), None);
        assert_eq!(text_between("a b)", "(", ")"), None);
    }
}
