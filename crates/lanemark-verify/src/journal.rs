//! The journal of requests and answers, stored so that it survives a kill or a power cut.
//!
//! The journal consists of a header of 96 bytes, followed by records of 48 bytes. It is append-only and protected by
//! one lock, so the order of records is an order of events: a request is recorded before it is submitted, and an answer
//! after it arrived. If the answer to A is recorded before the request of B, then A had ended when B began. Otherwise A
//! and B are assumed to have been concurrent, which allows more outcomes and never fewer.
//!
//! **A kill** leaves the page cache intact, so a `write(2)` of the records before the request is enough. **A power
//! cut** does not: with `sync`, `fdatasync` is therefore called between the records and the requests, once for all
//! threads that wait for it. Answers are appended with the next batch of requests. If an answer is lost in a power cut,
//! its write counts as unacknowledged, which again only allows more outcomes.
//!
//! **A torn end** begins at the first position without a valid record; no request was submitted that depends on a later
//! record. A valid record after that position proves damage in two cases: with `sync`, if it states that the invalid
//! record had been synced; without `sync`, if the power was not cut. A damaged journal is rejected.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::VerifyError;
use super::record::{RECORD, Record};
use super::unit::{SECTOR, UNIT_MAX};

const HEADER: usize = 2 * RECORD;
const MARK: [u8; 8] = *b"LNMKJRN1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) run: u64,
    /// Size of the smallest piece that is judged, in bytes.
    pub(super) unit: u32,
    /// Start of the written range of the target, in bytes.
    pub(super) from: u64,
    /// End of the written range of the target, in bytes.
    pub(super) to: u64,
    pub(super) begun_unix_ns: u64,
    /// Boot id of the machine; zero if unknown.
    pub(super) boot: u128,
    /// Whether requests waited until their records were on the journal's media.
    pub(super) sync: bool,
    /// Whether the target claims to keep acknowledged data without a flush.
    pub(super) write_through: bool,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MARK);
        bytes[8..16].copy_from_slice(&self.run.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.from.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.to.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.begun_unix_ns.to_le_bytes());
        bytes[40..56].copy_from_slice(&self.boot.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.unit.to_le_bytes());
        bytes[60] = u8::from(self.sync);
        bytes[61] = u8::from(self.write_through);
        let checksum = crc32fast::hash(&bytes[..HEADER - 4]);
        bytes[HEADER - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Returns the header if its checksum is correct and its values are valid.
    fn decode(bytes: &[u8; HEADER]) -> Option<Self> {
        let read_u64 = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes);
        let checksum = bytes[HEADER - 4..].try_into().map(u32::from_le_bytes).ok()?;
        if bytes[..8] != MARK || checksum != crc32fast::hash(&bytes[..HEADER - 4]) {
            return None;
        }
        let header = Self {
            run: read_u64(8).ok()?,
            unit: bytes[56..60].try_into().map(u32::from_le_bytes).ok()?,
            from: read_u64(16).ok()?,
            to: read_u64(24).ok()?,
            begun_unix_ns: read_u64(32).ok()?,
            boot: bytes[40..56].try_into().map(u128::from_le_bytes).ok()?,
            sync: bytes[60] != 0,
            write_through: bytes[61] != 0,
        };
        let unit = u64::from(header.unit);
        let fits = (SECTOR as u64..=UNIT_MAX as u64).contains(&unit)
            && unit.is_multiple_of(SECTOR as u64)
            && header.from < header.to
            && header.from.is_multiple_of(SECTOR as u64)
            && (header.to - header.from).is_multiple_of(unit)
            && (header.to - header.from) / unit < u64::from(u32::MAX);
        fits.then_some(header)
    }
}

/// A journal being written.
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    run: u64,
    sync: bool,
    written: Mutex<JournalState>,
    /// Number of records on the media.
    synced: Mutex<u64>,
}

/// The number of appended records, and the state of the file.
struct JournalState {
    records: u64,
    bytes: Vec<u8>,
    /// Whether an append failed, after which the next record would begin at a wrong offset.
    broken: bool,
}

impl Journal {
    /// Creates the file `path`, which must not exist.
    pub(super) fn create(path: &Path, header: &Header) -> Result<Self, VerifyError> {
        let to_error = |source| VerifyError::journal(path, "made", source);
        let opened = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path);
        let mut file = match opened {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(VerifyError::JournalExists { path: path.to_owned() });
            }
            other => other.map_err(to_error)?,
        };
        file.write_all(&header.encode()).and_then(|()| file.sync_all()).map_err(to_error)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            run: header.run,
            sync: header.sync,
            written: Mutex::new(JournalState { records: 0, bytes: Vec::new(), broken: false }),
            synced: Mutex::new(0),
        })
    }

    /// Appends `records` in order. When the function returns, the records survive a kill, and with `sync` also a power
    /// cut.
    pub(super) fn append(&self, records: &[Record]) -> Result<(), VerifyError> {
        if records.is_empty() {
            return Ok(());
        }
        // The number of synced records is read first, because a number that is too low is harmless.
        let known = *lock(&self.synced);
        let upto = {
            let mut written = lock(&self.written);
            let JournalState { records: count, bytes, broken } = &mut *written;
            if *broken {
                let source = io::Error::other("an earlier append failed");
                return Err(VerifyError::journal(&self.path, "written", source));
            }
            bytes.clear();
            for (number, record) in (*count..).zip(records) {
                bytes.extend_from_slice(&record.encode(self.run, number, known));
            }
            if let Err(source) = (&self.file).write_all(bytes) {
                *broken = true;
                return Err(VerifyError::journal(&self.path, "written", source));
            }
            *count += records.len() as u64;
            *count
        };
        if self.sync { self.sync_to(upto) } else { Ok(()) }
    }

    /// Waits until `upto` records are on the media; the first caller syncs for all waiting callers.
    fn sync_to(&self, upto: u64) -> Result<(), VerifyError> {
        let mut synced = lock(&self.synced);
        if *synced < upto {
            let written = lock(&self.written).records;
            let done = self.file.sync_data();
            done.map_err(|source| VerifyError::journal(&self.path, "synced", source))?;
            *synced = written;
        }
        Ok(())
    }

    /// Stores all records on the media.
    pub(super) fn finish(&self) -> Result<(), VerifyError> {
        self.sync_to(u64::MAX)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

/// Acquires the lock. If a thread panicked, the state that it left is used, because an incomplete state is marked as
/// broken.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end of a journal that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JournalEnd {
    /// Bytes after the last record.
    pub(super) tail: u64,
    pub(super) records: u64,
}

pub(super) fn read_header(from: &mut impl Read, path: &Path) -> Result<Header, VerifyError> {
    let mut bytes = [0; HEADER];
    match from.read_exact(&mut bytes) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(VerifyError::NoJournal { path: path.to_owned() });
        }
        Err(source) => return Err(VerifyError::journal(path, "read", source)),
    }
    Header::decode(&bytes).ok_or_else(|| VerifyError::NoJournal { path: path.to_owned() })
}

/// Reads the records after `header` and passes each to `take`. `cut` states whether the power may have failed since, in
/// which case records may be missing before later records.
pub(super) fn read_records(
    from: impl Read,
    path: &Path,
    header: &Header,
    cut: bool,
    take: &mut dyn FnMut(u64, Record) -> Result<(), VerifyError>,
) -> Result<JournalEnd, VerifyError> {
    let mut from = BufReader::with_capacity(1 << 16, from);
    let mut number = 0;
    let mut bad = None;
    let mut tail = 0;
    let mut bytes = [0; RECORD];
    loop {
        let length = fill(&mut from, &mut bytes)
            .map_err(|source| VerifyError::journal(path, "read", source))?;
        if length < RECORD {
            tail += length as u64;
            let records = bad.unwrap_or(number);
            return Ok(JournalEnd { tail, records });
        }
        let decoded = Record::decode(&bytes, header.run, number);
        match (decoded, bad) {
            (Some((record, _)), None) => take(number, record)?,
            (None, None) => bad = Some(number),
            // A valid record follows an invalid record. With `sync`, no request was submitted after a later record;
            // without `sync`, only a power cut leaves a gap.
            (Some((_, synced)), Some(hole)) => {
                let damaged = if header.sync { synced > hole } else { !cut };
                if damaged {
                    return Err(VerifyError::JournalDamaged {
                        path: path.to_owned(),
                        record: hole,
                    });
                }
            }
            (None, Some(_)) => {}
        }
        if bad.is_some() {
            tail += RECORD as u64;
        }
        number += 1;
    }
}

/// Reads until `bytes` is full or the input ends.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < bytes.len() {
        match from.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Returns the boot id of the machine; zero if the kernel does not report it.
pub(super) fn boot() -> u128 {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    u128::from_str_radix(&id.trim().replace('-', ""), 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rustix::fs::MemfdFlags;

    use super::*;
    use crate::record::RecordKind;

    #[test]
    fn a_sync_is_needed_only_for_records_that_are_not_on_the_media() {
        let journal = |sync: bool| Journal {
            file: rustix::fs::memfd_create("journal", MemfdFlags::CLOEXEC).unwrap().into(),
            path: PathBuf::from("journal"),
            run: 7,
            sync,
            written: Mutex::new(JournalState { records: 0, bytes: Vec::new(), broken: false }),
            synced: Mutex::new(0),
        };
        let record = Record {
            kind: RecordKind::Write,
            generation: 1,
            offset: 0,
            length: 4096,
            thread: 0,
            at_ns: 0,
        };
        let synced = |journal: &Journal| *lock(&journal.synced);
        let each = journal(true);
        for (records, wanted) in [(2, 2), (0, 2), (1, 3)] {
            each.append(&vec![record; records]).unwrap();
            assert_eq!(synced(&each), wanted);
        }
        let later = journal(false);
        later.append(&[record; 3]).unwrap();
        assert_eq!(synced(&later), 0);
        // A sync stores all records that were appended before it.
        later.sync_to(2).unwrap();
        assert_eq!(synced(&later), 3);
        later.append(&[record]).unwrap();
        for (upto, wanted) in [(2, 3), (3, 3), (4, 4)] {
            later.sync_to(upto).unwrap();
            assert_eq!(synced(&later), wanted, "up to {upto}");
        }
        later.append(&[record]).unwrap();
        later.finish().unwrap();
        assert_eq!(synced(&later), 5);
    }

    /// A source that is interrupted before each byte, and fails after the last byte.
    struct FailingSource {
        bytes: Vec<u8>,
        is_interrupted: bool,
    }

    impl Read for FailingSource {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.is_interrupted = !self.is_interrupted;
            if self.is_interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if self.bytes.is_empty() {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            buffer[0] = self.bytes.remove(0);
            Ok(1)
        }
    }

    #[test]
    fn a_record_is_filled_from_short_reads_and_no_more_is_read() {
        let source = || FailingSource { bytes: vec![1, 2, 3], is_interrupted: false };
        let mut bytes = [0; 3];
        assert_eq!(fill(&mut source(), &mut bytes).unwrap(), 3);
        assert_eq!(bytes, [1, 2, 3]);
        let error = fill(&mut source(), &mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        let mut bytes = [9; 4];
        assert_eq!(fill(&mut &[1u8, 2][..], &mut bytes).unwrap(), 2);
        assert_eq!(bytes, [1, 2, 9, 9]);
        assert_eq!(fill(&mut io::empty(), &mut bytes).unwrap(), 0);
    }
}
