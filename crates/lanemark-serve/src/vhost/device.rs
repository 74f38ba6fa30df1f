//! The device that a guest sees: the negotiated features, the queue, and the guest's requests as work for the engine.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lanemark_schema::units::{self, Bytes};
use lanemark_schema::workload::{Access, Operation};

use super::block::{self, BlockRequest, BlockStatus, ByteRange, HEAD};
use super::memory::GuestMemory;
use super::message::{F_PROTOCOL_FEATURES, Message, P_CHANNEL, P_CONFIG, P_IN_BAND, P_REPLY_ACK};
use super::ring::{DescriptorChain, SIZE_MAX, Virtqueue};
use crate::engine::EngineRequest;
use crate::job::{DataTask, RequestContext, RequestJob, Requester, TaskThread};
use crate::nbd::NbdError;

/// Maximum number of bytes in outstanding requests; other requests wait in the queue.
const UNDER_WAY_MAX: u64 = 64 << 20;
/// Weight of a request in bytes, in addition to its data.
const WEIGHT: u64 = 256;
/// Time limit for outstanding requests when a guest stops its queue.
const STOPPING: Duration = Duration::from_secs(10);

/// The device.
pub(crate) struct VhostDevice {
    around: RequestContext,
    thread: u32,
    in_band: bool,
    queue: Arc<DeviceQueue>,
    is_enabled: bool,
    /// The file that the guest uses to announce requests.
    pub(crate) kick: Option<File>,
    /// The channel for messages from the device.
    pub(crate) channel: Option<UnixStream>,
}

/// The queue, shared with the outstanding requests.
#[derive(Default)]
pub(crate) struct DeviceQueue {
    ring: Mutex<Virtqueue>,
    call: Mutex<Option<File>>,
    /// Whether there are replies that were not announced to the guest yet. This is used if notifications are messages.
    has_answers: AtomicBool,
    under_way: AtomicU64,
    /// Whether a reply could not be put into the queue, after which the connection is unusable.
    is_broken: AtomicBool,
}

/// A request of the guest, which receives the reply.
struct GuestRequester {
    queue: Arc<DeviceQueue>,
    chain: DescriptorChain,
    weight: u64,
}

/// Executes long writes immediately, like short writes.
struct ImmediateWrites;

impl TaskThread for ImmediateWrites {
    fn later(&self, task: Box<dyn FnOnce() + Send>) {
        task();
    }
}

impl Requester for GuestRequester {
    fn answer(self, outcome: Result<Option<Vec<u8>>, NbdError>) {
        let Self { queue, chain, weight } = self;
        let (bytes, outcome) = match outcome {
            Ok(bytes) => (bytes.unwrap_or_default(), BlockStatus::Good),
            Err(NbdError::Unsupported) => (Vec::new(), BlockStatus::Unsupported),
            Err(_) => (Vec::new(), BlockStatus::Failed),
        };
        queue.answer(&chain, &bytes, outcome);
        queue.under_way.fetch_sub(weight, Ordering::AcqRel);
    }

    fn helper(&self) -> Arc<dyn TaskThread> {
        Arc::new(ImmediateWrites)
    }
}

impl DeviceQueue {
    /// Puts a reply into the queue, and notifies the guest.
    fn answer(&self, chain: &DescriptorChain, bytes: &[u8], outcome: BlockStatus) {
        let put = || -> io::Result<()> {
            let last = chain.writable().checked_sub(1);
            let last =
                last.ok_or_else(|| io::Error::other("a request lacks room for its status"))?;
            chain.write(0, bytes)?;
            chain.write(last, &[outcome as u8])?;
            lock(&self.ring).put(chain, (bytes.len() as u64).min(last) as u32 + 1)
        };
        if put().is_err() {
            self.is_broken.store(true, Ordering::SeqCst);
        }
        match lock(&self.call).as_mut() {
            // If the pipe is full, the guest has already been notified.
            Some(file) => drop(file.write(&1u64.to_le_bytes())),
            None => self.has_answers.store(true, Ordering::SeqCst),
        }
    }

    /// Returns whether a message must announce replies; the replies count as announced afterwards.
    pub(crate) fn take_answers(&self) -> bool {
        self.has_answers.swap(false, Ordering::SeqCst)
    }

    /// Returns whether a reply could not be put into the queue.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::SeqCst)
    }
}

/// Requests of a guest.
#[derive(Default)]
pub(crate) struct GuestRequests {
    pub(crate) requests: Vec<EngineRequest>,
    /// Whether the queue contains more requests, which wait until other requests are answered.
    pub(crate) has_more: bool,
}

impl VhostDevice {
    /// Creates a device before any message; `in_band` if notifications are messages.
    pub(crate) fn new(around: RequestContext, thread: u32, in_band: bool) -> Self {
        let (queue, is_enabled) = (Arc::default(), false);
        Self { around, thread, in_band, queue, is_enabled, kick: None, channel: None }
    }

    pub(crate) fn queue(&self) -> &Arc<DeviceQueue> {
        &self.queue
    }

    /// Applies a message, and returns the reply.
    ///
    /// # Errors
    /// Returns an error if the message is invalid; the connection is then unusable.
    pub(crate) fn handle(
        &mut self,
        message: Message,
        files: Vec<OwnedFd>,
    ) -> io::Result<Option<Vec<u8>>> {
        let mut first = files.into_iter();
        let number = |number: u64| Ok(Some(number.to_le_bytes().to_vec()));
        match message {
            Message::GetFeatures => return number(block::FEATURES),
            Message::SetFeatures(features) => {
                self.check_known("feature", features, block::FEATURES)?;
                // Without this feature, there is no message that enables the queue.
                self.is_enabled |= features & F_PROTOCOL_FEATURES == 0;
            }
            Message::GetProtocolFeatures => return number(self.protocol_features()),
            Message::SetProtocolFeatures(features) => {
                self.check_known("protocol feature", features, self.protocol_features())?;
            }
            Message::GetQueues => return number(1),
            Message::SetMemory(regions) => {
                lock(&self.queue.ring).memory =
                    Arc::new(GuestMemory::new(regions, first.collect()));
            }
            Message::SetSize(queue, size) => {
                require_first_queue(queue)?;
                let size = u16::try_from(size).ok().filter(|size| (1..=SIZE_MAX).contains(size));
                let length_error =
                    || io::Error::other("the length of a queue must be from 1 to 1024");
                lock(&self.queue.ring).size = size.ok_or_else(length_error)?;
            }
            Message::SetAddresses { queue, descriptors, used, available } => {
                require_first_queue(queue)?;
                let mut ring = lock(&self.queue.ring);
                (ring.descriptors, ring.used, ring.available) = (descriptors, used, available);
            }
            Message::SetBase(queue, base) => {
                require_first_queue(queue)?;
                let mut ring = lock(&self.queue.ring);
                ring.next_available = base as u16;
                ring.next_used = ring.next_available;
            }
            Message::GetBase(queue) => {
                require_first_queue(queue)?;
                self.stop();
                let mut state = queue.to_le_bytes().to_vec();
                let next = lock(&self.queue.ring).next_available;
                state.extend(u32::from(next).to_le_bytes());
                return Ok(Some(state));
            }
            Message::SetKick(queue, _) => {
                require_first_queue(queue)?;
                self.kick = first.next().map(File::from);
            }
            Message::SetCall(queue, _) => {
                require_first_queue(queue)?;
                let file = first.next();
                if let Some(file) = &file {
                    // A guest that does not read its notifications must not block the server.
                    let flags = rustix::fs::fcntl_getfl(file)? | rustix::fs::OFlags::NONBLOCK;
                    rustix::fs::fcntl_setfl(file, flags)?;
                }
                *lock(&self.queue.call) = file.map(File::from);
            }
            Message::Enable(queue, is_enabled) => {
                require_first_queue(queue)?;
                self.is_enabled = is_enabled;
            }
            Message::SetChannel => self.channel = first.next().map(UnixStream::from),
            Message::GetConfig { offset, size, flags } => {
                let mut config = block::config(self.around.data.size());
                config.resize((offset + size) as usize, 0);
                let mut answer: Vec<u8> =
                    [offset, size, flags].iter().flat_map(|number| number.to_le_bytes()).collect();
                answer.extend(&config[offset as usize..]);
                return Ok(Some(answer));
            }
            Message::Kick(queue) => require_first_queue(queue)?,
            Message::Ignored => {}
        }
        Ok(None)
    }

    fn protocol_features(&self) -> u64 {
        // Without the channel, user-mode Linux does not accept interrupts, even if the channel is not used.
        let in_band = if self.in_band { P_IN_BAND } else { 0 };
        P_REPLY_ACK | P_CONFIG | P_CHANNEL | in_band
    }

    fn check_known(&self, what: &str, features: u64, known: u64) -> io::Result<()> {
        match features & !known {
            0 => Ok(()),
            rest => Err(io::Error::other(format!("{what}s {rest:#x} were not offered"))),
        }
    }

    /// Stops the queue after the outstanding requests are answered, or after a time limit.
    pub(crate) fn stop(&mut self) {
        self.is_enabled = false;
        let end = Instant::now() + STOPPING;
        // In virtual time, waiting is useless, and the guest does not require it.
        while !self.in_band
            && self.queue.under_way.load(Ordering::Acquire) > 0
            && Instant::now() < end
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Replies that arrive later are put into the former queue, which is no longer used.
        let former = std::mem::take(&mut self.queue);
        let mut before = lock(&former.ring);
        let mut ring = lock(&self.queue.ring);
        ring.memory = Arc::clone(&before.memory);
        ring.size = before.size;
        (ring.next_available, ring.next_used) = (before.next_available, before.next_used);
        before.size = 0;
        drop((before, ring));
    }

    /// Takes the guest's requests out of the queue.
    ///
    /// # Errors
    /// Returns an error if the queue breaks the rules.
    pub(crate) fn pull(&self) -> io::Result<GuestRequests> {
        let mut pulled = GuestRequests::default();
        if !self.is_enabled || !lock(&self.queue.ring).is_ready() {
            return Ok(pulled);
        }
        // The arrival is read before any data is copied.
        let arrival = self.around.clock.now();
        loop {
            if self.queue.under_way.load(Ordering::Acquire) > UNDER_WAY_MAX {
                pulled.has_more = true;
                return Ok(pulled);
            }
            let Some(chain) = lock(&self.queue.ring).pop()? else { return Ok(pulled) };
            pulled.requests.extend(self.request(chain, arrival)?);
        }
    }

    /// Returns the request of a chain; `None` if it is already answered.
    fn request(
        &self,
        chain: DescriptorChain,
        came: units::Instant,
    ) -> io::Result<Option<EngineRequest>> {
        let first = chain.read_bytes(0, 2 * HEAD)?;
        let sent = chain.readable().saturating_sub(HEAD);
        let Some(room) = chain.writable().checked_sub(1) else {
            return Err(io::Error::other("a request lacks room for its status"));
        };
        let (request, range) = match block::read(&first, sent, room, self.around.data.size()) {
            Ok((BlockRequest::Identity, (_, length))) => {
                let identity = &block::IDENTITY[..length as usize];
                self.queue.answer(&chain, identity, BlockStatus::Good);
                return Ok(None);
            }
            Ok(request) => request,
            Err(outcome) => {
                self.queue.answer(&chain, &[], outcome);
                return Ok(None);
            }
        };
        let task = self.task(request, range, &chain)?;
        let operation = match request {
            BlockRequest::Read => Operation::Read,
            BlockRequest::Flush | BlockRequest::Identity => Operation::Flush,
            BlockRequest::Zero { hole: true } => Operation::Trim,
            BlockRequest::Write | BlockRequest::Zero { .. } => Operation::Write,
        };
        let weight = WEIGHT + chain.readable() + chain.writable();
        self.queue.under_way.fetch_add(weight, Ordering::AcqRel);
        let access = Access { operation, offset: Bytes(range.0), length: Bytes(range.1) };
        let asker = GuestRequester { queue: Arc::clone(&self.queue), chain, weight };
        let work = Box::new(RequestJob { around: self.around.clone(), asker, range, task });
        Ok(Some(EngineRequest { access, thread: self.thread, came, work }))
    }

    fn task(
        &self,
        request: BlockRequest,
        range: ByteRange,
        chain: &DescriptorChain,
    ) -> io::Result<DataTask> {
        let (offset, length) = range;
        Ok(match request {
            BlockRequest::Read => {
                let mut bytes = vec![0; length as usize];
                match self.around.data.read(offset, &mut bytes) {
                    Ok(()) => DataTask::Read(bytes),
                    Err(error) => DataTask::Failed(error.into()),
                }
            }
            BlockRequest::Write => {
                DataTask::Write { payload: chain.read_bytes(HEAD, length)?, stored: false }
            }
            BlockRequest::Zero { hole } => DataTask::Zero { hole, stored: false },
            BlockRequest::Flush => {
                DataTask::Stored(self.around.storing.store(self.around.data.mark()))
            }
            BlockRequest::Identity => DataTask::Nothing,
        })
    }
}

/// Rejects queues that do not exist.
fn require_first_queue(queue: u32) -> io::Result<()> {
    match queue {
        0 => Ok(()),
        _ => {
            Err(io::Error::other(format!("queue {queue} does not exist: the device has one queue")))
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::data::DriveCache;
    use crate::delivered::DueCompletion;
    use crate::vhost::ring::tests::{DESCRIPTORS, Guest as Machine};
    use lanemark_sim::RequestStatus;
    use lanemark_sim::spec::WriteCacheMode;
    use std::os::unix::fs::FileExt;

    fn device() -> (Machine, VhostDevice) {
        let cache = DriveCache { kind: WriteCacheMode::Protected, size: 0 };
        let data = Arc::new(crate::data::ExportData::memory(1 << 20, cache, 1).unwrap());
        let (storing, _) = crate::storing::StoringThread::start(Arc::clone(&data)).unwrap();
        let clock = Arc::new(ManualClock::default());
        let around = RequestContext { data, storing, delivered: Arc::default(), clock };
        let mut device = VhostDevice::new(around, 1, true);
        let (machine, ring) = Machine::new();
        *lock(&device.queue.ring) = ring;
        device.handle(Message::Enable(0, true), Vec::new()).unwrap();
        (machine, device)
    }

    #[test]
    fn a_reply_without_room_for_its_status_breaks_the_queue() {
        let (mut machine, device) = device();
        machine.descriptor(DESCRIPTORS, 0x2000, 16, [0, 0]);
        machine.offer(0);
        let chain = lock(&device.queue.ring).pop().unwrap().unwrap();
        assert!(!device.queue().is_broken());
        device.queue.answer(&chain, &[], BlockStatus::Good);
        assert!(device.queue().is_broken());
    }

    /// Submits a request for one page at `sector`, with its data at 0x3000, and returns its outcome.
    fn submit(machine: &mut Machine, device: &VhostDevice, kind: u32, sector: u64) -> u8 {
        let head = [&kind.to_le_bytes()[..], &[0; 4], &sector.to_le_bytes()].concat();
        machine.file.write_all_at(&head, 0x2000).unwrap();
        machine.file.write_all_at(&[99], 0x2100).unwrap();
        let data = if kind == 1 { 1 } else { 3 };
        machine.descriptor(DESCRIPTORS, 0x2000, 16, [1, 1]);
        machine.descriptor(DESCRIPTORS + 16, 0x3000, 4096, [data, 2]);
        machine.descriptor(DESCRIPTORS + 32, 0x2100, 1, [2, 0]);
        machine.offer(0);
        for request in device.pull().unwrap().requests {
            let (access, came) = (request.access, request.came);
            let modelled = units::Duration::ZERO;
            let due = DueCompletion {
                access,
                came,
                at: came,
                modelled,
                before_flush: modelled,
                damage: None,
            };
            let _ = request.work.completed(RequestStatus::Good, &due);
        }
        let mut outcome = [0];
        machine.file.read_exact_at(&mut outcome, 0x2100).unwrap();
        assert!(device.queue().take_answers() && !device.queue().is_broken());
        outcome[0]
    }

    #[test]
    fn written_data_is_read_and_wrong_requests_are_answered() {
        let (mut machine, device) = device();
        machine.file.write_all_at(&[7; 4096], 0x3000).unwrap();
        assert_eq!(submit(&mut machine, &device, 1, 8), 0);
        machine.file.write_all_at(&[0; 4096], 0x3000).unwrap();
        assert_eq!(submit(&mut machine, &device, 0, 8), 0);
        let mut bytes = [0; 4096];
        machine.file.read_exact_at(&mut bytes, 0x3000).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 7));
        assert_eq!(submit(&mut machine, &device, 0, 2048), 1);
        assert_eq!(submit(&mut machine, &device, 77, 0), 2);
        assert_eq!(device.queue.under_way.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn messages_that_make_no_sense_end_the_connection() {
        let (_, mut device) = device();
        for message in [
            Message::SetFeatures(1 << 63),
            Message::SetProtocolFeatures(1),
            Message::SetSize(0, 0),
            Message::SetSize(0, 65_536),
            Message::SetSize(1, 8),
            Message::Kick(7),
        ] {
            assert!(device.handle(message.clone(), Vec::new()).is_err(), "{message:?}");
        }
        device.handle(Message::SetMemory(Vec::new()), Vec::new()).unwrap();
        assert!(device.pull().is_err(), "a queue outside of memory");
    }
}
