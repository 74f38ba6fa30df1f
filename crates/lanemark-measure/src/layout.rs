//! Writes a file in full before it is measured, because reading a hole or an unwritten extent does not reach the media.
//!
//! The layout writes random data with direct I/O, several requests in flight, from the start of the file to the size
//! that the workload needs, and then calls `fsync`. The layout is not timed.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::Operation;
use lanemark_schema::workload::one_pass::OnePass;

use crate::arena::Arena;
use crate::engine::{Engine, EngineRequest, Ring, RingOptions, open_uring};
use crate::error::MeasureError;
use crate::payload::PayloadGenerator;
use crate::sample::PROGRESS_INTERVAL;
use crate::worker::POLL_NS;

/// Default block size of the writes.
pub(crate) const LAYOUT_BLOCK: u32 = 1 << 20;
/// Number of writes in flight in order, and in random order.
const IN_FLIGHT: (u32, u32) = (8, 32);

/// A file to be written in full.
pub(crate) struct FileFill<'a> {
    pub(crate) path: &'a Path,
    pub(crate) file: BorrowedFd<'a>,
    pub(crate) size: u64,
    /// Block size of the writes.
    pub(crate) block: u32,
    /// The spare flash, as a share of the size, for a pass of random writes; `None` for writes in order.
    pub(crate) spare: Option<f64>,
    pub(crate) seed: u64,
    pub(crate) stop: &'a AtomicBool,
}

/// A write in flight: the offset of its block, its length, and the number of bytes already written.
#[derive(Clone, Copy, Default)]
struct BlockWrite {
    offset: u64,
    length: u32,
    done: u32,
}

impl FileFill<'_> {
    /// Returns the approximate number of bytes that a pass writes.
    pub(crate) fn written(&self) -> u64 {
        self.pass().map_or(self.size, |pass| pass.writes() * u64::from(self.block))
    }

    fn pass(&self) -> Option<OnePass> {
        let count = self.size.div_ceil(self.block.into());
        let rng = Rng::new(StreamKey { test: u32::MAX, ..StreamKey::from_seed(self.seed) });
        self.spare.map(|spare| OnePass::new(count, spare, rng))
    }

    /// Returns the offsets of the writes.
    fn offsets(&self) -> Box<dyn Iterator<Item = u64>> {
        let block = u64::from(self.block);
        match self.pass() {
            Some(pass) => Box::new(pass.map(move |position| position * block)),
            None => Box::new((0..self.size).step_by(self.block as usize)),
        }
    }

    /// Writes the file. Returns true if the whole file was written, and false if the layout was stopped.
    pub(crate) fn run(&self, on: &mut dyn FnMut(Bytes)) -> Result<bool, MeasureError> {
        let in_flight = if self.spare.is_some() { IN_FLIGHT.1 } else { IN_FLIGHT.0 };
        let arena = Arena::new(in_flight, self.block as usize)
            .map_err(|source| self.error("map buffers to write", source))?;
        let mut uring = open_uring(in_flight, RingOptions::default())
            .map_err(|source| MeasureError::Ring { source })?;
        let mut ring = Ring::new(&mut uring, self.file, arena, true);
        // No thread of a test uses this key.
        let key = StreamKey { test: u32::MAX, ..StreamKey::from_seed(self.seed) };
        let mut payload = PayloadGenerator::new(key, Ratio::ZERO);
        (0..in_flight).for_each(|slot| payload.fill(ring.buffer_mut(slot)));
        let mut pieces = vec![BlockWrite::default(); in_flight as usize];
        let mut idle: Vec<u32> = (0..in_flight).collect();
        let mut offsets = self.offsets().peekable();
        let mut done = 0;
        let mut reported_at = Instant::now();
        on(Bytes::ZERO);
        while offsets.peek().is_some() || ring.outstanding() > 0 {
            let stopped = self.stop.load(Ordering::Relaxed);
            while !stopped && !idle.is_empty() {
                let Some(offset) = offsets.next() else { break };
                let Some(slot) = idle.pop() else { break };
                let length = (self.size - offset).min(u64::from(self.block)) as u32;
                pieces[slot as usize] = BlockWrite { offset, length, done: 0 };
                payload.stamp(ring.buffer_mut(slot));
                push(&mut ring, slot, pieces[slot as usize]);
            }
            if stopped && ring.outstanding() == 0 {
                return Ok(false);
            }
            ring.submit_and_wait(Some(POLL_NS)).map_err(|source| self.error("write", source))?;
            while let Some((slot, result)) = ring.next_completion() {
                let piece = &mut pieces[slot as usize];
                let moved = self.moved(*piece, result)?;
                piece.done += moved;
                done += u64::from(moved);
                if piece.done < piece.length {
                    push(&mut ring, slot, *piece);
                } else {
                    idle.push(slot);
                }
            }
            if reported_at.elapsed() >= PROGRESS_INTERVAL {
                reported_at = Instant::now();
                on(Bytes(done));
            }
        }
        rustix::fs::fsync(self.file).map_err(|error| self.error("sync", error.into()))?;
        on(Bytes(done));
        Ok(true)
    }

    /// Returns the number of bytes that a completion reports as written.
    fn moved(&self, piece: BlockWrite, result: i32) -> Result<u32, MeasureError> {
        let path = || self.path.to_owned();
        let operation = Operation::Write;
        match u32::try_from(result) {
            Ok(0) => {
                Err(MeasureError::Ended { path: path(), operation, offset: Bytes(piece.offset) })
            }
            Ok(moved) => Ok(moved),
            Err(_) if matches!(-result, libc::EINTR | libc::EAGAIN) => Ok(0),
            Err(_) => Err(MeasureError::Request {
                path: path(),
                operation,
                offset: Bytes(piece.offset),
                length: Bytes(piece.length.into()),
                source: io::Error::from_raw_os_error(-result),
            }),
        }
    }

    fn error(&self, action: &'static str, source: io::Error) -> MeasureError {
        MeasureError::System { path: self.path.to_owned(), action, source }
    }
}

fn push(ring: &mut Ring<'_>, slot: u32, piece: BlockWrite) {
    ring.push(
        slot,
        EngineRequest {
            operation: Operation::Write,
            offset: piece.offset + u64::from(piece.done),
            skip: piece.done,
            length: piece.length - piece.done,
        },
    );
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    /// Returns a layout of 1 MiB in `file`, written in blocks of this size.
    fn one_mebibyte<'a>(file: BorrowedFd<'a>, block: u32, stop: &'a AtomicBool) -> FileFill<'a> {
        FileFill {
            path: Path::new("a file"),
            file,
            size: 1 << 20,
            block,
            spare: None,
            seed: 1,
            stop,
        }
    }

    #[test]
    fn a_completion_reports_its_bytes_nothing_yet_or_an_error() {
        let file = tempfile::tempfile().unwrap();
        let stop = AtomicBool::new(false);
        let layout = one_mebibyte(file.as_fd(), LAYOUT_BLOCK, &stop);
        let moved =
            |result: i32| layout.moved(BlockWrite { offset: 8192, length: 4096, done: 0 }, result);
        for bytes in [1, 4095, 4096] {
            assert_eq!(moved(bytes).unwrap(), bytes.cast_unsigned());
        }
        // If the kernel was interrupted or short of memory, the write is repeated.
        for errno in [libc::EINTR, libc::EAGAIN] {
            assert_eq!(moved(-errno).unwrap(), 0);
        }
        let ended = moved(0).unwrap_err();
        assert!(matches!(ended, MeasureError::Ended { offset: Bytes(8192), .. }), "{ended}");
        for errno in [libc::EIO, libc::ENOSPC, libc::EPERM] {
            let error = moved(-errno).unwrap_err();
            let MeasureError::Request { offset, length, source, .. } = error else {
                panic!("{error}")
            };
            assert_eq!((offset, length), (Bytes(8192), Bytes(4096)));
            assert_eq!(source.raw_os_error(), Some(errno));
        }
    }

    #[test]
    fn progress_is_reported_at_intervals() {
        let file = tempfile::tempfile().unwrap();
        let stop = AtomicBool::new(false);
        let fill = one_mebibyte(file.as_fd(), 1 << 12, &stop);
        let begun = Instant::now();
        let mut reports = Vec::new();
        assert!(fill.run(&mut |done| reports.push(done)).unwrap());
        let intervals = begun.elapsed().as_nanos() / PROGRESS_INTERVAL.as_nanos();
        // The start and the end are also reported.
        assert!(reports.len() as u128 <= 2 + intervals, "{reports:?}");
        assert_eq!((reports[0], *reports.last().unwrap()), (Bytes::ZERO, Bytes::mebi(1)));
    }
}
