//! The NBD protocol, as pure functions of bytes: no socket, no data, no clock.
//!
//! After the protocol's document (`doc/proto.md` of the NetworkBlockDevice project): fixed newstyle [`negotiation`],
//! then [`transmission`] with simple, structured or extended replies.
//!
//! TLS is in front of all this (`tls`, where it is built in); without it `NBD_OPT_STARTTLS` is refused as not supported.
//!
//! Not spoken: oldstyle, block status of other contexts than `base:allocation`, resizing.

pub mod negotiation;
pub mod transmission;

use std::fmt;

/// The most data of a request, which is the most that a client may ask for unless a server says otherwise.
pub const PAYLOAD_MAX: u64 = 32 << 20;
/// The smallest block that a client which asks for block sizes may address: a sector.
pub const BLOCK_MIN: u32 = 512;
/// The block that is served best.
pub const BLOCK_PREFERRED: u32 = 4096;
/// The number of the one metadata context, `base:allocation`.
pub const CONTEXT: u32 = 1;
/// The name of the one metadata context.
pub const CONTEXT_NAME: &str = "base:allocation";

/// Description of an export for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Name of the export; the empty name stands for it too.
    pub name: String,
    /// Words about the export, for people.
    pub description: String,
    /// Length in bytes.
    pub size: u64,
    /// Whether the drive is a hard disk.
    pub is_rotational: bool,
}

/// The form of replies that was agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub enum Replies {
    /// Simple replies.
    #[default]
    Simple,
    /// Structured replies.
    Structured,
    /// Extended headers, of requests too.
    Extended,
}

/// Agreements made before transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// The form of replies.
    pub replies: Replies,
    /// Whether block status of `base:allocation` may be asked for.
    pub has_context: bool,
    /// Whether the client has learned the block sizes, and keeps them.
    pub knows_blocks: bool,
}

/// An error of the protocol: a number that both ends know, whatever their systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NbdError {
    /// Not permitted: the drive takes no writes.
    Permission = 1,
    /// The drive failed.
    Io = 5,
    /// No memory.
    Memory = 12,
    /// The request makes no sense.
    Invalid = 22,
    /// No space, or beyond the end in a write.
    NoSpace = 28,
    /// The reply would be too long.
    Overflow = 75,
    /// Not supported.
    Unsupported = 95,
    /// The drive is gone, or the server ends.
    Shutdown = 108,
}

impl fmt::Display for NbdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Permission => "the drive takes no writes",
            Self::Io => "the drive failed",
            Self::Memory => "no memory",
            Self::Invalid => "the request makes no sense here",
            Self::NoSpace => "beyond the end of the export",
            Self::Overflow => "the reply would be too long",
            Self::Unsupported => "not supported",
            Self::Shutdown => "the drive is gone",
        })
    }
}

/// Reads big-endian numbers off the front of bytes; none where they end before.
struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (front, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(front)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    /// A text behind its length in four bytes.
    fn text(&mut self) -> Option<&'b [u8]> {
        let length = self.u32()?;
        self.take(usize::try_from(length).ok()?)
    }
}
