//! Lines of any input, one at a time in one buffer.

use std::io::{self, BufRead, Read};

/// The longest line that is read; no format has one of a hundredth of this.
pub(crate) const LINE_MAX: usize = 64 * 1024;

/// UTF-8's byte order mark, which some programs put before the first line.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The lines of an input.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// The number of the line in the buffer, from 1.
    number: u64,
    /// The line in the buffer is to be given once more.
    held: bool,
    /// The line in the buffer ends with a line feed.
    ended: bool,
}

/// The reason why there is no line.
pub(crate) enum LineError {
    /// The input failed.
    Input(io::Error),
    /// A line is longer than [`LINE_MAX`].
    TooLong,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), number: 0, held: false, ended: true }
    }

    /// Goes to the next line; false at the end of the input.
    pub(crate) fn advance(&mut self) -> Result<bool, LineError> {
        if self.held {
            self.held = false;
            return Ok(true);
        }
        self.buffer.clear();
        let mut limited = (&mut self.input).take(LINE_MAX as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.buffer).map_err(LineError::Input)?;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        self.ended = self.buffer.last() == Some(&b'\n');
        if read > LINE_MAX {
            return Err(LineError::TooLong);
        }
        if self.ended {
            self.buffer.pop();
        }
        if self.buffer.last() == Some(&b'\r') {
            self.buffer.pop();
        }
        if self.number == 1 && self.buffer.starts_with(MARK) {
            self.buffer.drain(..MARK.len());
        }
        Ok(true)
    }

    /// Lets the next [`Lines::advance`] stay where it is.
    pub(crate) fn hold(&mut self) {
        self.held = true;
    }

    /// The line, without its end.
    pub(crate) fn line(&self) -> &[u8] {
        &self.buffer
    }

    /// Returns the line's number, from 1; 0 before the first.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the file ends within this line.
    pub(crate) fn is_cut(&self) -> bool {
        !self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<String> {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        while lines.advance().is_ok_and(|more| more) {
            found.push(String::from_utf8_lossy(lines.line()).into_owned());
        }
        found
    }

    #[test]
    fn line_ends_of_both_kinds_and_a_mark_are_taken_off() {
        assert_eq!(all(b"\xef\xbb\xbfa\r\nb\n\nc"), ["a", "b", "", "c"]);
    }

    #[test]
    fn a_line_without_end_is_no_reason_to_fill_memory() {
        let endless = vec![b'x'; 10 * LINE_MAX];
        let mut lines = Lines::new(endless.as_slice());
        assert!(matches!(lines.advance(), Err(LineError::TooLong)));
        assert!(lines.buffer.capacity() < 4 * LINE_MAX);
    }
}
