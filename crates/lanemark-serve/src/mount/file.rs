//! The mounted file: each operation of a program becomes a request to the engine, and the program receives the reply
//! when the request completes.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyLseek,
    ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::{Access, Operation};

use crate::arrival::FuseCalls;
use crate::connection::{RANGE_MAX, ServerState};
use crate::data::{LossReports, SECTOR};
use crate::engine::{self, Engine};
use crate::job::{DataTask, RequestContext, RequestJob, Requester, TaskThread};
use crate::nbd::NbdError;
use crate::storing::store_data;

/// Maximum number of background requests of the kernel, in addition to the requests that a program waits for.
const BACKGROUND: u16 = 1024;
/// Maximum length of a read or write, which is the kernel's own limit.
const LENGTH_MAX: u32 = 1 << 20;
/// Maximum number of bytes in outstanding requests; a single request may be longer.
const BYTES_MAX: u64 = 48 << 20;
/// Time that the kernel may cache the file's attributes.
const FOR_GOOD: Duration = Duration::from_secs(3600);
/// `mode` of fallocate(2): the length of the file does not change.
const KEEP_SIZE: i32 = 1;
/// `mode` of fallocate(2): the range becomes a hole.
const PUNCH_HOLE: i32 = 2;
/// `mode` of fallocate(2): the range becomes zeroes with allocated space.
const ZERO_RANGE: i32 = 0x10;
/// `whence` of lseek(2): searches for data.
const SEEK_DATA: i32 = 3;
/// `whence` of lseek(2): searches for a hole.
const SEEK_HOLE: i32 = 4;
/// Thread number of the file's requests; the thread numbers of connections begin at 1.
const THREAD: u32 = 0;

pub(super) struct ServedFile {
    shared: Arc<ServerState>,
    around: Option<(Arc<Engine>, RequestContext)>,
    /// The calls of the kernel; `None` without a model.
    calls: Option<Mutex<FuseCalls>>,
    gate: Arc<OutstandingLimit>,
    helper: Arc<HelperThread>,
    attributes: FileAttr,
    /// The open files, by the number of their handle, and the number of the next handle.
    opened: Mutex<(HashMap<u64, LossReports>, u64)>,
    /// Whether the server has ended and no longer sends replies.
    ended: Arc<AtomicBool>,
}

/// A program that waits for a reply.
struct WaitingProgram {
    reply: FileReply,
    gate: Arc<OutstandingLimit>,
    /// Weight of the request when it was accepted.
    weight: u64,
    helper: Arc<HelperThread>,
}

enum FileReply {
    Data(ReplyData),
    Written(ReplyWrite, u32),
    Done(ReplyEmpty),
}

#[derive(Default)]
struct OutstandingLimit {
    bytes: Mutex<u64>,
    room: Condvar,
}

/// The thread that writes long data.
struct HelperThread(Mutex<Sender<Box<dyn FnOnce() + Send>>>);

impl OutstandingLimit {
    fn let_in(&self, weight: u64) {
        let mut bytes = lock(&self.bytes);
        while *bytes > 0 && *bytes + weight > BYTES_MAX {
            bytes = self.room.wait(bytes).unwrap_or_else(PoisonError::into_inner);
        }
        *bytes += weight;
    }

    /// Returns whether requests with data are outstanding.
    fn has_requests(&self) -> bool {
        *lock(&self.bytes) > 0
    }

    fn let_out(&self, weight: u64) {
        let mut bytes = lock(&self.bytes);
        let was_full = *bytes + u64::from(LENGTH_MAX) > BYTES_MAX;
        *bytes -= weight;
        drop(bytes);
        if was_full {
            self.room.notify_all();
        }
    }
}

impl HelperThread {
    fn start() -> io::Result<Arc<Self>> {
        let (send, tasks) = channel::<Box<dyn FnOnce() + Send>>();
        let run = move || tasks.into_iter().for_each(|task| task());
        thread::Builder::new().name("mount".to_owned()).spawn(run)?;
        Ok(Arc::new(Self(Mutex::new(send))))
    }
}

impl TaskThread for HelperThread {
    fn later(&self, task: Box<dyn FnOnce() + Send>) {
        let send = lock(&self.0);
        if let Err(unsent) = send.send(task) {
            unsent.0();
        }
    }
}

impl FileReply {
    fn send(self, outcome: Result<&[u8], NbdError>) {
        match (self, outcome) {
            (Self::Data(reply), Ok(bytes)) => reply.data(bytes),
            (Self::Written(reply, length), Ok(_)) => reply.written(length),
            (Self::Done(reply), Ok(_)) => reply.ok(),
            (Self::Data(reply), Err(error)) => reply.error(number(error)),
            (Self::Written(reply, _), Err(error)) => reply.error(number(error)),
            (Self::Done(reply), Err(error)) => reply.error(number(error)),
        }
    }
}

impl Requester for WaitingProgram {
    fn answer(self, outcome: Result<Option<Vec<u8>>, NbdError>) {
        self.reply
            .send(outcome.as_ref().map(|bytes| bytes.as_deref().unwrap_or(&[])).map_err(|e| *e));
        self.gate.let_out(self.weight);
    }

    fn helper(&self) -> Arc<dyn TaskThread> {
        Arc::clone(&self.helper) as _
    }
}

/// The protocol uses the error numbers of Linux.
fn number(error: NbdError) -> Errno {
    Errno::from_i32(error as i32)
}

impl ServedFile {
    pub(super) fn new(shared: Arc<ServerState>, ended: Arc<AtomicBool>) -> io::Result<Self> {
        let size = shared.data.size();
        let around = shared.engine.as_ref().map(|engine| {
            let around = RequestContext {
                data: Arc::clone(&shared.data),
                storing: Arc::clone(&shared.storing),
                delivered: Arc::clone(&shared.delivered),
                clock: Arc::clone(engine.clock()),
            };
            (Arc::clone(engine), around)
        });
        let now = SystemTime::now();
        let attributes = FileAttr {
            ino: INodeNo::ROOT,
            size,
            blocks: size / 512,
            atime: now,
            mtime: now,
            ctime: now,
            crtime: now,
            kind: FileType::RegularFile,
            perm: 0o600,
            nlink: 1,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        };
        let gate = Arc::default();
        let helper = HelperThread::start()?;
        let calls = shared.engine.as_ref().map(|engine| {
            Mutex::new(FuseCalls::new(Arc::clone(engine.clock()), Arc::clone(&shared.delivered)))
        });
        Ok(Self {
            shared,
            around,
            calls,
            gate,
            helper,
            attributes,
            opened: Mutex::default(),
            ended,
        })
    }

    /// Returns the number of threads that receive requests. With a model, one thread is sufficient, because another
    /// thread replies.
    pub(super) fn threads(&self) -> usize {
        let most = if self.around.is_some() { 1 } else { 4 };
        thread::available_parallelism().map_or(1, |threads| threads.get().min(most))
    }

    /// Returns the length of the part of a range that is inside the file.
    fn within(&self, offset: u64, length: u64) -> u64 {
        length.min(self.attributes.size.saturating_sub(offset))
    }

    fn is_over(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Submits the request to the engine; if there is no engine, executes it now.
    fn ask(
        &self,
        came: Option<Instant>,
        operation: Operation,
        range: (u64, u64),
        task: DataTask,
        reply: FileReply,
    ) {
        if self.is_over() {
            return reply.send(Err(NbdError::Shutdown));
        }
        let Some((engine, around)) = &self.around else {
            let done = self.do_now(operation, range, &task);
            return match (&task, done) {
                (DataTask::Read(bytes), Ok(())) => reply.send(Ok(bytes)),
                (_, done) => reply.send(done.map(|()| &[][..])),
            };
        };
        let weight = match &task {
            DataTask::Read(_) | DataTask::Write { .. } => range.1,
            _ => 0,
        };
        self.gate.let_in(weight);
        let asker = WaitingProgram {
            reply,
            gate: Arc::clone(&self.gate),
            weight,
            helper: Arc::clone(&self.helper),
        };
        let length = Bytes(range.1.min(RANGE_MAX));
        let access = Access { operation, offset: Bytes(range.0), length };
        let work = Box::new(RequestJob { around: around.clone(), asker, range, task });
        let came = came.unwrap_or_else(|| engine.clock().now());
        engine.submit(engine::EngineRequest { access, thread: THREAD, came, work });
        if let Some(calls) = &self.calls {
            lock(calls).end();
        }
    }

    /// Returns the arrival of the request that the thread begins to handle, which is now, before any data is copied.
    /// The kernel does not report how long the request waited for this thread.
    fn came(&self) -> Option<Instant> {
        let is_awaited = self.gate.has_requests();
        self.calls.as_ref().map(|calls| lock(calls).begin(is_awaited))
    }

    fn do_now(
        &self,
        operation: Operation,
        range: (u64, u64),
        task: &DataTask,
    ) -> Result<(), NbdError> {
        let data = &self.shared.data;
        self.shared.delivered.count_at_once(operation, Bytes(range.1));
        let is_stored = match task {
            DataTask::Failed(error) => return Err(*error),
            DataTask::Nothing => operation == Operation::Flush,
            task => task.change(range, data)?,
        };
        if is_stored { store_data(data, data.mark()) } else { Ok(()) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a change of attributes is rejected: size, mode, owner and group are fixed. Times are not stored, so
/// any time is accepted.
fn is_refused(
    other_size: Option<u64>,
    mode: Option<u32>,
    uid: Option<u32>,
    gid: Option<u32>,
) -> bool {
    other_size.is_some() || mode.is_some() || uid.is_some() || gid.is_some()
}

impl Filesystem for ServedFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A feature that an older kernel lacks only reduces the speed.
        for wanted in [
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
            InitFlags::FUSE_MAX_PAGES,
        ] {
            let _ = config.add_capabilities(wanted);
        }
        let _ = config.set_max_background(BACKGROUND);
        let _ = config.set_congestion_threshold(BACKGROUND);
        let _ = config.set_max_write(LENGTH_MAX);
        Ok(())
    }

    fn getattr(&self, _: &Request, _: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOR_GOOD, &self.attributes);
    }

    fn setattr(
        &self,
        _: &Request,
        _: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let size = size.filter(|size| *size != self.attributes.size);
        if is_refused(size, mode, uid, gid) {
            reply.error(Errno::EPERM);
        } else {
            reply.attr(&FOR_GOOD, &self.attributes);
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if self.is_over() {
            return reply.error(Errno::ESHUTDOWN);
        }
        // Like a drive, the file does not flush data when it is closed.
        let flags = FopenFlags::FOPEN_DIRECT_IO
            | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
            | FopenFlags::FOPEN_NOFLUSH;
        let mut opened = lock(&self.opened);
        opened.1 += 1;
        let handle = opened.1;
        opened.0.insert(handle, self.shared.data.new_client());
        drop(opened);
        reply.opened(FileHandle(handle), flags);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        lock(&self.opened).0.remove(&handle.0);
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let came = self.came();
        let length = self.within(offset, size.into());
        if length == 0 {
            return reply.data(&[]);
        }
        let mut bytes = vec![0; length as usize];
        let task = match self.shared.data.read(offset, &mut bytes) {
            Ok(()) => DataTask::Read(bytes),
            Err(error) => DataTask::Failed(error.into()),
        };
        self.ask(came, Operation::Read, (offset, length), task, FileReply::Data(reply));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let length = self.within(offset, data.len() as u64);
        if length == 0 {
            let beyond = !data.is_empty();
            return if beyond { reply.error(Errno::ENOSPC) } else { reply.written(0) };
        }
        let data = &data[..length as usize];
        if self.around.is_none() && !self.is_over() {
            self.shared.delivered.count_at_once(Operation::Write, Bytes(length));
            return match self.shared.data.write(offset, data) {
                Ok(()) => reply.written(length as u32),
                Err(error) => reply.error(number(error.into())),
            };
        }
        let came = self.came();
        let task = DataTask::Write { payload: data.to_vec(), stored: false };
        let reply = FileReply::Written(reply, length as u32);
        self.ask(came, Operation::Write, (offset, length), task, reply);
    }

    fn fsync(&self, _: &Request, _: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        let task = match &self.around {
            Some((_, around)) if !self.is_over() => {
                let opened = lock(&self.opened);
                let client = opened.0.get(&handle.0);
                let mark =
                    client.map_or_else(|| around.data.mark(), |one| around.data.mark_for(one));
                drop(opened);
                DataTask::Stored(around.storing.store(mark))
            }
            _ => DataTask::Nothing,
        };
        self.ask(self.came(), Operation::Flush, (0, 0), task, FileReply::Done(reply));
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let size = self.attributes.size;
        let is_beyond = offset.checked_add(length).is_none_or(|end| end > size);
        let hole = mode & PUNCH_HOLE != 0;
        if mode & !(KEEP_SIZE | PUNCH_HOLE | ZERO_RANGE) != 0 || (hole && mode & ZERO_RANGE != 0) {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let length = if hole { self.within(offset, length) } else { length };
        match mode & (PUNCH_HOLE | ZERO_RANGE) {
            // A range inside the file already has allocated space.
            0 if is_beyond => reply.error(Errno::ENOSPC),
            0 => reply.ok(),
            _ if length == 0 => reply.ok(),
            _ if is_beyond && !hole => reply.error(Errno::ENOSPC),
            _ => {
                let operation = if hole { Operation::Trim } else { Operation::Write };
                let task = DataTask::Zero { hole, stored: false };
                self.ask(self.came(), operation, (offset, length), task, FileReply::Done(reply));
            }
        }
    }

    fn lseek(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let (wanted_hole, size) = match whence {
            SEEK_DATA => (false, self.attributes.size),
            SEEK_HOLE => (true, self.attributes.size),
            _ => return reply.error(Errno::EINVAL),
        };
        let Some(start) = u64::try_from(offset).ok().filter(|start| *start < size) else {
            return reply.error(Errno::ENXIO);
        };
        let mut at = start;
        for stretch in self.shared.data.stretches(start, size - start, 2) {
            if stretch.hole == wanted_hole {
                return reply.offset(at as i64);
            }
            at += stretch.length;
        }
        if wanted_hole {
            // The end of the file is a hole.
            reply.offset(size as i64);
        } else {
            reply.error(Errno::ENXIO);
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: fuser::ReplyStatfs) {
        let sectors = self.attributes.size / SECTOR;
        reply.statfs(sectors, 0, 0, 1, 0, SECTOR as u32, 255, SECTOR as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_can_be_set() {
        assert!(!is_refused(None, None, None, None));
        // Even a value that equals the present value is rejected, because the kernel sends only the values to set.
        assert!(is_refused(Some(0), None, None, None));
        assert!(is_refused(None, Some(0o600), None, None));
        assert!(is_refused(None, None, Some(0), None));
        assert!(is_refused(None, None, None, Some(0)));
        assert!(is_refused(Some(1), Some(0o644), Some(1000), Some(1000)));
    }
}
