//! fio's numbers: sizes and times with suffixes. Some suffixes differ from their usual meaning.
//!
//! See fio's HOWTO, "Parameter types". With `kb_base=1024`, the default, `k` and `kb` are 1024 and `KiB` is 1000, for
//! compatibility with old job files. With `kb_base=1000`, each suffix has its usual meaning. A time without a suffix is
//! in the unit of its option, and `m` is a minute. fio ignores an unknown suffix (`10min` is 10 µs); this reader
//! rejects it.

use lanemark_schema::units::Duration;

/// A size as the user wrote it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WrittenSize {
    Bytes(u64),
    /// A share of the file, from 0 to 1.
    Share(f64),
}

/// The unit of a time that does not have a suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultTimeUnit {
    Microseconds,
    Milliseconds,
    Seconds,
}

/// A description of valid numbers, for an error about an invalid number.
pub(crate) type ExpectedText = &'static str;

/// Maximum time. It is longer than any test, and short enough that the sum of several times does not overflow.
const TIME_MAX: Duration = Duration::from_seconds(30 * 86_400);

const SIZE: ExpectedText = "a size such as 4k, 1g or 50%";
const BYTES: ExpectedText = "a size such as 4k or 1g";
const TIME: ExpectedText = "a time such as 10, 30s, 5m, 2h, 100ms or 10us";

/// Reads a size.
pub(crate) fn size(text: &str, kb_base: u64) -> Result<WrittenSize, ExpectedText> {
    let text = text.trim();
    if let Some(percent) = text.strip_suffix('%') {
        let percent: f64 = percent.trim().parse().map_err(|_| SIZE)?;
        return (0.0..=100.0)
            .contains(&percent)
            .then_some(WrittenSize::Share(percent / 100.0))
            .ok_or("a percentage from 0% to 100%");
    }
    bytes(text, kb_base).map(WrittenSize::Bytes)
}

/// Reads a size that is not a share.
pub(crate) fn bytes(text: &str, kb_base: u64) -> Result<u64, ExpectedText> {
    let (number, suffix) = split(text.trim()).ok_or(BYTES)?;
    let suffix = suffix.to_ascii_lowercase();
    if suffix.starts_with('z') {
        return Err("a size without zones: zoned devices are not supported");
    }
    let (letter, rest) = match suffix.chars().next() {
        None => return Ok(number),
        Some(letter) => (letter, &suffix[letter.len_utf8()..]),
    };
    let power = match letter {
        'b' if rest.is_empty() => return Ok(number),
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        'p' => 5,
        _ => return Err(BYTES),
    };
    let base: u64 = match rest {
        "" | "b" => kb_base,
        // These suffixes use the other base, in upper or lower case.
        "ib" | "i" if kb_base == 1024 => 1000,
        "ib" | "i" => 1024,
        _ => return Err(BYTES),
    };
    let factor = base.pow(power);
    number.checked_mul(factor).ok_or("a size below 2^64 bytes")
}

/// Reads a time.
pub(crate) fn time(text: &str, unit: DefaultTimeUnit) -> Result<Duration, ExpectedText> {
    let (number, suffix) = split(text.trim()).ok_or(TIME)?;
    let picoseconds: u64 = match (suffix.to_ascii_lowercase().as_str(), unit) {
        ("us" | "usec", _) | ("", DefaultTimeUnit::Microseconds) => 1_000_000,
        ("ms" | "msec", _) | ("", DefaultTimeUnit::Milliseconds) => 1_000_000_000,
        ("s", _) | ("", DefaultTimeUnit::Seconds) => 1_000_000_000_000,
        ("m", _) => 60 * 1_000_000_000_000,
        ("h", _) => 3_600 * 1_000_000_000_000,
        ("d", _) => 86_400 * 1_000_000_000_000,
        _ => return Err(TIME),
    };
    let time = number.checked_mul(picoseconds).map(Duration::from_picoseconds);
    time.filter(|time| *time <= TIME_MAX).ok_or("a time of up to 30 days")
}

/// Reads a whole number, either decimal or hexadecimal after `0x`.
pub(crate) fn integer(text: &str, kb_base: u64) -> Result<u64, ExpectedText> {
    bytes(text, kb_base).map_err(|_| "a whole number")
}

/// Splits a text into a number and the remaining text.
fn split(text: &str) -> Option<(u64, &str)> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((text, 10), |rest| (rest, 16));
    let end = digits.find(|letter: char| !letter.is_digit(radix)).unwrap_or(digits.len());
    let number = u64::from_str_radix(&digits[..end], radix).ok()?;
    Some((number, digits[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_base_and_its_opposite() {
        for (text, old, new) in [
            ("4k", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4KiB", 4000, 4096),
            ("1m", 1 << 20, 1_000_000),
            ("2G", 2 << 30, 2_000_000_000),
            ("1tib", 1_000_000_000_000, 1 << 40),
            ("0x1000", 4096, 4096),
            ("512b", 512, 512),
            ("140660178944", 140_660_178_944, 140_660_178_944),
        ] {
            assert_eq!(bytes(text, 1024), Ok(old), "{text}");
            assert_eq!(bytes(text, 1000), Ok(new), "{text}");
        }
        assert_eq!(size("25%", 1024), Ok(WrittenSize::Share(0.25)));
        for bad in ["", "k", "4q", "-4k", "4kk", "4bk", "4bb", "4bib", "4b7", "1.5m", "101%", "x%"]
        {
            assert!(size(bad, 1024).is_err(), "{bad}");
        }
        assert!(size("99999999p", 1024).is_err(), "more than 64 bits");
    }

    #[test]
    fn every_suffix_of_a_time_has_its_length_in_every_unit() {
        const SECOND: u64 = 1_000_000;
        for (text, of_microseconds, of_milliseconds, of_seconds) in [
            ("0", 0, 0, 0),
            ("7", 7, 7_000, 7 * SECOND),
            ("7us", 7, 7, 7),
            ("7usec", 7, 7, 7),
            ("7ms", 7_000, 7_000, 7_000),
            ("7msec", 7_000, 7_000, 7_000),
            ("7S", 7 * SECOND, 7 * SECOND, 7 * SECOND),
            ("7m", 420 * SECOND, 420 * SECOND, 420 * SECOND),
            ("7h", 25_200 * SECOND, 25_200 * SECOND, 25_200 * SECOND),
            (" 7 d ", 604_800 * SECOND, 604_800 * SECOND, 604_800 * SECOND),
            ("30d", 2_592_000 * SECOND, 2_592_000 * SECOND, 2_592_000 * SECOND),
        ] {
            let wanted = [of_microseconds, of_milliseconds, of_seconds];
            for (unit, wanted) in [
                DefaultTimeUnit::Microseconds,
                DefaultTimeUnit::Milliseconds,
                DefaultTimeUnit::Seconds,
            ]
            .into_iter()
            .zip(wanted)
            {
                assert_eq!(time(text, unit), Ok(Duration::from_microseconds(wanted)), "{text}");
            }
        }
        for bad in ["10min", "", "s", "1.5", "99999d"] {
            assert!(time(bad, DefaultTimeUnit::Seconds).is_err(), "{bad}");
        }
        assert_eq!(time("2592001s", DefaultTimeUnit::Seconds), Err("a time of up to 30 days"));
        assert_eq!(
            time("18446744073709551615", DefaultTimeUnit::Seconds),
            Err("a time of up to 30 days")
        );
    }

    #[test]
    fn sizes_reach_all_powers_up_to_64_bits_and_shares_the_whole() {
        for (text, wanted) in [
            ("3t", Ok(3 << 40)),
            ("3p", Ok(3 << 50)),
            ("16383p", Ok(16_383 << 50)),
            ("16384p", Err("a size below 2^64 bytes")),
            ("0xffk", Ok(255 << 10)),
            ("1mib", Ok(1_000_000)),
            ("1mi", Ok(1_000_000)),
            ("18446744073709551615", Ok(u64::MAX)),
            ("18446744073709551616", Err(BYTES)),
        ] {
            assert_eq!(bytes(text, 1024), wanted, "{text}");
        }
        for (text, wanted) in [
            ("0%", Ok(WrittenSize::Share(0.0))),
            ("100 %", Ok(WrittenSize::Share(1.0))),
            ("12.5%", Ok(WrittenSize::Share(0.125))),
            ("100.5%", Err("a percentage from 0% to 100%")),
            ("-0.5%", Err("a percentage from 0% to 100%")),
            ("%", Err(SIZE)),
            ("100", Ok(WrittenSize::Bytes(100))),
        ] {
            assert_eq!(size(text, 1024), wanted, "{text}");
        }
    }
}
