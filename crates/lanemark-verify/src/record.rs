//! The records of a journal: 48 bytes each, little-endian, each with its own checksum.
//!
//! The checksum (CRC-32) also covers the run and the number of the record, so that a record from another journal or
//! position is invalid. A record also states how many earlier records were known to be on the journal's media, which
//! distinguishes a journal whose end was lost from a journal that was damaged in the middle.

/// Size of a record, in bytes.
pub(super) const RECORD: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// A write is about to be requested.
    Write,
    /// A write is about to be requested that must be on the media when it is acknowledged.
    DurableWrite,
    /// A trim is about to be requested.
    Trim,
    /// A flush is about to be requested.
    Flush,
    /// The request with this generation succeeded.
    Acknowledged,
    /// The request failed, and its effect is unknown.
    Failed,
    /// The run reached its end, or was stopped and completed its requests.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) kind: RecordKind,
    pub(super) generation: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
    /// Thread that submitted the request.
    pub(super) thread: u32,
    /// Time since the run began.
    pub(super) at_ns: u64,
}

const KINDS: [RecordKind; 7] = [
    RecordKind::Write,
    RecordKind::DurableWrite,
    RecordKind::Trim,
    RecordKind::Flush,
    RecordKind::Acknowledged,
    RecordKind::Failed,
    RecordKind::End,
];

impl Record {
    /// Encodes the record as number `number` in the journal of `run`; `synced` is the number of records known to be on
    /// the media.
    pub(super) fn encode(&self, run: u64, number: u64, synced: u64) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        let kind = KINDS.iter().position(|kind| *kind == self.kind).unwrap_or_default() as u32 + 1;
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.generation.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.at_ns.to_le_bytes());
        bytes[32..40].copy_from_slice(&synced.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.thread.to_le_bytes());
        let checksum = checksum(&bytes[..44], run, number);
        bytes[44..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Decodes the record and its number of synced records, if `bytes` contains the record `number` of `run`.
    pub(super) fn decode(bytes: &[u8], run: u64, number: u64) -> Option<(Self, u64)> {
        let bytes: &[u8; RECORD] = bytes.try_into().ok()?;
        let read_u64 = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes);
        let narrow = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes);
        if narrow(44).ok()? != checksum(&bytes[..44], run, number) {
            return None;
        }
        let kind = *KINDS.get((narrow(0).ok()? as usize).checked_sub(1)?)?;
        let record = Self {
            kind,
            generation: read_u64(8).ok()?,
            offset: read_u64(16).ok()?,
            length: narrow(4).ok()?,
            thread: narrow(40).ok()?,
            at_ns: read_u64(24).ok()?,
        };
        Some((record, read_u64(32).ok()?))
    }
}

fn checksum(bytes: &[u8], run: u64, number: u64) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(bytes);
    hasher.update(&run.to_le_bytes());
    hasher.update(&number.to_le_bytes());
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_is_read_back_only_at_its_own_position(
            kind in 0..KINDS.len(), generation: u64, offset: u64, length: u32, thread: u32, at_ns: u64,
            run: u64, number: u64, synced: u64, flipped in 0..RECORD * 8,
        ) {
            let record = Record { kind: KINDS[kind], generation, offset, length, thread, at_ns };
            let mut bytes = record.encode(run, number, synced);
            prop_assert_eq!(Record::decode(&bytes, run, number), Some((record, synced)));
            prop_assert_eq!(Record::decode(&bytes, run, number ^ 1), None);
            prop_assert_eq!(Record::decode(&bytes, run ^ 1, number), None);
            bytes[flipped / 8] ^= 1 << (flipped % 8);
            prop_assert_eq!(Record::decode(&bytes, run, number), None);
        }
    }
}
