//! The journal: what was asked of the target and what it answered, kept where a kill or a power cut leaves it.
//!
//! A header of 96 bytes, then records of 48. It is only ever appended to, under one lock, so that the order of records
//! is an order of events: a request is taken down before it is asked for, an answer after it came. If A's answer lies
//! before B's request, A had ended when B began; if not, they are taken to have run at once, which allows more and
//! never less than what happened.
//!
//! **A kill** leaves the page cache, so a `write(2)` of the records before the request is enough. **A power cut** does
//! not: with `sync`, `fdatasync` comes between the records and the request, one for all threads that wait for one.
//! Answers go with the next batch of requests. One that a cut took with it makes its write unacknowledged, which again
//! only allows more.
//!
//! **A torn end** is where the first record is none. Nothing after it was acted upon, unless a later record is whole
//! and says that the bad one had been synced, or nothing was cut off but the program; then the journal was damaged
//! itself, and is refused.

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

/// The header of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) run: u64,
    /// The smallest piece that is judged.
    pub(super) unit: u32,
    /// Range of the target that is written, in bytes.
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) begun_unix_ns: u64,
    /// Boot id of the machine; zero where it is not known.
    pub(super) boot: u128,
    /// Whether requests waited until they were on the journal's media.
    pub(super) sync: bool,
    /// Whether the target claims to keep what it acknowledges without a flush.
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

    /// The header, where its checksum is right and its values can be.
    fn decode(bytes: &[u8; HEADER]) -> Option<Self> {
        let wide = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes);
        let checksum = bytes[HEADER - 4..].try_into().map(u32::from_le_bytes).ok()?;
        if bytes[..8] != MARK || checksum != crc32fast::hash(&bytes[..HEADER - 4]) {
            return None;
        }
        let header = Self {
            run: wide(8).ok()?,
            unit: bytes[56..60].try_into().map(u32::from_le_bytes).ok()?,
            from: wide(16).ok()?,
            to: wide(24).ok()?,
            begun_unix_ns: wide(32).ok()?,
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
    written: Mutex<Written>,
    /// Number of records on the media.
    synced: Mutex<u64>,
}

/// The number of records appended and synced.
struct Written {
    records: u64,
    bytes: Vec<u8>,
    /// Whether an append failed, so that the next would not begin where a record must.
    broken: bool,
}

impl Journal {
    /// Makes the file `path`, where nothing is.
    pub(super) fn create(path: &Path, header: &Header) -> Result<Self, VerifyError> {
        let failed = |source| VerifyError::journal(path, "made", source);
        let opened = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path);
        let mut file = match opened {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(VerifyError::JournalExists { path: path.to_owned() });
            }
            other => other.map_err(failed)?,
        };
        file.write_all(&header.encode()).and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            run: header.run,
            sync: header.sync,
            written: Mutex::new(Written { records: 0, bytes: Vec::new(), broken: false }),
            synced: Mutex::new(0),
        })
    }

    /// Appends `records` in their order; when it returns, a kill leaves them, and with `sync` a power cut.
    pub(super) fn append(&self, records: &[Record]) -> Result<(), VerifyError> {
        if records.is_empty() {
            return Ok(());
        }
        // What was synced before is read first: it may only be told too low.
        let known = *held(&self.synced);
        let upto = {
            let mut written = held(&self.written);
            let Written { records: count, bytes, broken } = &mut *written;
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

    /// Waits until `upto` records are on the media; whoever comes first syncs for all who wait behind.
    fn sync_to(&self, upto: u64) -> Result<(), VerifyError> {
        let mut synced = held(&self.synced);
        if *synced < upto {
            let written = held(&self.written).records;
            let done = self.file.sync_data();
            done.map_err(|source| VerifyError::journal(&self.path, "synced", source))?;
            *synced = written;
        }
        Ok(())
    }

    /// Puts all of it on the media.
    pub(super) fn finish(&self) -> Result<(), VerifyError> {
        self.sync_to(u64::MAX)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

/// The lock; a thread that panicked left nothing half done that is not marked as broken.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end of a journal as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Bytes after the last record.
    pub(super) tail: u64,
    /// Number of records.
    pub(super) records: u64,
}

/// Reads the header of a journal.
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

/// Reads the records after `header` and hands each to `take`. `cut` says whether the power may have failed since,
/// so that a part may be missing though later ones are there.
pub(super) fn read_records(
    from: impl Read,
    path: &Path,
    header: &Header,
    cut: bool,
    take: &mut dyn FnMut(u64, Record) -> Result<(), VerifyError>,
) -> Result<End, VerifyError> {
    let mut from = BufReader::with_capacity(1 << 16, from);
    let (mut number, mut bad, mut tail) = (0, None, 0);
    let mut bytes = [0; RECORD];
    loop {
        let length = fill(&mut from, &mut bytes)
            .map_err(|source| VerifyError::journal(path, "read", source))?;
        if length < RECORD {
            tail += length as u64;
            let records = bad.unwrap_or(number);
            return Ok(End { tail, records });
        }
        let decoded = Record::decode(&bytes, header.run, number);
        match (decoded, bad) {
            (Some((record, _)), None) => take(number, record)?,
            (None, None) => bad = Some(number),
            // Behind a hole: with sync, nothing that was acted upon; without, only a power cut leaves holes.
            (Some((_, synced)), Some(hole)) => {
                let damaged = if header.sync { synced > hole } else { !cut };
                if damaged {
                    let (path, record) = (path.to_owned(), hole);
                    return Err(VerifyError::JournalDamaged { path, record });
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

/// Reads until `bytes` are full or the end is there.
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

/// Returns the boot id of the machine; zero where the kernel does not tell.
pub(super) fn boot() -> u128 {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    u128::from_str_radix(&id.trim().replace('-', ""), 16).unwrap_or(0)
}
