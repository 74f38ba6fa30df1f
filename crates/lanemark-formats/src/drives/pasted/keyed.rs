//! Lines of a key, a separator and a value, as tools print them for people.

use super::super::described::TEXT_MAX;

/// Maximum number of lines that are read.
const LINES_MAX: usize = 100_000;

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

    /// Returns the number at the beginning of the first value of one of `keys`; `1,234` is 1234.
    pub(super) fn number(&self, keys: &[&str]) -> Option<f64> {
        let value = self.text(keys)?;
        let digits: String = value
            .chars()
            .take_while(|one| one.is_ascii_digit() || matches!(one, ',' | '.'))
            .collect();
        let number: f64 = digits.replace(',', "").parse().ok()?;
        number.is_finite().then_some(number)
    }
}
