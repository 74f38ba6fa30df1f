//! An io_uring of one thread, with the buffers of its requests.
//!
//! The ring owns its [`Arena`] and records the slots that are lent to the kernel. Other code therefore cannot access a
//! buffer in flight, and no buffer is unmapped while the kernel uses it: dropping a ring waits for the outstanding
//! requests. The buffers, the file and the ring's own descriptor are registered with the kernel if it allows this
//! (io_uring_register(2)); otherwise plain requests are used, and [`Ring::refusal`] returns the reason.
//!
//! The ring is set up with `SINGLE_ISSUER | DEFER_TASKRUN` (io_uring_setup(2), Linux 6.1): completions are posted only
//! while this thread waits for them, so posting never interrupts the thread. On older kernels, the ring uses
//! `COOP_TASKRUN`, and on the oldest kernels no flags.
//!
//! Two options use kernel paths that an ordinary program does not use, and are therefore off by default: with `SQPOLL`,
//! a kernel thread takes requests without a system call; with `IOPOLL`, the kernel polls for completions instead of
//! waiting for interrupts.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{Builder, CompletionQueue, IoUring, SubmissionQueue, Submitter, opcode, squeue};
use lanemark_schema::workload::Operation;

use super::interface::{Engine, EngineRequest};
use crate::arena::Arena;

/// Maximum size of one registered buffer, according to `io_sqe_buffer_register` in the kernel.
const REGISTERED_MAX: usize = 1 << 30;

pub struct Ring<'u> {
    submitter: Submitter<'u>,
    submission: SubmissionQueue<'u>,
    completion: CompletionQueue<'u>,
    arena: ManuallyDrop<Arena>,
    in_flight: Box<[bool]>,
    outstanding: u32,
    file: BorrowedFd<'u>,
    file_registered: bool,
    /// Number of slots in one registered buffer, if buffers are registered.
    slots_per_buffer: Option<u32>,
    refusal: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub struct RingOptions {
    /// Whether to register buffers and file with the kernel.
    pub register: bool,
    /// Whether a kernel thread takes submissions.
    pub submission_polled: bool,
    /// Whether the kernel polls for completions.
    pub completion_polled: bool,
}

impl Default for RingOptions {
    fn default() -> Self {
        Self { register: true, submission_polled: false, completion_polled: false }
    }
}

/// Time in ms after which the kernel's thread sleeps if it finds no requests.
const SUBMISSION_POLL_IDLE_MS: u32 = 100;

/// Creates the kernel side of a ring for `entries` requests, with the best flags that the kernel supports.
pub fn open_uring(entries: u32, options: RingOptions) -> io::Result<IoUring> {
    let attempts: &[fn(&mut Builder) -> &mut Builder] = if options.submission_polled {
        &[|builder| builder.setup_sqpoll(SUBMISSION_POLL_IDLE_MS)]
    } else {
        &UNPOLLED
    };
    let mut refused = None;
    for configure in attempts {
        let mut builder = IoUring::builder();
        if options.completion_polled {
            builder.setup_iopoll();
        }
        match configure(builder.dontfork()).build(entries) {
            Ok(uring) if !uring.params().is_feature_ext_arg() => {
                return Err(io::ErrorKind::Unsupported.into());
            }
            Ok(uring) => return Ok(uring),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
}

/// Configurations of the ring, ordered from the newest to the oldest kernel feature.
const UNPOLLED: [fn(&mut Builder) -> &mut Builder; 4] = [
    |builder| builder.setup_single_issuer().setup_defer_taskrun().setup_no_sqarray(),
    |builder| builder.setup_single_issuer().setup_defer_taskrun(),
    |builder| builder.setup_coop_taskrun(),
    |builder| builder,
];

impl<'u> Ring<'u> {
    /// Combines a ring, its file and its buffers. `uring` must have an entry for each slot of `arena`. If `register` is
    /// false, no buffer or file is registered.
    pub fn new(uring: &'u mut IoUring, file: BorrowedFd<'u>, arena: Arena, register: bool) -> Self {
        assert!(uring.params().sq_entries() >= arena.slots());
        let (submitter, submission, completion) = uring.split();
        let mut ring = Self {
            submitter,
            submission,
            completion,
            in_flight: vec![false; arena.slots() as usize].into(),
            arena: ManuallyDrop::new(arena),
            outstanding: 0,
            file,
            file_registered: false,
            slots_per_buffer: None,
            refusal: None,
        };
        if register {
            ring.register();
        }
        ring
    }

    fn register(&mut self) {
        // After a failure, the only cost is an additional descriptor lookup per call, so there is no warning.
        let _ = self.submitter.register_ring_fd();
        match self.submitter.register_files(&[self.file.as_raw_fd()]) {
            Ok(()) => self.file_registered = true,
            Err(error) => self.refusal = Some(format!("file: {error}")),
        }
        let stride = self.arena.stride();
        let slots = self.arena.slots();
        let slots_per_buffer = u32::try_from(REGISTERED_MAX / stride).unwrap_or(slots).max(1);
        let buffers: Vec<libc::iovec> = (0..slots)
            .step_by(slots_per_buffer as usize)
            .map(|first| libc::iovec {
                iov_base: self.arena.pointer(first).cast(),
                iov_len: (slots - first).min(slots_per_buffer) as usize * stride,
            })
            .collect();
        // SAFETY: every range is in the arena, which outlives the registration: dropping the ring
        // unregisters the buffers before it drops the arena.
        match unsafe { self.submitter.register_buffers(&buffers) } {
            Ok(()) => self.slots_per_buffer = Some(slots_per_buffer),
            Err(error) => self.refusal = Some(format!("buffers: {error}")),
        }
    }

    fn entry(&self, slot: u32, transfer: EngineRequest) -> squeue::Entry {
        let EngineRequest { operation, offset, skip, length } = transfer;
        // SAFETY: `skip` is inside the slot, as `push` asserts.
        let buffer = unsafe { self.arena.pointer(slot).add(skip as usize) };
        // A registered file is identified by its index, which is 0, and by a flag.
        let (file, flags) = if self.file_registered {
            (Fd(0), squeue::Flags::FIXED_FILE)
        } else {
            (Fd(self.file.as_raw_fd()), squeue::Flags::empty())
        };
        let entry = match (self.slots_per_buffer, operation) {
            (Some(slots), Operation::Read) => {
                let index = (slot / slots) as u16;
                opcode::ReadFixed::new(file, buffer, length, index).offset(offset).build()
            }
            (Some(slots), Operation::Write) => {
                let index = (slot / slots) as u16;
                opcode::WriteFixed::new(file, buffer, length, index).offset(offset).build()
            }
            (None, Operation::Read) => {
                opcode::Read::new(file, buffer, length).offset(offset).build()
            }
            (None, Operation::Write) => {
                opcode::Write::new(file, buffer, length).offset(offset).build()
            }
            (_, Operation::Flush) => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
            (_, Operation::Trim) => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                opcode::Fallocate::new(file, length.into()).offset(offset).mode(mode).build()
            }
        };
        entry.flags(flags).user_data(u64::from(slot))
    }
}

impl Engine for Ring<'_> {
    fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    fn outstanding(&self) -> u32 {
        self.outstanding
    }

    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        assert!(!self.in_flight[slot as usize], "the kernel has the buffer of slot {slot}");
        // SAFETY: the slot is not in flight, so the kernel does not touch its buffer.
        unsafe { self.arena.buffer_mut(slot) }
    }

    fn push(&mut self, slot: u32, transfer: EngineRequest) {
        assert!(!std::mem::replace(&mut self.in_flight[slot as usize], true));
        assert!(transfer.skip as usize + transfer.length as usize <= self.arena.stride());
        let entry = self.entry(slot, transfer);
        // SAFETY: the buffer is in the arena and may be lent: the slot was not in flight and now is, and before its
        // completion the buffer can be neither referenced nor unmapped.
        unsafe { self.submission.push(&entry) }
            .expect("the queue has an entry for each slot, and a slot is queued at most once");
        self.outstanding += 1;
    }

    fn submit(&mut self) -> io::Result<()> {
        self.submission.sync();
        let answer = self.submitter.submit();
        self.submission.sync();
        in_order(answer)
    }

    fn submit_and_wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        self.submission.sync();
        let answer = match timeout_ns {
            None => self.submitter.submit_and_wait(1),
            Some(timeout_ns) => {
                let timeout = Timespec::new()
                    .sec(timeout_ns / 1_000_000_000)
                    .nsec((timeout_ns % 1_000_000_000) as u32);
                self.submitter.submit_with_args(1, &SubmitArgs::new().timespec(&timeout))
            }
        };
        self.submission.sync();
        self.completion.sync();
        in_order(answer)
    }

    fn next_completion(&mut self) -> Option<(u32, i32)> {
        let completion = self.completion.next()?;
        let slot = completion.user_data() as u32;
        self.in_flight[slot as usize] = false;
        self.outstanding -= 1;
        Some((slot, completion.result()))
    }
}

/// Converts errors that only require another call to success: a timeout, a signal, a shortage of memory, or completions
/// that must be taken first.
fn in_order(answer: io::Result<usize>) -> io::Result<()> {
    match answer {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error() {
            Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
            _ => Err(error),
        },
    }
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        while self.outstanding > 0 {
            if self.submit_and_wait(Some(1_000_000_000)).is_err() {
                // The kernel may still write to the buffers, so their memory is leaked; otherwise another allocation
                // could reuse it.
                return;
            }
            while self.next_completion().is_some() {}
        }
        // The kernel destroys a closed ring asynchronously. Until then, its locked memory would count towards this
        // user's limit, and a removed file would still occupy space, so both are released now. The registered
        // descriptor would keep the ring until the thread ends.
        if self.slots_per_buffer.is_some() {
            let _ = self.submitter.unregister_buffers();
        }
        if self.file_registered {
            let _ = self.submitter.unregister_files();
        }
        let _ = self.submitter.unregister_ring_fd();
        // SAFETY: no other code drops the arena, and nothing uses it afterwards.
        unsafe { ManuallyDrop::drop(&mut self.arena) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RING_ENTRIES_MAX;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    fn transfer(operation: Operation, offset: u64) -> EngineRequest {
        EngineRequest { operation, offset, skip: 0, length: 4096 }
    }

    /// Writes two blocks and reads them back through other slots.
    fn round_trip(register: bool) {
        let file = tempfile::tempfile().unwrap();
        let mut uring = open_uring(4, RingOptions::default()).unwrap();
        let arena = Arena::new(4, 4096).unwrap();
        let mut ring = Ring::new(&mut uring, file.as_fd(), arena, register);
        assert_eq!(ring.refusal(), None);
        for slot in 0..2 {
            ring.buffer_mut(slot).fill(slot as u8 + 1);
            ring.push(slot, transfer(Operation::Write, u64::from(slot) * 4096));
        }
        finish(&mut ring);
        for slot in 2..4 {
            ring.push(slot, transfer(Operation::Read, u64::from(slot - 2) * 4096));
        }
        finish(&mut ring);
        assert!(ring.buffer_mut(2).iter().all(|&byte| byte == 1));
        assert!(ring.buffer_mut(3).iter().all(|&byte| byte == 2));
    }

    fn finish(ring: &mut Ring<'_>) {
        while ring.outstanding() > 0 {
            ring.submit_and_wait(Some(1_000_000_000)).unwrap();
            while let Some((_, result)) = ring.next_completion() {
                assert_eq!(result, 4096);
            }
        }
    }

    #[test]
    fn data_goes_and_comes_back_registered_or_not() {
        round_trip(true);
        round_trip(false);
    }

    #[test]
    fn a_dropped_ring_has_finished_its_outstanding_requests() {
        let file = tempfile::tempfile().unwrap();
        let mut uring = open_uring(1, RingOptions::default()).unwrap();
        let mut ring = Ring::new(&mut uring, file.as_fd(), Arena::new(1, 4096).unwrap(), true);
        ring.buffer_mut(0).fill(7);
        ring.push(0, transfer(Operation::Write, 0));
        drop(ring);
        let mut written = vec![0; 4096];
        file.read_exact_at(&mut written, 0).unwrap();
        assert!(written.iter().all(|&byte| byte == 7));
    }

    #[test]
    #[should_panic(expected = "the kernel has the buffer of slot 0")]
    fn a_buffer_in_flight_is_out_of_reach() {
        let file = tempfile::tempfile().unwrap();
        let mut uring = open_uring(1, RingOptions::default()).unwrap();
        let mut ring = Ring::new(&mut uring, file.as_fd(), Arena::new(1, 4096).unwrap(), true);
        ring.push(0, transfer(Operation::Write, 0));
        ring.buffer_mut(0);
    }

    #[test]
    fn waiting_for_nothing_ends_in_time() {
        let file = tempfile::tempfile().unwrap();
        let mut uring = open_uring(1, RingOptions::default()).unwrap();
        let mut ring = Ring::new(&mut uring, file.as_fd(), Arena::new(1, 4096).unwrap(), true);
        let begun = std::time::Instant::now();
        ring.submit_and_wait(Some(20_000_000)).unwrap();
        let waited = begun.elapsed().as_millis();
        assert!((19..2_000).contains(&waited), "{waited} ms");
        assert_eq!(ring.next_completion(), None);
    }

    #[test]
    fn more_entries_than_the_kernel_takes_are_an_error() {
        assert!(open_uring(RING_ENTRIES_MAX, RingOptions::default()).is_ok());
        assert!(open_uring(RING_ENTRIES_MAX + 1, RingOptions::default()).is_err());
    }
}
