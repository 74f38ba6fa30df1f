//! Host protocols: slots for commands, and what it takes to hand one over.
//!
//! AHCI (Serial ATA AHCI 1.3.1): one list of 32 commands a port. The host writes a register; the
//! controller reads the command header and then the command table from memory, one after the other,
//! and sends the frames. The uncached register reads of the driver are processor time.
//!
//! NVMe (NVM Express 1.2): queues of its own for each core. The host writes a doorbell, a posted write;
//! the controller reads the 64-byte entry, writes a 16-byte completion and a 4-byte MSI-X message, and
//! the host writes the doorbell again. The entry describes up to two pages; longer commands need a PRP
//! list, read beside the media of a read and before the data of a write.
//!
//! ATA DMA from a host of its own (an FPGA with a SATA core): firmware or a state machine writes the
//! command's registers straight into the frame, one command at a time; nothing is fetched from memory.
//!
//! SAS host adapters: the host writes a request to a queue in memory and a doorbell; the adapter reads it
//! with one request and drives the links itself. Each drive holds up to 256 commands.
//!
//! USB storage: the host writes transfer descriptors of 16 bytes and the unit of the command to memory, and a doorbell; the
//! xHCI controller (xHCI 1.2, 4.9 and 4.11) reads both, one after the other, and sends the unit. Descriptors of data, one
//! for each page, count with the command's. USB Attached SCSI holds as many commands as Linux's `uas` gives bridges with 32
//! streams, 30; bulk-only transport holds one, and the driver's three turns for command, data and status are its
//! processor time.
//!
//! Interrupts: an NVMe completion has one of its own, unless [`Coalescing`] announces several together, and
//! so has a SAS adapter's. AHCI has one path for all, on core 0, and so has xHCI; what comes while its handler runs is handled
//! by it.
//!
//! Which of its NVMe queues a drive serves next is said in `sim::arbitration`. Not modelled: AHCI's command
//! completion coalescing.

use super::budget::Hop;
use super::coalescing::Coalescing;
use super::drive::Candidate;
use super::link::{Accesses, Link};
use super::path::Way;
use super::slab::{Chain, CommandHandle, Commands, Handle, Slab};
use super::spec::{ProtocolKind, ProtocolSpec};
use super::station::Span;
use super::trace::Trace;
use crate::sim::number::QueueNumber;
use crate::units::{Bytes, Duration, Instant};
use crate::workload::Operation;

/// Pages that an NVMe entry describes without a list.
const PAGES_IN_ENTRY: u64 = 2;
const PAGE: u64 = 4096;
/// A doorbell.
const DOORBELL: Bytes = Bytes(4);
/// The end of a command: a completion of 16 bytes and a message of 4 (MSI-X) to the host, which then writes a doorbell.
/// Of AHCI and SAS adapters, whose structures are about as long, it is taken to be the same.
pub(super) const COMPLETION: Accesses = Accesses {
    host_writes: DOORBELL,
    device_writes: [Bytes(16), Bytes(4)],
    device_reads: (Bytes::ZERO, 0),
};

/// A host protocol at work.
#[derive(Clone, Debug)]
pub(super) struct Protocol {
    spec: ProtocolSpec,
    /// Queues up to the highest that was used.
    queues: Vec<Queue>,
    read: DriverTime,
    write: DriverTime,
    /// Completions that wait to be announced.
    pub coalescing: Coalescing,
    interrupts: u64,
    /// Until when the handler of the last interrupt runs.
    handler_until: Instant,
}

/// Processor time of a command in the driver, before it leaves and after it came back.
#[derive(Clone, Copy, Debug)]
struct DriverTime {
    submit: Duration,
    complete: Duration,
}

#[derive(Clone, Debug)]
struct Queue {
    free: u32,
    waiting: Chain<Commands>,
}

impl Protocol {
    /// Empty queues.
    pub(super) fn new(spec: ProtocolSpec) -> Self {
        let split = |whole: Duration| {
            let before = whole.picoseconds() as f64 * spec.submit_share.get();
            let submit = Duration::from_picoseconds(before as u64);
            DriverTime { submit, complete: whole - submit }
        };
        Self {
            queues: Vec::new(),
            coalescing: Coalescing::new(spec.coalescing),
            interrupts: 0,
            handler_until: Instant::ZERO,
            read: split(spec.read_time),
            write: split(spec.write_time),
            spec,
        }
    }

    /// Empties all queues: the controller starts anew.
    pub(super) fn restart(&mut self) {
        self.queues.clear();
        self.coalescing = Coalescing::new(self.spec.coalescing);
        self.handler_until = Instant::ZERO;
    }

    /// Processor time to submit a command.
    pub(super) fn submit_time(&self, operation: Operation) -> Duration {
        self.driver(operation).submit
    }

    /// Processor time to complete a command.
    pub(super) fn complete_time(&self, operation: Operation) -> Duration {
        self.driver(operation).complete
    }

    fn driver(&self, operation: Operation) -> &DriverTime {
        match operation {
            Operation::Read => &self.read,
            Operation::Write | Operation::Flush | Operation::Trim => &self.write,
        }
    }

    /// The core that takes the completions of a thread's commands: AHCI has one interrupt.
    pub(super) fn completion_core(&self, thread: u32) -> u32 {
        match self.spec.kind {
            kind if one_path(kind) => 0,
            _ => thread,
        }
    }

    /// The queue of a thread's commands.
    pub(super) fn queue_of(&self, thread: u32) -> QueueNumber {
        QueueNumber(thread % self.spec.queues)
    }

    /// The core that handles the interrupts of a queue's vector.
    pub(super) fn interrupt_core(&self, queue: QueueNumber) -> u32 {
        queue.0
    }

    /// Whether the commands go through a host bus adapter whose times are known.
    pub(super) fn has_adapter(&self) -> bool {
        self.spec.adapter.is_some()
    }

    /// Number of commands that hold a slot.
    pub(super) fn outstanding(&self) -> u32 {
        self.queues.iter().map(|queue| self.spec.queue_depth - queue.free).sum()
    }

    /// A 64-byte read of host memory by the controller.
    pub(super) fn memory_read(&self) -> Duration {
        self.spec.memory_read
    }

    /// Interrupts so far.
    pub(super) fn interrupts(&self) -> u64 {
        self.interrupts
    }

    /// Announces completions at `now`, and returns the processor time of the interrupt: none for what the
    /// handler that runs already will find.
    pub(super) fn interrupt(&mut self, now: Instant) -> Duration {
        if one_path(self.spec.kind) && now < self.handler_until {
            return Duration::ZERO;
        }
        self.interrupts += 1;
        self.spec.interrupt_time
    }

    /// Takes note that the handler of an interrupt runs until `end`.
    pub(super) fn handles_until(&mut self, end: Instant) {
        self.handler_until = end;
    }

    /// Whether a command has to be alone in its queue: ATA's FLUSH CACHE and DATA SET MANAGEMENT are not
    /// queued, and the driver lets the queue run empty for them (ATA8-ACS, 7.1; libata's `ata_qc_defer`).
    fn is_alone(&self, operation: Operation) -> bool {
        self.spec.kind == ProtocolKind::Ahci && !operation.moves_data()
    }

    /// Takes a slot for `command`, or makes it wait for one.
    pub(super) fn take_slot<T: Candidate>(
        &mut self,
        slab: &mut Slab<T, Commands>,
        queue: QueueNumber,
        command: CommandHandle,
    ) -> bool {
        let index = usize::from(queue);
        if index >= self.queues.len() {
            let unused = Queue { free: self.spec.queue_depth, waiting: Chain::EMPTY };
            self.queues.resize(index + 1, unused);
        }
        let alone = self.is_alone(slab[command].operation());
        let depth = self.spec.queue_depth;
        let queue = &mut self.queues[index];
        if !queue.waiting.is_empty() || !queue.takes(alone, depth) {
            queue.waiting.push(slab, command);
            return false;
        }
        true
    }

    /// Gives the slot of a command back.
    pub(super) fn give_slot(&mut self, queue: QueueNumber, operation: Operation) {
        let alone = self.is_alone(operation);
        let queue = &mut self.queues[usize::from(queue)];
        queue.free = if alone { self.spec.queue_depth } else { queue.free + 1 };
    }

    /// The next command that waited and has a slot now.
    pub(super) fn next_with_slot<T: Candidate>(
        &mut self,
        slab: &mut Slab<T, Commands>,
        queue: QueueNumber,
    ) -> Option<CommandHandle> {
        let head = self.queues[usize::from(queue)].waiting.head();
        if head == Handle::NONE {
            return None;
        }
        let alone = self.is_alone(slab[head].operation());
        let depth = self.spec.queue_depth;
        let queue = &mut self.queues[usize::from(queue)];
        if queue.takes(alone, depth) { queue.waiting.pop(slab) } else { None }
    }

    /// Reads of host memory, one after the other, before the controller has a command.
    #[inline]
    pub(super) fn fetches(&self, operation: Operation, length: Bytes) -> u64 {
        match (self.spec.kind, operation) {
            (ProtocolKind::AtaDma, _) => 0,
            (ProtocolKind::Ahci | ProtocolKind::Uasp | ProtocolKind::BulkOnly, _) => 2,
            (ProtocolKind::Nvme, Operation::Write) if needs_list(length) => 2,
            (ProtocolKind::Nvme | ProtocolKind::SasHba, _) => 1,
        }
    }

    /// Lets the controller fetch a command, and returns when it has it.
    pub(super) fn fetch(
        &self,
        now: Instant,
        way: &mut Way,
        shared: &mut [Link],
        operation: Operation,
        length: Bytes,
        trace: &mut Trace,
    ) -> Instant {
        let length = if operation.moves_data() { length } else { Bytes::ZERO };
        let fetches = self.fetches(operation, length);
        if fetches == 0 {
            return now;
        }
        let issue = Accesses {
            host_writes: DOORBELL,
            device_writes: [Bytes::ZERO; 2],
            device_reads: (entry_bytes(self.spec.kind, length), fetches),
        };
        way.charge(shared, now, issue);
        let one_way = way.message_latency(shared);
        let end = now + one_way + (self.spec.memory_read + one_way * 2) * fetches;
        trace.spend(Hop::Protocol as usize, Span { start: now, end });
        end
    }
}

impl Queue {
    /// Takes a slot, or all of them for a command that has to be alone, where they are free.
    fn takes(&mut self, alone: bool, depth: u32) -> bool {
        let needed = if alone { depth } else { 1 };
        if self.free < needed {
            return false;
        }
        self.free -= needed;
        true
    }
}

/// Whether all interrupts of a controller go one path, to core 0.
fn one_path(kind: ProtocolKind) -> bool {
    match kind {
        ProtocolKind::Nvme | ProtocolKind::SasHba => false,
        ProtocolKind::Ahci | ProtocolKind::AtaDma | ProtocolKind::Uasp | ProtocolKind::BulkOnly => {
            true
        }
    }
}

/// Whether an NVMe command of `length` needs a PRP list.
fn needs_list(length: Bytes) -> bool {
    length.get() > PAGES_IN_ENTRY * PAGE
}

/// Returns the bytes that the controller reads from host memory for a command.
fn entry_bytes(kind: ProtocolKind, length: Bytes) -> Bytes {
    let pages = length.get().div_ceil(PAGE);
    match kind {
        // A command header of 32 bytes, a table of 128 and one 16-byte region descriptor a page.
        ProtocolKind::AtaDma => Bytes::ZERO,
        // A message of 128 bytes, with a 16-byte element for each page.
        ProtocolKind::SasHba => Bytes(128 + 16 * pages),
        // A descriptor of the command and one a page, with a unit of 32 bytes or a wrapper of 31.
        ProtocolKind::Uasp | ProtocolKind::BulkOnly => Bytes(16 + 32 + 16 * pages),
        ProtocolKind::Ahci => Bytes(32 + 128 + 16 * pages),
        ProtocolKind::Nvme if needs_list(length) => Bytes(64 + 8 * pages),
        ProtocolKind::Nvme => Bytes(64),
    }
}
