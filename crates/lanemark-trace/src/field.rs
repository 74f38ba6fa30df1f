//! The fields of a line, each with its column in the line, and the parsers of their values.

use lanemark_schema::text::is_shown;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    /// Column of the error in bytes, counted from 1; `None` if the error is about the whole line.
    pub(crate) column: Option<usize>,
    pub(crate) message: String,
    pub(crate) hint: Option<&'static str>,
}

/// A part of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'l> {
    /// Name of the field in the format.
    pub(crate) name: &'static str,
    pub(crate) text: &'l [u8],
    /// Start of the field in the line, in bytes, counted from 0.
    pub(crate) start: usize,
}

/// A line that is read field by field.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'l> {
    line: &'l [u8],
    next: usize,
    /// The byte between cells.
    separator: u8,
}

impl FieldError {
    /// Creates an error about a whole line.
    pub(crate) fn line(message: impl Into<String>) -> Self {
        Self { column: None, message: message.into(), hint: None }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }
}

impl<'l> Field<'l> {
    /// Returns an error that states the expected value of the field.
    #[cold]
    pub(crate) fn fault(&self, expected: &str) -> FieldError {
        let message = format!("{} is `{}`; expected {expected}", self.name, shown_text(self.text));
        FieldError { column: Some(self.start + 1), message, hint: None }
    }

    #[inline]
    pub(crate) fn integer(&self) -> Result<u64, FieldError> {
        if self.text.is_empty() {
            return Err(self.fault("a whole number"));
        }
        let mut value: u64 = 0;
        for byte in self.text {
            let digit = u64::from(byte.wrapping_sub(b'0'));
            if digit > 9 {
                return Err(self.fault("a whole number"));
            }
            let Some(next) = value.checked_mul(10).and_then(|tens| tens.checked_add(digit)) else {
                return Err(self.fault("a number below 2^64"));
            };
            value = next;
        }
        Ok(value)
    }

    /// Parses a number with or without decimals, and returns it as a number of steps; one unit consists of `steps`
    /// steps. A fraction of a step is truncated.
    #[inline]
    pub(crate) fn decimal(&self, steps: u64) -> Result<u128, FieldError> {
        // A cell contains a comma only if another separator ends it.
        let is_mark = |&byte: &u8| byte == b'.' || byte == b',';
        let point = self.text.iter().position(is_mark).unwrap_or(self.text.len());
        let (whole, fraction) = self.text.split_at(point);
        let whole = Field { text: whole, ..*self }.integer().map_err(|_| self.not_a_number())?;
        let value = u128::from(whole) * u128::from(steps);
        let Some(fraction) = fraction.get(1..) else { return Ok(value) };
        if fraction.is_empty() {
            return Err(self.not_a_number());
        }
        let mut digits: u128 = 0;
        let mut scale: u128 = 1;
        for byte in fraction {
            let digit = u128::from(byte.wrapping_sub(b'0'));
            if digit > 9 {
                return Err(self.not_a_number());
            }
            // Eighteen decimals are finer than any step, and more decimals would overflow.
            if scale < 1_000_000_000_000_000_000 {
                scale *= 10;
                digits = digits * 10 + digit;
            }
        }
        Ok(value + u128::from(steps) * digits / scale)
    }

    #[cold]
    fn not_a_number(&self) -> FieldError {
        self.fault("a number")
    }
}

impl<'l> Fields<'l> {
    pub(crate) fn new(line: &'l [u8]) -> Self {
        Self { line, next: 0, separator: b',' }
    }

    /// Starts to read cells that are separated by semicolons, as in locales with a decimal comma, if the line contains
    /// one.
    pub(crate) fn with_semicolons(line: &'l [u8]) -> Self {
        let separator = if line.contains(&b';') { b';' } else { b',' };
        Self { separator, ..Self::new(line) }
    }

    /// Returns whether the line contains the byte between cells.
    pub(crate) fn has_cells(&self) -> bool {
        self.line.contains(&self.separator)
    }

    /// Returns the next field, which ends at white space.
    #[inline]
    pub(crate) fn word(&mut self, name: &'static str) -> Result<Field<'l>, FieldError> {
        self.optional_word(name).ok_or_else(|| self.missing(name))
    }

    /// Returns the next field, which ends at white space; `None` if there is no other field.
    #[inline]
    pub(crate) fn optional_word(&mut self, name: &'static str) -> Option<Field<'l>> {
        let rest = &self.line[self.next..];
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let start = self.next + blank;
        let length =
            self.line[start..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        self.next = start + length;
        (length > 0).then(|| Field { name, text: &self.line[start..self.next], start })
    }

    /// Returns the next field, which ends at a separator, without the white space around it.
    #[inline]
    pub(crate) fn cell(&mut self, name: &'static str) -> Result<Field<'l>, FieldError> {
        self.optional_cell(name).ok_or_else(|| self.missing(name))
    }

    /// Returns the next field, which ends at a separator; `None` if there is no other field.
    #[inline]
    pub(crate) fn optional_cell(&mut self, name: &'static str) -> Option<Field<'l>> {
        if self.next > self.line.len() {
            return None;
        }
        let rest = &self.line[self.next..];
        let length = rest.iter().position(|&byte| byte == self.separator).unwrap_or(rest.len());
        let text = &rest[..length];
        let blank = text.len() - text.trim_ascii_start().len();
        let start = self.next + blank;
        // One past the end means that there are no other fields; a separator at the end is followed by an empty field.
        self.next += length + 1;
        Some(Field { name, text: text.trim_ascii(), start })
    }

    /// Returns the bytes of the line from the start of `first` to the end of `last`.
    pub(crate) fn between(&self, first: &Field<'l>, last: &Field<'l>) -> &'l [u8] {
        &self.line[first.start..last.start + last.text.len()]
    }

    /// Checks that no other field follows.
    pub(crate) fn cells_end(&mut self, count: usize) -> Result<(), FieldError> {
        match self.optional_cell("field") {
            None => Ok(()),
            Some(extra) => Err(extra.fault(&format!("the end of the line after {count} fields"))),
        }
    }

    /// Checks that only white space follows.
    pub(crate) fn words_end(&mut self, count: usize) -> Result<(), FieldError> {
        match self.optional_word("field") {
            None => Ok(()),
            Some(extra) => Err(extra.fault(&format!("the end of the line after {count} fields"))),
        }
    }

    #[cold]
    fn missing(&self, name: &str) -> FieldError {
        FieldError {
            column: Some(self.line.len() + 1),
            message: format!("the line ends before {name}"),
            hint: None,
        }
    }
}

/// Returns a value in a form that can be displayed: printable and not too long.
pub(crate) fn shown_text(text: &[u8]) -> String {
    const SHOWN_MAX: usize = 40;
    let cut = &text[..text.len().min(SHOWN_MAX)];
    let mark = if cut.len() < text.len() { "…" } else { "" };
    match std::str::from_utf8(cut) {
        Ok(clean) if clean.chars().all(is_shown) => format!("{clean}{mark}"),
        _ => format!("{}{mark}", cut.escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str) -> Field<'_> {
        Field { name: "time", text: text.as_bytes(), start: 4 }
    }

    #[test]
    fn numbers_are_read_exactly_or_refused() {
        assert_eq!(field("18446744073709551615").integer().unwrap(), u64::MAX);
        for bad in ["", "18446744073709551616", "-1", "+1", "1.5", "0x10", "1 2"] {
            assert!(field(bad).integer().is_err(), "{bad}");
        }
        assert_eq!(field("12.000000001").decimal(1_000_000_000_000).unwrap(), 12_000_000_001_000);
        assert_eq!(field("0.1").decimal(1_000).unwrap(), 100);
        assert_eq!(field("0,1").decimal(1_000).unwrap(), 100);
        assert_eq!(field("7").decimal(1_000).unwrap(), 7_000);
        for bad in ["", ".", "1.", ".5", "1.2.3", "1e9", "-0.1"] {
            assert!(field(bad).decimal(1_000).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_fault_states_field_value_and_column() {
        let fault = field("12a").integer().unwrap_err();
        assert_eq!(fault.column, Some(5));
        assert_eq!(fault.message, "time is `12a`; expected a whole number");
    }

    #[test]
    fn cells_and_words_know_their_places() {
        let mut cells = Fields::new(b"a, b ,,c");
        let positions: Vec<(usize, &[u8])> =
            std::iter::from_fn(|| cells.optional_cell("x")).map(|f| (f.start, f.text)).collect();
        let expected: [(usize, &[u8]); 4] = [(0, b"a"), (3, b"b"), (6, b""), (7, b"c")];
        assert_eq!(positions, expected);
        let mut words = Fields::new(b"  8,0  1 ");
        assert_eq!(words.word("x").unwrap().start, 2);
        assert_eq!(words.word("x").unwrap().text, b"1");
        assert_eq!(words.word("sector").unwrap_err().message, "the line ends before sector");
    }
}
