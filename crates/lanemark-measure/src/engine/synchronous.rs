//! An engine that calls `preadv2` and `pwritev2`, one request at a time. It is the cheapest engine for a queue depth of
//! one.
//!
//! The system call is made in the engine's wait, so that the loop's time stamps are taken immediately before and after
//! it.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use lanemark_schema::workload::Operation;

use super::interface::{Engine, EngineRequest};
use crate::arena::Arena;

/// A file with one buffer.
pub struct SynchronousEngine<'a> {
    file: BorrowedFd<'a>,
    arena: Arena,
    queued: Option<(u32, EngineRequest)>,
    complete: Option<(u32, i32)>,
    flags: i32,
}

impl<'a> SynchronousEngine<'a> {
    /// Creates the engine. If `polled` is set, the kernel waits for the device by polling it (`RWF_HIPRI`).
    pub fn new(file: BorrowedFd<'a>, arena: Arena, polled: bool) -> Self {
        let flags = if polled { libc::RWF_HIPRI } else { 0 };
        Self { file, arena, queued: None, complete: None, flags }
    }

    /// Makes the call, and returns the number of bytes moved or a negative error number.
    fn call(&mut self, slot: u32, transfer: EngineRequest) -> i32 {
        let EngineRequest { operation, offset, skip, length } = transfer;
        let file = self.file.as_raw_fd();
        // SAFETY: `skip` is inside the slot, as `push` asserts.
        let base = unsafe { self.arena.pointer(slot).add(skip as usize) };
        let part = libc::iovec { iov_base: base.cast(), iov_len: length as usize };
        let offset = offset as libc::off_t;
        // SAFETY: the vector contains one range of the arena, which no other code uses during the call.
        let answer = unsafe {
            match operation {
                Operation::Read => libc::preadv2(file, &part, 1, offset, self.flags),
                Operation::Write => libc::pwritev2(file, &part, 1, offset, self.flags),
                Operation::Flush => libc::fdatasync(file) as isize,
                Operation::Trim => {
                    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                    libc::fallocate(file, mode, offset, length.into()) as isize
                }
            }
        };
        match answer {
            -1 => -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
            _ if operation.moves_data() => answer as i32,
            _ => length as i32,
        }
    }
}

impl Engine for SynchronousEngine<'_> {
    fn refusal(&self) -> Option<&str> {
        None
    }

    fn outstanding(&self) -> u32 {
        u32::from(self.queued.is_some()) + u32::from(self.complete.is_some())
    }

    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        // SAFETY: the kernel uses a buffer only during a call.
        unsafe { self.arena.buffer_mut(slot) }
    }

    fn push(&mut self, slot: u32, transfer: EngineRequest) {
        assert!(transfer.skip as usize + transfer.length as usize <= self.arena.stride());
        assert!(self.queued.replace((slot, transfer)).is_none(), "one request at a time");
    }

    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn submit_and_wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        match self.queued.take() {
            Some((slot, transfer)) => {
                let answer = self.call(slot, transfer);
                self.complete = Some((slot, answer));
            }
            None => std::thread::sleep(std::time::Duration::from_nanos(timeout_ns.unwrap_or(0))),
        }
        Ok(())
    }

    fn next_completion(&mut self) -> Option<(u32, i32)> {
        self.complete.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn data_goes_and_comes_back_and_errors_are_numbers() {
        let file = tempfile::tempfile().unwrap();
        let mut engine = SynchronousEngine::new(file.as_fd(), Arena::new(1, 4096).unwrap(), false);
        let mut ask = |operation, fill: Option<u8>| {
            if let Some(fill) = fill {
                engine.buffer_mut(0).fill(fill);
            }
            engine.push(0, EngineRequest { operation, offset: 4096, skip: 0, length: 4096 });
            assert_eq!(engine.outstanding(), 1);
            engine.submit_and_wait(Some(0)).unwrap();
            let (_, answer) = engine.next_completion().unwrap();
            (answer, engine.buffer_mut(0)[17])
        };
        assert_eq!(ask(Operation::Write, Some(9)), (4096, 9));
        assert_eq!(ask(Operation::Read, Some(0)), (4096, 9));
        assert_eq!(ask(Operation::Flush, None).0, 4096);
        let pipe = std::io::pipe().unwrap();
        let mut engine =
            SynchronousEngine::new(pipe.0.as_fd(), Arena::new(1, 4096).unwrap(), false);
        engine
            .push(0, EngineRequest { operation: Operation::Read, offset: 0, skip: 0, length: 512 });
        engine.submit_and_wait(Some(0)).unwrap();
        assert_eq!(engine.next_completion(), Some((0, -libc::ESPIPE)));
    }
}
