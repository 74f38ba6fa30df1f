//! The transmission phase: reads and checks requests, and writes replies.

use lanemark_schema::result::ErrorKind;

use super::{BLOCK_MIN, CONTEXT, FieldReader, NbdError, NegotiatedExport, PAYLOAD_MAX, ReplyForm};
use crate::data::ExportRange;

/// Length of a request's header.
pub const HEADER: usize = 28;
/// Length of an extended request's header.
pub const EXTENDED_HEADER: usize = 32;

const REQUEST: u32 = 0x2560_9513;
const EXTENDED_REQUEST: u32 = 0x21e4_1c71;
const SIMPLE_REPLY: u32 = 0x6744_6698;
const STRUCTURED_REPLY: u32 = 0x668e_33ef;
const EXTENDED_REPLY: u32 = 0x6e8a_278c;

// Flags of commands.
const FUA: u16 = 1;
const NO_HOLE: u16 = 1 << 1;
const DF: u16 = 1 << 2;
const REQ_ONE: u16 = 1 << 3;
const FAST_ZERO: u16 = 1 << 4;
const PAYLOAD_LEN: u16 = 1 << 5;

// The types of chunks in structured and extended replies.
const DONE: u16 = 1;
const NONE: u16 = 0;
const OFFSET_DATA: u16 = 1;
const BLOCK_STATUS: u16 = 5;
const BLOCK_STATUS_EXT: u16 = 6;
const ERROR: u16 = 1 << 15 | 1;

// Flags of a range: the range is not allocated; the range reads as zeroes.
const HOLE: u32 = 1;
const ZERO: u32 = 2;

/// Maximum number of ranges in the reply to a block status query.
pub const STRETCHES_MAX: usize = 1024;

/// A command of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbdCommand {
    Read,
    /// Writes data; with forced unit access, the data is stored before the reply.
    Write {
        /// Whether the data is stored before the reply.
        stored: bool,
    },
    /// Ends the connection.
    Disconnect,
    /// Stores all writes that have been answered.
    Flush,
    /// Releases a range that the client no longer needs.
    Trim {
        /// Whether the trim is stored before the reply.
        stored: bool,
    },
    /// Reads a range into the cache without sending it.
    Cache,
    /// Makes a range read as zeroes.
    Zero {
        /// Whether the zeroes are stored before the reply.
        stored: bool,
        /// Whether the range may become a hole.
        hole: bool,
    },
    /// Queries which parts of a range contain data.
    Status {
        /// Whether the status of the first part suffices.
        one: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    flags: u16,
    kind: u16,
    /// Number that identifies the reply for the client.
    pub cookie: u64,
    /// First byte of the range.
    pub offset: u64,
    /// Length of the range, or of the payload.
    pub length: u64,
    extended: bool,
}

impl RequestHeader {
    pub fn length_of(replies: ReplyForm) -> usize {
        match replies {
            ReplyForm::Extended => EXTENDED_HEADER,
            _ => HEADER,
        }
    }

    /// Reads a header; returns `None` if the bytes are not a header, in which case the start of the next header is
    /// unknown.
    pub fn read(bytes: &[u8], replies: ReplyForm) -> Option<Self> {
        let extended = replies == ReplyForm::Extended;
        let mut fields = FieldReader(bytes);
        let magic = fields.u32()?;
        if magic != if extended { EXTENDED_REQUEST } else { REQUEST } {
            return None;
        }
        let flags = fields.u16()?;
        let kind = fields.u16()?;
        let cookie = fields.u64()?;
        let offset = fields.u64()?;
        let length = if extended { fields.u64()? } else { fields.u32()?.into() };
        Some(Self { flags, kind, cookie, offset, length, extended })
    }

    /// Returns the length of the data after the header, regardless of errors in the request.
    pub fn payload(&self) -> u64 {
        let has = if self.extended { self.flags & PAYLOAD_LEN != 0 } else { self.kind == 1 };
        if has { self.length } else { 0 }
    }

    /// Returns the command, if it is valid for an export of `size` bytes.
    ///
    /// # Errors
    /// Returns the error for the reply.
    pub fn command(&self, agreed: &NegotiatedExport, size: u64) -> Result<NbdCommand, NbdError> {
        let stored = self.flags & FUA != 0;
        let (command, may) = match self.kind {
            0 => (NbdCommand::Read, DF | FUA),
            1 => (NbdCommand::Write { stored }, FUA),
            2 => return Ok(NbdCommand::Disconnect),
            3 => (NbdCommand::Flush, FUA),
            4 => (NbdCommand::Trim { stored }, FUA),
            5 => (NbdCommand::Cache, FUA),
            6 => {
                let hole = self.flags & NO_HOLE == 0;
                if self.flags & FAST_ZERO != 0 && !hole {
                    return Err(NbdError::Unsupported);
                }
                (NbdCommand::Zero { stored, hole }, FUA | NO_HOLE | FAST_ZERO)
            }
            7 if agreed.has_context => {
                (NbdCommand::Status { one: self.flags & REQ_ONE != 0 }, FUA | REQ_ONE)
            }
            _ => return Err(NbdError::Invalid),
        };
        let needs_payload = self.kind == 1 && self.extended;
        let may = if needs_payload { may | PAYLOAD_LEN } else { may };
        let df_unknown = self.flags & DF != 0 && agreed.replies == ReplyForm::Simple;
        if self.flags & !may != 0 || df_unknown || needs_payload && self.flags & PAYLOAD_LEN == 0 {
            return Err(NbdError::Invalid);
        }
        if command == NbdCommand::Flush {
            return if self.offset == 0 && self.length == 0 {
                Ok(command)
            } else {
                Err(NbdError::Invalid)
            };
        }
        let writes = matches!(command, NbdCommand::Write { .. } | NbdCommand::Zero { .. });
        if self.offset.checked_add(self.length).is_none_or(|end| end > size) {
            return Err(if writes { NbdError::NoSpace } else { NbdError::Invalid });
        }
        let moves_data = matches!(command, NbdCommand::Read | NbdCommand::Write { .. });
        let block = u64::from(BLOCK_MIN);
        let aligned = self.offset.is_multiple_of(block) && self.length.is_multiple_of(block);
        if self.length == 0
            || moves_data && self.length > PAYLOAD_MAX
            || agreed.knows_blocks && !aligned
        {
            return Err(NbdError::Invalid);
        }
        Ok(command)
    }
}

/// Writes replies in the negotiated form.
#[derive(Clone, Copy, Debug)]
pub struct ReplyWriter {
    replies: ReplyForm,
}

impl ReplyWriter {
    pub fn new(replies: ReplyForm) -> Self {
        Self { replies }
    }

    /// Writes the reply to a successful request without data.
    pub fn write_success(self, header: &RequestHeader, out: &mut Vec<u8>) {
        match self.replies {
            ReplyForm::Simple | ReplyForm::Structured => write_simple_reply(out, 0, header.cookie),
            ReplyForm::Extended => self.write_chunk_header(header, NONE, 0, out),
        }
    }

    /// Writes the reply to a request that failed.
    pub fn write_failure(self, header: &RequestHeader, error: NbdError, out: &mut Vec<u8>) {
        let number = error as u32;
        if self.replies == ReplyForm::Simple {
            return write_simple_reply(out, number, header.cookie);
        }
        let text = error.to_string();
        self.write_chunk_header(header, ERROR, 6 + text.len() as u64, out);
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&(text.len() as u16).to_be_bytes());
        out.extend_from_slice(text.as_bytes());
    }

    /// Writes the part of the reply to a successful read that precedes the data.
    pub fn before_data(self, header: &RequestHeader, out: &mut Vec<u8>) {
        if self.replies == ReplyForm::Simple {
            return write_simple_reply(out, 0, header.cookie);
        }
        self.write_chunk_header(header, OFFSET_DATA, 8 + header.length, out);
        out.extend_from_slice(&header.offset.to_be_bytes());
    }

    /// Writes the reply to a block status query.
    pub fn status(self, header: &RequestHeader, stretches: &[ExportRange], out: &mut Vec<u8>) {
        let flags = |range: &ExportRange| if range.hole { HOLE | ZERO } else { 0 };
        let count = stretches.len() as u64;
        if self.replies == ReplyForm::Extended {
            self.write_chunk_header(header, BLOCK_STATUS_EXT, 8 + 16 * count, out);
            out.extend_from_slice(&CONTEXT.to_be_bytes());
            out.extend_from_slice(&(count as u32).to_be_bytes());
            for range in stretches {
                out.extend_from_slice(&range.length.to_be_bytes());
                out.extend_from_slice(&u64::from(flags(range)).to_be_bytes());
            }
            return;
        }
        self.write_chunk_header(header, BLOCK_STATUS, 4 + 8 * count, out);
        out.extend_from_slice(&CONTEXT.to_be_bytes());
        for range in stretches {
            // A request of this form is shorter than four GiB, and so are its parts.
            let length = u32::try_from(range.length).unwrap_or(!(BLOCK_MIN - 1));
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(&flags(range).to_be_bytes());
        }
    }

    /// Writes the header of a reply's only chunk.
    fn write_chunk_header(self, header: &RequestHeader, kind: u16, length: u64, out: &mut Vec<u8>) {
        let extended = self.replies == ReplyForm::Extended;
        let magic = if extended { EXTENDED_REPLY } else { STRUCTURED_REPLY };
        out.extend_from_slice(&magic.to_be_bytes());
        out.extend_from_slice(&DONE.to_be_bytes());
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(&header.cookie.to_be_bytes());
        if extended {
            out.extend_from_slice(&header.offset.to_be_bytes());
            out.extend_from_slice(&length.to_be_bytes());
        } else {
            out.extend_from_slice(&(length as u32).to_be_bytes());
        }
    }
}

fn write_simple_reply(out: &mut Vec<u8>, error: u32, cookie: u64) {
    out.extend_from_slice(&SIMPLE_REPLY.to_be_bytes());
    out.extend_from_slice(&error.to_be_bytes());
    out.extend_from_slice(&cookie.to_be_bytes());
}

/// Converts an error of the model to an error of the protocol.
impl From<ErrorKind> for NbdError {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NoSpace => Self::NoSpace,
            ErrorKind::ReadOnly => Self::Permission,
            ErrorKind::DeviceGone => Self::Shutdown,
            ErrorKind::Ended => Self::Invalid,
            ErrorKind::Media
            | ErrorKind::Timeout
            | ErrorKind::Aborted
            | ErrorKind::Link
            | ErrorKind::Other => Self::Io,
        }
    }
}

/// Converts an error of the export's file to an error of the protocol.
impl From<std::io::Error> for NbdError {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        match error.kind() {
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => Self::NoSpace,
            Kind::OutOfMemory => Self::Memory,
            _ => Self::Io,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 1 << 30;

    fn bytes(flags: u16, kind: u16, offset: u64, length: u32) -> Vec<u8> {
        let mut bytes = REQUEST.to_be_bytes().to_vec();
        bytes.extend_from_slice(&flags.to_be_bytes());
        bytes.extend_from_slice(&kind.to_be_bytes());
        bytes.extend_from_slice(&77u64.to_be_bytes());
        bytes.extend_from_slice(&offset.to_be_bytes());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes
    }

    fn read(flags: u16, kind: u16, offset: u64, length: u32) -> RequestHeader {
        RequestHeader::read(&bytes(flags, kind, offset, length), ReplyForm::Simple).unwrap()
    }

    fn command(flags: u16, kind: u16, offset: u64, length: u32) -> Result<NbdCommand, NbdError> {
        let agreed = NegotiatedExport {
            replies: ReplyForm::Structured,
            has_context: true,
            knows_blocks: true,
        };
        read(flags, kind, offset, length).command(&agreed, SIZE)
    }

    #[test]
    fn a_header_is_read_whole_or_not_at_all() {
        let good = bytes(1, 1, 4096, 512);
        let header = RequestHeader::read(&good, ReplyForm::Structured).unwrap();
        assert_eq!((header.cookie, header.offset, header.length), (77, 4096, 512));
        assert_eq!(header.payload(), 512);
        for cut in 0..good.len() {
            assert_eq!(RequestHeader::read(&good[..cut], ReplyForm::Simple), None);
        }
        assert_eq!(RequestHeader::read(&good, ReplyForm::Extended), None);
        assert_eq!(read(0, 0, 0, 512).payload(), 0);
    }

    #[test]
    fn commands_have_the_flags_that_the_protocol_gives_them() {
        assert_eq!(command(0, 0, 0, 512), Ok(NbdCommand::Read));
        assert_eq!(command(DF, 0, 0, 512), Ok(NbdCommand::Read));
        assert_eq!(command(FUA, 1, 0, 512), Ok(NbdCommand::Write { stored: true }));
        assert_eq!(command(0, 3, 0, 0), Ok(NbdCommand::Flush));
        assert_eq!(
            command(NO_HOLE, 6, 0, 512),
            Ok(NbdCommand::Zero { stored: false, hole: false })
        );
        assert_eq!(command(NO_HOLE | FAST_ZERO, 6, 0, 512), Err(NbdError::Unsupported));
        assert_eq!(command(REQ_ONE, 7, 0, 512), Ok(NbdCommand::Status { one: true }));
        for (flags, kind) in [(NO_HOLE, 0), (DF, 1), (1 << 9, 0), (0, 8), (0, 99), (REQ_ONE, 3)] {
            assert_eq!(command(flags, kind, 0, 512), Err(NbdError::Invalid), "{flags} {kind}");
        }
        let simple = NegotiatedExport::default();
        assert_eq!(read(0, 7, 0, 512).command(&simple, SIZE), Err(NbdError::Invalid));
        assert_eq!(read(DF, 0, 0, 512).command(&simple, SIZE), Err(NbdError::Invalid));
    }

    #[test]
    fn nothing_beyond_the_end_is_touched() {
        assert_eq!(command(0, 0, SIZE - 512, 512), Ok(NbdCommand::Read));
        assert_eq!(command(0, 0, SIZE - 512, 1024), Err(NbdError::Invalid));
        assert_eq!(command(0, 1, SIZE - 512, 1024), Err(NbdError::NoSpace));
        assert_eq!(command(0, 6, SIZE, 512), Err(NbdError::NoSpace));
        for kind in [0, 1, 4, 5, 6, 7] {
            assert!(command(0, kind, u64::MAX - 511, 512).is_err());
            assert!(command(0, kind, u64::MAX - 511, u32::MAX).is_err());
        }
    }

    #[test]
    fn lengths_and_places_are_bounded() {
        assert_eq!(command(0, 0, 0, 0), Err(NbdError::Invalid));
        assert_eq!(command(0, 0, 0, 32 << 20), Ok(NbdCommand::Read));
        assert_eq!(command(0, 0, 0, (32 << 20) + 512), Err(NbdError::Invalid));
        assert_eq!(command(0, 4, 0, 1 << 30), Ok(NbdCommand::Trim { stored: false }));
        assert_eq!(command(0, 0, 100, 512), Err(NbdError::Invalid));
        let unasked = NegotiatedExport::default();
        assert_eq!(read(0, 0, 100, 7).command(&unasked, SIZE), Ok(NbdCommand::Read));
        assert_eq!(command(0, 3, 0, 512), Err(NbdError::Invalid));
    }

    #[test]
    fn replies_have_the_form_that_was_agreed_on() {
        let header = read(0, 0, 4096, 512);
        let written = |replies, write: &dyn Fn(ReplyWriter, &mut Vec<u8>)| {
            let mut out = Vec::new();
            write(ReplyWriter::new(replies), &mut out);
            out
        };
        let done = written(ReplyForm::Simple, &|writer, out| writer.write_success(&header, out));
        assert_eq!(done, [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 77]);
        let data = written(ReplyForm::Structured, &|writer, out| writer.before_data(&header, out));
        let before = [0x66, 0x8e, 0x33, 0xef, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 2, 8];
        assert_eq!(data, [&before[..], &4096u64.to_be_bytes()].concat());
        let failed = |writer: ReplyWriter, out: &mut Vec<u8>| {
            writer.write_failure(&header, NbdError::Io, out);
        };
        assert_eq!(written(ReplyForm::Simple, &failed)[4..8], 5u32.to_be_bytes());
        let structured = written(ReplyForm::Structured, &failed);
        assert_eq!(structured[6..8], ERROR.to_be_bytes());
        assert_eq!(structured[20..24], 5u32.to_be_bytes());
        let extended = written(ReplyForm::Extended, &failed);
        assert_eq!(extended[..4], EXTENDED_REPLY.to_be_bytes());
        assert_eq!(
            extended.len() as u64 - 32,
            u64::from_be_bytes(extended[24..32].try_into().unwrap())
        );
    }

    #[test]
    fn block_status_is_reported_by_extent() {
        let header = read(0, 7, 0, 8192);
        let stretches =
            [ExportRange { length: 4096, hole: true }, ExportRange { length: 4096, hole: false }];
        let mut out = Vec::new();
        ReplyWriter::new(ReplyForm::Structured).status(&header, &stretches, &mut out);
        assert_eq!(out[20..], [0, 0, 0, 1, 0, 0, 16, 0, 0, 0, 0, 3, 0, 0, 16, 0, 0, 0, 0, 0]);
        out.clear();
        ReplyWriter::new(ReplyForm::Extended).status(&header, &stretches, &mut out);
        assert_eq!(out.len(), 32 + 8 + 32);
    }

    #[test]
    fn an_extended_write_needs_its_payload_flag_and_others_must_not_have_it() {
        let extended = |flags: u16, kind: u16, length: u64| {
            let mut bytes = EXTENDED_REQUEST.to_be_bytes().to_vec();
            bytes.extend_from_slice(&flags.to_be_bytes());
            bytes.extend_from_slice(&kind.to_be_bytes());
            for number in [77, 0, length] {
                bytes.extend_from_slice(&number.to_be_bytes());
            }
            RequestHeader::read(&bytes, ReplyForm::Extended).unwrap()
        };
        let agreed = NegotiatedExport {
            replies: ReplyForm::Extended,
            has_context: true,
            knows_blocks: true,
        };
        let write = extended(PAYLOAD_LEN, 1, 512);
        assert_eq!(
            (write.payload(), write.command(&agreed, SIZE)),
            (512, Ok(NbdCommand::Write { stored: false }))
        );
        let without = extended(0, 1, 512);
        assert_eq!(
            (without.payload(), without.command(&agreed, SIZE)),
            (0, Err(NbdError::Invalid))
        );
        let read = extended(PAYLOAD_LEN, 0, 512);
        assert_eq!((read.payload(), read.command(&agreed, SIZE)), (512, Err(NbdError::Invalid)));
        assert_eq!(
            extended(0, 6, 1 << 30).command(&agreed, SIZE).unwrap(),
            NbdCommand::Zero { stored: false, hole: true }
        );
        assert_eq!(extended(0, 6, u64::MAX).command(&agreed, SIZE), Err(NbdError::NoSpace));
    }
}
