//! Lines of a key, a separator and a value, as tools print them for people.

use super::super::described::TEXT_MAX;
use crate::words::localised_number;

/// Maximum number of lines that are read.
const LINES_MAX: usize = 100_000;

/// Kelvin at 0 °C, as NVMe tools round it.
pub(super) const KELVIN: f64 = 273.0;

/// The keys in lower case, with single spaces, and the values of a text.
pub(super) struct KeyedLines(Vec<(String, String)>);

impl KeyedLines {
    /// Reads the lines that contain `:`; other lines are skipped.
    pub(super) fn read<'t>(lines: impl Iterator<Item = &'t str>) -> Self {
        let pair = |line: &str| {
            let (key, value) = line.split_once(':')?;
            let words: Vec<&str> =
                key.split(['_', ' ', '\t']).filter(|word| !word.is_empty()).collect();
            let key = words.join(" ").to_lowercase();
            let value: String = value.trim().chars().take(TEXT_MAX).collect();
            (key.len() <= TEXT_MAX && !value.is_empty()).then_some((key, value))
        };
        Self(lines.take(LINES_MAX).filter_map(pair).collect())
    }

    /// Returns the first value of one of `keys`.
    pub(super) fn text(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|wanted| {
            self.0.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.clone())
        })
    }

    /// Returns the number at the beginning of the first value of one of `keys`, in the notation of any locale.
    pub(super) fn number(&self, keys: &[&str]) -> Option<f64> {
        localised_number(&self.text(keys)?)
    }

    /// Returns the bits at the beginning of the first value of one of `keys`, such as 4 for `0x04`.
    pub(super) fn bits(&self, keys: &[&str]) -> Option<u64> {
        let value = self.text(keys)?;
        match value.split_whitespace().next()?.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => Some(localised_number(&value)? as u64),
        }
    }

    /// Returns the temperature in °C in the first value of one of `keys`, such as `176 °F (353 Kelvin)`.
    pub(super) fn celsius(&self, keys: &[&str]) -> Option<f64> {
        let value = self.text(keys)?;
        if let Some((_, parts)) = value.split_once('(')
            && let Some(kelvin) = parts.split(',').find(|part| part.contains(" K"))
        {
            return localised_number(kelvin).map(|kelvin| kelvin - KELVIN);
        }
        let degrees = localised_number(&value)?;
        let unit = value.trim_start_matches(|letter: char| {
            letter.is_ascii_digit() || matches!(letter, '.' | ',' | ' ' | '°')
        });
        let is_fahrenheit = unit.starts_with('F');
        Some(if is_fahrenheit { ((degrees - 32.0) / 1.8).round() } else { degrees })
    }
}
