//! Host protocols: command slots, and the cost of passing a command to the controller.
//!
//! AHCI (Serial ATA AHCI 1.3.1): one list of 32 commands per port. The host writes a register; the controller reads
//! first the command header and then the command table from memory, and sends the frames. The driver's uncached
//! register reads count as processor time.
//!
//! NVMe (NVM Express 1.2): separate queues for each core. The host writes a doorbell (a posted write); the controller
//! reads the 64-byte entry, writes a 16-byte completion and a 4-byte MSI-X message, and the host writes the doorbell
//! again. The entry describes up to two pages; longer commands need a PRP list. The controller reads the list in
//! parallel with the media for a read, and before the data for a write.
//!
//! ATA DMA from a dedicated host (an FPGA with a SATA core): firmware or a state machine writes the command's registers
//! directly into the frame, one command at a time. There are no fetches from memory.
//!
//! SAS host adapters: the host writes a request to a queue in memory and then writes a doorbell; the adapter reads the
//! request with one memory read and drives the links itself. Each drive has a queue of up to 256 commands.
//!
//! USB storage: the host writes 16-byte transfer descriptors and the unit of the command to memory, and then writes a
//! doorbell; the xHCI controller (xHCI 1.2, 4.9 and 4.11) reads the two in sequence, and sends the unit. Data
//! descriptors, one for each page, are counted together with the command's descriptor. USB Attached SCSI queues 30
//! commands, the number that Linux's `uas` uses for bridges with 32 streams. Bulk-only transport queues one command,
//! and its processor time includes the driver's three exchanges for command, data and status.
//!
//! Interrupts: each completion of NVMe or of a SAS adapter has its own interrupt. AHCI and xHCI have one interrupt path
//! for all commands, on core 0; the running handler also handles completions that arrive while it runs.
//!
//! `drive/arbitration.rs` describes which NVMe queue a drive serves next. Not modelled: interrupt
//! coalescing (NVM Express 1.2, 5.14.1; AHCI's command completion coalescing).

use crate::drive::DecodableCommand;
use crate::engine::budget::Hop;
use crate::engine::number::QueueNumber;
use crate::engine::slab::{CommandHandle, Commands, Handle, Slab, SlabQueue};
use crate::engine::station::ServiceSpan;
use crate::engine::trace::BudgetTrace;
use crate::link::{Link, ProtocolAccesses};
use crate::path::PortPath;
use crate::spec::{ProtocolKind, ProtocolSpec};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::Operation;

/// Number of pages that an NVMe entry describes without a list.
const PAGES_IN_ENTRY: u64 = 2;
/// Size of a page, in bytes.
const PAGE: u64 = 4096;
/// Length of a doorbell write.
const DOORBELL: Bytes = Bytes(4);
/// The end of a command: a completion of 16 bytes and an MSI-X message of 4 bytes to the host, which then writes a
/// doorbell. AHCI and SAS adapters, whose structures have about the same length, are assumed to use the same sizes.
pub(crate) const COMPLETION: ProtocolAccesses = ProtocolAccesses {
    host_writes: DOORBELL,
    device_writes: [Bytes(16), Bytes(4)],
    device_reads: (Bytes::ZERO, 0),
};

#[derive(Clone, Debug)]
pub(crate) struct Protocol {
    spec: ProtocolSpec,
    /// Queues, up to the highest number in use.
    queues: Vec<SubmissionQueue>,
    read: DriverTime,
    write: DriverTime,
    interrupts: u64,
    /// Instant until which the handler of the last interrupt runs.
    handler_until: Instant,
}

/// Processor time of a command in the driver, before submission and after completion.
#[derive(Clone, Copy, Debug)]
struct DriverTime {
    submit: Duration,
    complete: Duration,
}

#[derive(Clone, Debug)]
struct SubmissionQueue {
    free: u32,
    waiting: SlabQueue<Commands>,
}

impl Protocol {
    /// Creates empty queues.
    pub(crate) fn new(spec: ProtocolSpec) -> Self {
        let split = |whole: Duration| {
            let before = whole.picoseconds() as f64 * spec.submit_share.get();
            let submit = Duration::from_picoseconds(before as u64);
            DriverTime { submit, complete: whole - submit }
        };
        Self {
            queues: Vec::new(),
            interrupts: 0,
            handler_until: Instant::ZERO,
            read: split(spec.read_time),
            write: split(spec.write_time),
            spec,
        }
    }

    /// Empties all queues: the controller restarts.
    pub(crate) fn restart(&mut self) {
        self.queues.clear();
        self.handler_until = Instant::ZERO;
    }

    pub(crate) fn submit_time(&self, operation: Operation) -> Duration {
        self.driver(operation).submit
    }

    pub(crate) fn complete_time(&self, operation: Operation) -> Duration {
        self.driver(operation).complete
    }

    fn driver(&self, operation: Operation) -> &DriverTime {
        match operation {
            Operation::Read => &self.read,
            Operation::Write | Operation::Flush | Operation::Trim => &self.write,
        }
    }

    /// Returns the core that handles the completions of a thread's commands. AHCI has only one interrupt.
    pub(crate) fn completion_core(&self, thread: u32) -> u32 {
        match self.spec.kind {
            kind if one_path(kind) => 0,
            _ => thread,
        }
    }

    pub(crate) fn queue_of(&self, thread: u32) -> QueueNumber {
        QueueNumber(thread % self.spec.queues)
    }

    /// Returns whether the commands pass through a host bus adapter whose times are known.
    pub(crate) fn has_adapter(&self) -> bool {
        self.spec.adapter.is_some()
    }

    /// Returns the number of commands that have a slot.
    pub(crate) fn outstanding(&self) -> u32 {
        self.queues.iter().map(|queue| self.spec.queue_depth - queue.free).sum()
    }

    /// Returns the time of a 64-byte read of host memory by the controller.
    pub(crate) fn memory_read(&self) -> Duration {
        self.spec.memory_read
    }

    pub(crate) fn interrupts(&self) -> u64 {
        self.interrupts
    }

    /// Announces completions at `now`, and returns the processor time of the interrupt: zero for completions that the
    /// running handler will find.
    pub(crate) fn interrupt(&mut self, now: Instant) -> Duration {
        if one_path(self.spec.kind) && now < self.handler_until {
            return Duration::ZERO;
        }
        self.interrupts += 1;
        self.spec.interrupt_time
    }

    /// Records that the handler of an interrupt runs until `end`.
    pub(crate) fn handles_until(&mut self, end: Instant) {
        self.handler_until = end;
    }

    /// Returns whether a command needs an otherwise empty queue: ATA's FLUSH CACHE and DATA SET MANAGEMENT are not
    /// queued, and the driver waits until the queue is empty before it sends them (ATA8-ACS, 7.1; libata's
    /// `ata_qc_defer`).
    fn is_alone(&self, operation: Operation) -> bool {
        self.spec.kind == ProtocolKind::Ahci && !operation.moves_data()
    }

    /// Takes a slot for `command`, or makes the command wait for a slot.
    pub(crate) fn take_slot<T: DecodableCommand>(
        &mut self,
        slab: &mut Slab<T, Commands>,
        queue: QueueNumber,
        command: CommandHandle,
    ) -> bool {
        let index = usize::from(queue);
        if index >= self.queues.len() {
            let unused = SubmissionQueue { free: self.spec.queue_depth, waiting: SlabQueue::EMPTY };
            self.queues.resize(index + 1, unused);
        }
        let alone = self.is_alone(slab[command].operation());
        let depth = self.spec.queue_depth;
        let queue = &mut self.queues[index];
        if !queue.waiting.is_empty() || !queue.try_take_slots(alone, depth) {
            queue.waiting.push(slab, command);
            return false;
        }
        true
    }

    /// Releases the slot of a command.
    pub(crate) fn give_slot(&mut self, queue: QueueNumber, operation: Operation) {
        let alone = self.is_alone(operation);
        let queue = &mut self.queues[usize::from(queue)];
        queue.free = if alone { self.spec.queue_depth } else { queue.free + 1 };
    }

    /// Takes a slot for the next waiting command, if possible, and returns the command.
    pub(crate) fn next_with_slot<T: DecodableCommand>(
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
        if queue.try_take_slots(alone, depth) { queue.waiting.pop(slab) } else { None }
    }

    /// Returns the number of successive reads of host memory after which the controller has a command.
    #[inline]
    pub(crate) fn fetches(&self, operation: Operation, length: Bytes) -> u64 {
        match (self.spec.kind, operation) {
            (ProtocolKind::AtaDma, _) => 0,
            (ProtocolKind::Ahci | ProtocolKind::Uasp | ProtocolKind::BulkOnly, _) => 2,
            (ProtocolKind::Nvme, Operation::Write) if needs_list(length) => 2,
            (ProtocolKind::Nvme | ProtocolKind::SasHba, _) => 1,
        }
    }

    /// Makes the controller fetch a command, and returns the instant at which it has the command.
    pub(crate) fn fetch(
        &self,
        now: Instant,
        port_path: &mut PortPath,
        shared: &mut [Link],
        operation: Operation,
        length: Bytes,
        trace: &mut BudgetTrace,
    ) -> Instant {
        let length = if operation.moves_data() { length } else { Bytes::ZERO };
        let fetches = self.fetches(operation, length);
        if fetches == 0 {
            return now;
        }
        let issue = ProtocolAccesses {
            host_writes: DOORBELL,
            device_writes: [Bytes::ZERO; 2],
            device_reads: (entry_bytes(self.spec.kind, length), fetches),
        };
        port_path.charge(shared, now, issue);
        let one_way = port_path.message_latency(shared);
        let end = now + one_way + (self.spec.memory_read + one_way * 2) * fetches;
        trace.account_service(Hop::Protocol as usize, ServiceSpan { start: now, end });
        end
    }
}

impl SubmissionQueue {
    /// Takes a slot, or all slots for a command that needs an empty queue, if they are free. Returns whether they were
    /// free.
    fn try_take_slots(&mut self, alone: bool, depth: u32) -> bool {
        let needed = if alone { depth } else { 1 };
        if self.free < needed {
            return false;
        }
        self.free -= needed;
        true
    }
}

/// Returns whether all interrupts of a controller use one path, to core 0.
fn one_path(kind: ProtocolKind) -> bool {
    match kind {
        ProtocolKind::Nvme | ProtocolKind::SasHba => false,
        ProtocolKind::Ahci | ProtocolKind::AtaDma | ProtocolKind::Uasp | ProtocolKind::BulkOnly => {
            true
        }
    }
}

/// Returns whether an NVMe command of `length` needs a PRP list.
fn needs_list(length: Bytes) -> bool {
    length.get() > PAGES_IN_ENTRY * PAGE
}

/// Returns the number of bytes that the controller reads from host memory for a command.
fn entry_bytes(kind: ProtocolKind, length: Bytes) -> Bytes {
    let pages = length.get().div_ceil(PAGE);
    match kind {
        // A 32-byte command header, a 128-byte table, and one 16-byte region descriptor per page.
        ProtocolKind::AtaDma => Bytes::ZERO,
        // A 128-byte message with one 16-byte element per page.
        ProtocolKind::SasHba => Bytes(128 + 16 * pages),
        // A descriptor for the command and one per page, and a 32-byte unit or a 31-byte wrapper.
        ProtocolKind::Uasp | ProtocolKind::BulkOnly => Bytes(16 + 32 + 16 * pages),
        ProtocolKind::Ahci => Bytes(32 + 128 + 16 * pages),
        ProtocolKind::Nvme if needs_list(length) => Bytes(64 + 8 * pages),
        ProtocolKind::Nvme => Bytes(64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::SystemSpec;
    use lanemark_schema::units::Ratio;

    const KINDS: [ProtocolKind; 6] = [
        ProtocolKind::Nvme,
        ProtocolKind::SasHba,
        ProtocolKind::Ahci,
        ProtocolKind::AtaDma,
        ProtocolKind::Uasp,
        ProtocolKind::BulkOnly,
    ];

    fn protocol(kind: ProtocolKind) -> Protocol {
        let spec = SystemSpec::example().attachments.remove(0).protocol;
        Protocol::new(ProtocolSpec { kind, ..spec })
    }

    #[test]
    fn a_list_of_pages_is_needed_for_more_than_two() {
        let nvme = protocol(ProtocolKind::Nvme);
        for (length, pages) in [
            (1, 1),
            (512, 1),
            (4_096, 1),
            (4_608, 2),
            (8_191, 2),
            (8_192, 2),
            (8_193, 3),
            (8_704, 3),
            (12_288, 3),
            (131_072, 32),
            (131_584, 33),
        ] {
            let list = pages > 2;
            let length = Bytes(length);
            assert_eq!(needs_list(length), list, "{length}");
            // A write's list is read before its data, and a read's list in parallel with the media.
            assert_eq!(nvme.fetches(Operation::Write, length), 1 + u64::from(list), "{length}");
            for operation in [Operation::Read, Operation::Flush, Operation::Trim] {
                assert_eq!(nvme.fetches(operation, length), 1, "{operation:?} of {length}");
            }
            let addresses = if list { 8 * pages } else { 0 };
            assert_eq!(entry_bytes(ProtocolKind::Nvme, length), Bytes(64 + addresses), "{length}");
        }
    }

    #[test]
    fn a_command_is_fetched_with_what_describes_each_of_its_pages() {
        for (length, pages) in [(0, 0), (1, 1), (4_096, 1), (4_097, 2), (131_072, 32)] {
            let bytes = KINDS[1..].iter().map(|kind| entry_bytes(*kind, Bytes(length)).get());
            let [sas, ahci, dma, uasp, bulk] =
                [128 + 16 * pages, 160 + 16 * pages, 0, 48 + 16 * pages, 48 + 16 * pages];
            assert!(bytes.eq([sas, ahci, dma, uasp, bulk]), "{length} bytes");
        }
        let fetches = KINDS.map(|kind| protocol(kind).fetches(Operation::Write, Bytes::kibi(128)));
        assert_eq!(fetches, [2, 1, 2, 0, 2, 2]);
        let fetches = KINDS.map(|kind| protocol(kind).fetches(Operation::Read, Bytes::kibi(128)));
        assert_eq!(fetches, [1, 1, 2, 0, 2, 2]);
    }

    #[test]
    fn a_handler_that_runs_finds_what_comes_until_it_ends() {
        let at = Instant::from_picoseconds;
        for kind in KINDS {
            let mut protocol = protocol(kind);
            protocol.spec.interrupt_time = Duration::from_picoseconds(7);
            let own = !one_path(kind);
            assert_eq!(own, matches!(kind, ProtocolKind::Nvme | ProtocolKind::SasHba));
            assert_eq!(protocol.interrupt(at(0)), protocol.spec.interrupt_time);
            protocol.handles_until(at(100));
            let within = if own { protocol.spec.interrupt_time } else { Duration::ZERO };
            assert_eq!(protocol.interrupt(at(99)), within);
            assert_eq!(protocol.interrupt(at(100)), protocol.spec.interrupt_time);
            assert_eq!(protocol.interrupts(), if own { 3 } else { 2 });
            assert_eq!(protocol.completion_core(3), if own { 3 } else { 0 });
            // After a restart of the controller, no handler runs.
            protocol.handles_until(at(500));
            protocol.restart();
            assert_eq!(protocol.interrupt(at(200)), protocol.spec.interrupt_time);
        }
    }

    #[test]
    fn the_two_parts_of_the_drivers_time_are_all_of_it() {
        for share in [0.0, 0.3, 0.5, 1.0] {
            let mut spec = protocol(ProtocolKind::Nvme).spec;
            spec.read_time = Duration::from_picoseconds(1_001);
            spec.write_time = Duration::from_picoseconds(7_003);
            spec.submit_share = Ratio::new(share).unwrap();
            let protocol = Protocol::new(spec);
            for operation in [Operation::Read, Operation::Write, Operation::Flush, Operation::Trim]
            {
                let whole = if operation == Operation::Read { 1_001 } else { 7_003 };
                let submit = protocol.submit_time(operation);
                let before = (whole as f64 * share) as u64;
                assert_eq!(submit, Duration::from_picoseconds(before), "{operation:?}");
                let both = submit + protocol.complete_time(operation);
                assert_eq!(both, Duration::from_picoseconds(whole), "{operation:?}");
            }
        }
    }

    #[test]
    fn an_exclusive_command_requires_an_empty_queue() {
        for depth in [1, 2, 32] {
            let idle = SubmissionQueue { free: depth, waiting: SlabQueue::EMPTY };
            let mut queue = idle.clone();
            assert!(queue.try_take_slots(true, depth) && queue.free == 0);
            assert!(!queue.try_take_slots(false, depth) && !queue.try_take_slots(true, depth));
            let mut queue = idle;
            (0..depth).for_each(|_| assert!(queue.try_take_slots(false, depth)));
            assert!(!queue.try_take_slots(false, depth));
            queue.free = depth - 1;
            assert!(!queue.try_take_slots(true, depth) && queue.free == depth - 1);
        }
        for kind in KINDS {
            let alone = |operation| protocol(kind).is_alone(operation);
            let ahci = kind == ProtocolKind::Ahci;
            assert_eq!([alone(Operation::Flush), alone(Operation::Trim)], [ahci; 2]);
            assert!(!alone(Operation::Read) && !alone(Operation::Write));
        }
    }
}
