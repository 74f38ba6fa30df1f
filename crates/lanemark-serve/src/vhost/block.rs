//! Requests of a virtio block device, and its description (virtio 1.2, 5.2).

use super::message::{F_PROTOCOL_FEATURES, FieldReader};

/// Length of a request's header, which precedes its data.
pub const HEAD: u64 = 16;
/// The string that identifies the device; a guest shows it as the serial number.
pub const IDENTITY: [u8; 20] = *b"lanemark\0\0\0\0\0\0\0\0\0\0\0\0";
/// Bytes in a sector, the unit of offsets.
const SECTOR: u64 = 512;
/// Maximum number of parts in a request's data.
const PARTS: u32 = 254;
/// Maximum number of sectors in a request that writes zeroes, and in a discard.
const ZEROED_MAX: u32 = 1 << 21;

const SEG_MAX: u64 = 1 << 2;
const BLOCK_SIZE: u64 = 1 << 6;
const FLUSH: u64 = 1 << 9;
const DISCARD: u64 = 1 << 13;
const WRITE_ZEROES: u64 = 1 << 14;
const INDIRECT: u64 = 1 << 28;
const VERSION_1: u64 = 1 << 32;

/// The features of the device.
pub const FEATURES: u64 = SEG_MAX
    | BLOCK_SIZE
    | FLUSH
    | DISCARD
    | WRITE_ZEROES
    | INDIRECT
    | VERSION_1
    | F_PROTOCOL_FEATURES;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockRequest {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Stores all written data.
    Flush,
    /// Makes a range read as zeroes, as a hole or with allocated space.
    Zero {
        /// Whether the space is released.
        hole: bool,
    },
    /// Queries the identity of the device.
    Identity,
}

/// The outcome of a request, which is the last byte of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockStatus {
    /// Done.
    Good = 0,
    /// Failed.
    Failed = 1,
    /// Not supported here.
    Unsupported = 2,
}

/// A range in bytes: its offset and its length.
pub type ByteRange = (u64, u64);

/// Reads a request to a device of `size` bytes from the first bytes of the request, up to 32 of them. `sent` is the
/// number of data bytes after the header, and `room` is the number of data bytes that the reply may have in addition to
/// the outcome.
///
/// # Errors
/// Returns the outcome of a request that is not valid.
pub fn read(
    first: &[u8],
    sent: u64,
    room: u64,
    size: u64,
) -> Result<(BlockRequest, ByteRange), BlockStatus> {
    let mut fields = FieldReader(first);
    let (Some(kind), Some(_), Some(sector)) = (fields.u32(), fields.u32(), fields.u64()) else {
        return Err(BlockStatus::Failed);
    };
    let checked_range = |sector: u64, length: u64| {
        let offset = sector.checked_mul(SECTOR).ok_or(BlockStatus::Failed)?;
        let end = offset.checked_add(length).ok_or(BlockStatus::Failed)?;
        let whole = length > 0 && length.is_multiple_of(SECTOR);
        if whole && end <= size { Ok((offset, length)) } else { Err(BlockStatus::Failed) }
    };
    match kind {
        0 => Ok((BlockRequest::Read, checked_range(sector, room)?)),
        1 => Ok((BlockRequest::Write, checked_range(sector, sent)?)),
        4 => Ok((BlockRequest::Flush, (0, 0))),
        8 => Ok((BlockRequest::Identity, (0, room.min(IDENTITY.len() as u64)))),
        11 | 13 => {
            let (Some(sector), Some(sectors), Some(flags)) =
                (fields.u64(), fields.u32(), fields.u32())
            else {
                return Err(BlockStatus::Failed);
            };
            // Each request has one range. The only known flag releases the space of the zeroed range.
            let known = if kind == 13 { 1 } else { 0 };
            if sent != 16 || flags & !known != 0 {
                return Err(BlockStatus::Unsupported);
            }
            if sectors > ZEROED_MAX {
                return Err(BlockStatus::Failed);
            }
            let range = checked_range(sector, u64::from(sectors) * SECTOR)?;
            Ok((BlockRequest::Zero { hole: kind == 11 || flags == 1 }, range))
        }
        _ => Err(BlockStatus::Unsupported),
    }
}

/// Returns the description of a device of `size` bytes.
pub fn config(size: u64) -> Vec<u8> {
    let mut bytes = (size / SECTOR).to_le_bytes().to_vec();
    let mut numbers = [0u32; 13];
    numbers[1] = PARTS;
    numbers[3] = SECTOR as u32;
    // These are the limits for discards and zero writes: sectors, ranges and alignment.
    (numbers[7], numbers[8], numbers[9]) = (ZEROED_MAX, 1, 1);
    (numbers[10], numbers[11]) = (ZEROED_MAX, 1);
    // Written zeroes may release space.
    numbers[12] = 1;
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(kind: u32, sector: u64) -> Vec<u8> {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend([0; 4]);
        bytes.extend(sector.to_le_bytes());
        bytes
    }

    fn zeroes(kind: u32, sector: u64, sectors: u32, flags: u32) -> Vec<u8> {
        let mut bytes = head(kind, 0);
        bytes.extend(sector.to_le_bytes());
        bytes.extend(sectors.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes
    }

    #[test]
    fn requests_lie_within_the_device() {
        let size = 1 << 20;
        assert_eq!(read(&head(0, 2), 0, 4096, size), Ok((BlockRequest::Read, (1024, 4096))));
        assert_eq!(
            read(&head(1, 2047), 512, 0, size),
            Ok((BlockRequest::Write, (2047 * 512, 512)))
        );
        assert_eq!(read(&head(4, 0), 0, 0, size), Ok((BlockRequest::Flush, (0, 0))));
        for (kind, sector, sent, room) in [
            (1, 2047, 1024, 0),
            (1, 2048, 512, 0),
            (0, u64::MAX, 0, 512),
            (0, u64::MAX / 512, 0, 512),
            (0, 0, 0, 0),
            (0, 0, 0, 100),
        ] {
            assert_eq!(read(&head(kind, sector), sent, room, size), Err(BlockStatus::Failed));
        }
        assert_eq!(read(&head(99, 0), 0, 0, size), Err(BlockStatus::Unsupported));
        assert_eq!(read(&head(0, 0)[..15], 0, 512, size), Err(BlockStatus::Failed));
    }

    #[test]
    fn a_discard_and_written_zeroes_have_one_range_within_the_device() {
        let size = 1 << 20;
        let zero =
            |kind, sector, sectors, flags| read(&zeroes(kind, sector, sectors, flags), 16, 0, size);
        assert_eq!(zero(11, 8, 8, 0), Ok((BlockRequest::Zero { hole: true }, (4096, 4096))));
        assert_eq!(zero(13, 8, 8, 0), Ok((BlockRequest::Zero { hole: false }, (4096, 4096))));
        assert_eq!(zero(13, 8, 8, 1), Ok((BlockRequest::Zero { hole: true }, (4096, 4096))));
        assert_eq!(zero(11, 8, 8, 1), Err(BlockStatus::Unsupported));
        assert_eq!(zero(13, 2040, 9, 0), Err(BlockStatus::Failed));
        assert_eq!(zero(13, 0, u32::MAX, 0), Err(BlockStatus::Failed));
        assert_eq!(read(&zeroes(11, 0, 8, 0), 32, 0, size), Err(BlockStatus::Unsupported));
    }

    #[test]
    fn the_description_has_its_fields_at_their_places() {
        let bytes = config(1 << 20);
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(bytes.len(), 60);
        assert_eq!((number(0), number(12), number(20)), (2048, PARTS, 512));
        assert_eq!((number(36), number(40), number(44)), (ZEROED_MAX, 1, 1));
        assert_eq!((number(48), number(52), bytes[56]), (ZEROED_MAX, 1, 1));
    }
}
