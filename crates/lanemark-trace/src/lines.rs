//! Reads the lines of any input, one at a time, into one buffer.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

/// Maximum length of a line; the lines of all formats are less than a hundredth as long.
pub(crate) const LINE_MAX: usize = 64 * 1024;

/// Maximum number of bytes in lines that are read ahead, without the last line.
const AHEAD_MAX: usize = 64 * 1024;

/// UTF-8's byte order mark, which some programs write before the first line.
const MARK: &[u8] = b"\xef\xbb\xbf";

pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// The number of the line in the buffer, counted from 1.
    number: u64,
    /// Whether the line in the buffer is returned again.
    held: bool,
    /// Whether the line in the buffer ends with a line feed.
    ended: bool,
    /// Lines that were read ahead, each with its line feed.
    ahead: VecDeque<Vec<u8>>,
    /// The failure that ended the read-ahead, which is reported when the reader reaches this position.
    failure: Option<io::Error>,
}

/// The reason why there is no line.
pub(crate) enum LineError {
    /// The input could not be read.
    Input(io::Error),
    /// The line is longer than [`LINE_MAX`].
    TooLong,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            number: 0,
            held: false,
            ended: true,
            ahead: VecDeque::new(),
            failure: None,
        }
    }

    /// Advances to the next line; returns false at the end of the input.
    pub(crate) fn advance(&mut self) -> Result<bool, LineError> {
        if self.held {
            self.held = false;
            return Ok(true);
        }
        self.buffer.clear();
        let read = match self.ahead.pop_front() {
            Some(line) => {
                self.buffer = line;
                self.buffer.len()
            }
            None => match self.failure.take() {
                Some(error) => return Err(LineError::Input(error)),
                None => read(&mut self.input, &mut self.buffer).map_err(LineError::Input)?,
            },
        };
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
        // Mails and forums quote lines with `> `; a line of a trace never begins with this character.
        while self.buffer.first() == Some(&b'>') {
            let blank = usize::from(self.buffer.get(1) == Some(&b' '));
            self.buffer.drain(..=blank);
        }
        Ok(true)
    }

    /// Reads up to `most` lines ahead without advancing to them, and returns them. Fewer lines are read at the end of
    /// the input, at a failure, or if they fill [`AHEAD_MAX`] bytes.
    pub(crate) fn read_ahead(&mut self, most: usize) -> impl Iterator<Item = &[u8]> {
        let mut bytes: usize = self.ahead.iter().map(Vec::len).sum();
        while self.ahead.len() < most && bytes < AHEAD_MAX && self.failure.is_none() {
            let mut line = Vec::new();
            match read(&mut self.input, &mut line) {
                Ok(0) => break,
                Ok(length) => {
                    bytes += length;
                    self.ahead.push_back(line);
                }
                Err(error) => self.failure = Some(error),
            }
        }
        self.ahead.iter().map(Vec::as_slice)
    }

    /// Makes the next [`Lines::advance`] return the same line again.
    pub(crate) fn hold(&mut self) {
        self.held = true;
    }

    /// Returns the line without its line end.
    pub(crate) fn line(&self) -> &[u8] {
        &self.buffer
    }

    /// Returns the number of the line, counted from 1; 0 before the first line.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether the file ends in the middle of this line.
    pub(crate) fn is_cut(&self) -> bool {
        !self.ended
    }
}

/// Reads a line with its line end, up to one byte more than [`LINE_MAX`].
fn read(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    input.take(LINE_MAX as u64 + 1).read_until(b'\n', line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_were_read_ahead_come_again_in_order() {
        let mut lines = Lines::new(&b"a\nb\r\nc"[..]);
        assert!(lines.advance().is_ok_and(|more| more));
        assert_eq!(lines.read_ahead(9).count(), 2);
        let mut rest = Vec::new();
        while lines.advance().is_ok_and(|more| more) {
            rest.push((lines.number(), lines.line().to_vec(), lines.is_cut()));
        }
        assert_eq!(rest, [(2, b"b".to_vec(), false), (3, b"c".to_vec(), true)]);
        let endless = vec![b'x'; 10 * LINE_MAX];
        let mut lines = Lines::new(endless.as_slice());
        assert!(lines.read_ahead(usize::MAX).map(<[u8]>::len).sum::<usize>() < 3 * AHEAD_MAX);
    }

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

    #[test]
    fn reading_ahead_stops_when_the_bytes_suffice() {
        // Each line has 1,024 bytes with its end, so that 64 lines are exactly the maximum.
        let text = [vec![b'x'; 1023], vec![b'\n']].concat().repeat(200);
        let mut lines = Lines::new(text.as_slice());
        assert_eq!(lines.read_ahead(10).count(), 10);
        assert_eq!(lines.read_ahead(usize::MAX).count(), AHEAD_MAX / 1024);
        assert_eq!(lines.read_ahead(usize::MAX).count(), AHEAD_MAX / 1024);
    }
}
