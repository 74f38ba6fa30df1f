//! The NBD protocol, as pure functions of bytes: no socket, no data, no clock.
//!
//! The module follows the protocol's document (`doc/proto.md` of the NetworkBlockDevice project): fixed newstyle
//! [`negotiation`], then [`transmission`] with simple, structured or extended replies.
//!
//! TLS is not supported, so `NBD_OPT_STARTTLS` is rejected.
//!
//! Not implemented: oldstyle, block status of contexts other than `base:allocation`, resizing.

pub mod negotiation;
pub mod transmission;

use std::fmt;

/// Maximum payload of a request, which is the protocol's maximum unless a server states a different maximum.
pub const PAYLOAD_MAX: u64 = 32 << 20;
/// The minimum block size for a client that requests block sizes: one sector.
pub const BLOCK_MIN: u32 = 512;
pub const BLOCK_PREFERRED: u32 = 4096;
/// The number of the only metadata context, `base:allocation`.
pub const CONTEXT: u32 = 1;
/// The name of the only metadata context.
pub const CONTEXT_NAME: &str = "base:allocation";

/// Description of an export for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Name of the export; the empty name also selects it.
    pub name: String,
    /// Description of the export, for display.
    pub description: String,
    /// Length in bytes.
    pub size: u64,
    /// Whether the drive is a hard disk.
    pub is_rotational: bool,
}

/// The negotiated form of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub enum ReplyForm {
    #[default]
    Simple,
    Structured,
    /// Extended headers, also of requests.
    Extended,
}

/// The result of the negotiation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NegotiatedExport {
    pub replies: ReplyForm,
    /// Whether the client may query block status of `base:allocation`.
    pub has_context: bool,
    /// Whether the client has received the block sizes, and respects them.
    pub knows_blocks: bool,
}

/// An error code of the protocol, which is the same number on all systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NbdError {
    /// The request is not permitted, because the drive does not accept writes.
    Permission = 1,
    /// The drive failed.
    Io = 5,
    /// There is not enough memory.
    Memory = 12,
    Invalid = 22,
    /// There is no space, or a write extends past the end.
    NoSpace = 28,
    /// The reply would be too long.
    Overflow = 75,
    /// Not supported.
    Unsupported = 95,
    /// The drive has disappeared, or the server is shutting down.
    Shutdown = 108,
}

impl fmt::Display for NbdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Permission => "the drive does not accept writes",
            Self::Io => "the drive failed",
            Self::Memory => "no memory",
            Self::Invalid => "the request is not valid",
            Self::NoSpace => "beyond the end of the export",
            Self::Overflow => "the reply would be too long",
            Self::Unsupported => "not supported",
            Self::Shutdown => "the drive has disappeared",
        })
    }
}

/// Reads big-endian numbers from the start of a byte string; returns `None` if too few bytes are left.
struct FieldReader<'b>(&'b [u8]);

impl<'b> FieldReader<'b> {
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

    /// Reads a string that follows its length, which is a four-byte number.
    fn text(&mut self) -> Option<&'b [u8]> {
        let length = self.u32()?;
        self.take(usize::try_from(length).ok()?)
    }
}
