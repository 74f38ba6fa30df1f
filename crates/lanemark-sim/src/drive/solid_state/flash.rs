//! Flash channels and dies.
//!
//! Model (ONFI and Toggle NAND data sheets). A read puts its command and address cycles on the channel, occupies the
//! array for tR of its page, then puts the data on the channel. A program puts its command and data on the channel,
//! then occupies the array for tPROG of its page. An erase occupies the array for tBERS. A channel moves data in the
//! order in which its dies request it. Command cycles are short, and a controller inserts them between transfers, so
//! they take channel time but do not wait for a transfer to end.
//!
//! A die performs one operation at a time on all planes together, unless it has more capabilities ([`DieSpec`]):
//! *independent planes* read separate pages; with *cache read* the array senses the next page while the previous page
//! leaves the cache register; with *cache program* the data of the next page arrives while the previous page is
//! programmed; with *suspend* a program or erase in progress is suspended for reads. Up to a limited number in a row,
//! the host's reads precede waiting programs and erases. A repeated read
//! ([`ReadRetries`](lanemark_schema::workload::fault::ReadRetries)) takes tR and the channel time again for each
//! attempt.
//!
//! Not modelled: partial page programs, ZQ calibration, the two-stage programs of some TLC and QLC flash.

use super::array_time::FlashWorkTime;
use super::operation::{DieSite, DieTask, EndedOperation, FlashOperation};
use crate::engine::event::Event;
use crate::engine::number::{DieNumber, DriveNumber};
use crate::engine::schedule::EventSchedule;
use crate::engine::slab::{Handle, OperationHandle, Operations, Slab, SlabQueue};
use crate::engine::station::{ServiceSpan, Station};
use crate::spec::{DieSpec, FlashSpec, SuspendSpec};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Instant};

/// Maximum number of consecutive host reads that precede waiting programs and erases. Assumed: no source states the
/// number for a drive.
pub(super) const READS_FIRST: u32 = 16;

/// A part of a die that reads independently: one plane, or all planes together.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaneGroup {
    /// Waiting reads of the host.
    reads: SlabQueue<Operations>,
    /// The read whose page is being sensed or is in the page register.
    pub(super) current: OperationHandle,
    /// The read whose data leaves the cache register.
    draining: OperationHandle,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Die {
    /// Waiting operations other than reads of the host, in order of arrival.
    others: SlabQueue<Operations>,
    /// The program or erase in the array.
    pub(super) storing: OperationHandle,
    /// The suspended program or erase.
    pub(super) suspended: OperationHandle,
    reads_waiting: u32,
    /// Number of reads in the array or a register.
    reads_active: u32,
    /// Number of reads since the last program or erase began.
    reads_in_row: u32,
    /// Instant from which the array can be read after a suspension.
    ready: Instant,
    busy_since: Instant,
    busy: Duration,
}

#[derive(Clone, Debug)]
pub(crate) struct Flash {
    /// Number of the drive in the system, for the drive's events.
    drive: DriveNumber,
    lanes_per_die: u32,
    can: DieSpec,
    channel_rate: BytesPerSecond,
    /// Channel bytes for each byte read, in units of 1/65536; fewer if the data compresses.
    packed: u64,
    command_time: Duration,
    pub(super) channels: Vec<Station>,
    pub(super) dies: Vec<Die>,
    pub(super) lanes: Vec<PlaneGroup>,
    pub(super) operations: Slab<FlashOperation, Operations>,
    /// Times of operations that have ended.
    pub(super) array: FlashWorkTime,
    rng: Rng,
}

impl Flash {
    /// Creates the idle flash of drive `drive`. `packed` is the ratio of stored to original data size.
    pub(crate) fn new(drive: DriveNumber, spec: &FlashSpec, packed: f64, key: StreamKey) -> Self {
        let lanes_per_die = if spec.die.independent_planes { spec.planes } else { 1 };
        let lane =
            PlaneGroup { reads: SlabQueue::EMPTY, current: Handle::NONE, draining: Handle::NONE };
        Self {
            drive,
            lanes_per_die,
            can: spec.die,
            channel_rate: spec.channel_rate,
            packed: (packed * 65_536.0) as u64,
            command_time: spec.command_time,
            channels: vec![Station::default(); spec.channels as usize],
            dies: vec![Die::IDLE; spec.dies() as usize],
            lanes: vec![lane; spec.dies() as usize * lanes_per_die as usize],
            operations: Slab::new(),
            array: FlashWorkTime::default(),
            rng: Rng::new(key.of_drive(drive.0)),
        }
    }

    pub(crate) fn dies(&self) -> u32 {
        self.dies.len() as u32
    }

    #[inline]
    pub(crate) fn die_of(&self, unit: u32) -> DieNumber {
        DieNumber(unit % self.dies.len() as u32)
    }

    /// Returns the number of times that a read must be repeated if each attempt fails with `probability`.
    pub(crate) fn draw_retry_count(&mut self, probability: f64) -> u32 {
        let mut count = 0;
        while probability > 0.0 && count < 8 && self.rng.chance(probability) {
            count += 1;
        }
        count
    }

    /// Cuts the power: the operations in the dies are lost. Returns the tasks of the program operations that had not
    /// finished.
    pub(crate) fn power_cut(&mut self, now: Instant) -> Vec<DieTask> {
        for die in &mut self.dies {
            let until_now = if die.is_busy() { now.since(die.busy_since) } else { Duration::ZERO };
            *die = Die { busy: die.busy + until_now, ..Die::IDLE };
        }
        self.lanes.fill(PlaneGroup {
            reads: SlabQueue::EMPTY,
            current: Handle::NONE,
            draining: Handle::NONE,
        });
        let operations = std::mem::take(&mut self.operations);
        let tasks = operations.handles().into_iter().map(|handle| operations[handle].task);
        tasks.filter(|task| matches!(task, DieTask::Program { .. })).collect()
    }

    /// Assigns a task to a die, which begins the task now or in turn.
    pub(crate) fn start(
        &mut self,
        now: Instant,
        site: DieSite,
        task: DieTask,
        bytes: Bytes,
        events: &mut EventSchedule,
    ) {
        let DieSite { die, plane, time, retries } = site;
        let lane = die.0 * self.lanes_per_die + plane % self.lanes_per_die;
        let handle = self.operations.insert(FlashOperation {
            task,
            bytes,
            die,
            lane,
            array: time,
            retries,
            next: Handle::NONE,
            mark: now,
            left: Duration::ZERO,
            loaded: false,
            sensed: false,
            die_wait: Duration::ZERO,
            die_service: Duration::ZERO,
            channel_wait: Duration::ZERO,
            channel_service: Duration::ZERO,
        });
        let at_once = matches!(task, DieTask::Read { .. } | DieTask::ReadMap { .. });
        if at_once {
            self.lanes[lane as usize].reads.push(&mut self.operations, handle);
            self.dies[usize::from(die)].reads_waiting += 1;
        } else {
            self.dies[usize::from(die)].others.push(&mut self.operations, handle);
        }
        self.dispatch(now, die.into(), events);
    }

    /// Begins every operation that a die can begin now.
    fn dispatch(&mut self, now: Instant, index: usize, events: &mut EventSchedule) {
        loop {
            let die = self.dies[index];
            if die.storing != Handle::NONE {
                let reads = die.reads_waiting > 0 && die.reads_in_row < READS_FIRST;
                if reads
                    && let Some(suspend) = self.can.suspend
                    && self.suspends(now, index, suspend)
                {
                    continue;
                }
                self.load_next(now, index);
                return;
            }
            let others = die.suspended != Handle::NONE || die.others.head() != Handle::NONE;
            let turn = others && die.reads_in_row >= READS_FIRST;
            if die.reads_waiting > 0 && !turn {
                if !self.begin_reads(now, index, events) || self.lanes_per_die == 1 {
                    return;
                }
                if self.dies[index].reads_waiting > 0 {
                    return;
                }
                continue;
            }
            if !others || !self.begin_other(now, index, events) {
                return;
            }
        }
    }

    /// Begins waiting reads of the host on all free lanes, and returns whether any began.
    fn begin_reads(&mut self, now: Instant, die: usize, events: &mut EventSchedule) -> bool {
        let first = die * self.lanes_per_die as usize;
        let mut began = false;
        for lane in first..first + self.lanes_per_die as usize {
            if self.lanes[lane].current != Handle::NONE {
                continue;
            }
            if let Some(handle) = self.lanes[lane].reads.pop(&mut self.operations) {
                self.dies[die].reads_waiting -= 1;
                self.dies[die].reads_in_row = self.dies[die].reads_in_row.saturating_add(1);
                self.begin_read(now, handle, events);
                began = true;
            }
        }
        began
    }

    /// Resumes the suspended operation, or begins the next waiting operation in order; returns false if neither is
    /// possible yet.
    fn begin_other(&mut self, now: Instant, index: usize, events: &mut EventSchedule) -> bool {
        let die = self.dies[index];
        if die.suspended != Handle::NONE {
            if die.reads_active > 0 {
                return false;
            }
            let handle = die.suspended;
            self.occupy(now, index);
            self.dies[index].suspended = Handle::NONE;
            self.dies[index].storing = handle;
            let resume = self.can.suspend.map_or(Duration::ZERO, |suspend| suspend.resume);
            let operation = &mut self.operations[handle];
            operation.mark = now + resume + operation.left;
            operation.die_service += resume;
            events.schedule(operation.mark, Event::Media(self.drive, handle));
            return true;
        }
        let head = die.others.head();
        let operation = &self.operations[head];
        if operation.reads() {
            if self.lanes[operation.lane as usize].current != Handle::NONE {
                return false;
            }
            self.dies[index].others.pop(&mut self.operations);
            self.begin_read(now, head, events);
            return true;
        }
        // Programs and erases need all planes and registers.
        if die.reads_active > 0 {
            return false;
        }
        self.dies[index].others.pop(&mut self.operations);
        self.begin_store(now, head, events);
        true
    }

    fn begin_read(&mut self, now: Instant, handle: OperationHandle, events: &mut EventSchedule) {
        let lane = self.operations[handle].lane as usize;
        self.lanes[lane].current = handle;
        let die = usize::from(self.operations[handle].die);
        self.occupy(now, die);
        self.dies[die].reads_active += 1;
        let commanded = self.command(now, handle);
        let operation = &mut self.operations[handle];
        operation.die_wait += now.since(operation.mark);
        let ready = commanded.max(self.dies[die].ready);
        operation.die_wait += ready.since(commanded);
        let sensing = self.sensing(&self.operations[handle]);
        let operation = &mut self.operations[handle];
        operation.die_service += sensing;
        operation.mark = ready + sensing;
        events.schedule(operation.mark, Event::Media(self.drive, handle));
        let again = u64::from(operation.retries);
        if again > 0 {
            let channel = die % self.channels.len();
            let bytes = self.operations[handle].bytes;
            let service = self.time_out(bytes) * again;
            self.channels[channel].charge(now, service);
        }
    }

    /// Returns the time of a read in the array, including failed attempts and the data transfers between them.
    #[inline]
    pub(super) fn sensing(&self, operation: &FlashOperation) -> Duration {
        match u64::from(operation.retries) {
            0 => operation.array,
            again => operation.array + (operation.array + self.time_out(operation.bytes)) * again,
        }
    }

    fn begin_store(&mut self, now: Instant, handle: OperationHandle, events: &mut EventSchedule) {
        let die = usize::from(self.operations[handle].die);
        self.occupy(now, die);
        self.dies[die].storing = handle;
        self.dies[die].reads_in_row = 0;
        if !self.operations[handle].loaded {
            self.load(now, handle);
        }
        let operation = &mut self.operations[handle];
        let ready = operation.mark.max(now);
        operation.die_wait += ready.since(operation.mark);
        operation.die_service += operation.array;
        operation.mark = ready + operation.array;
        events.schedule(operation.mark, Event::Media(self.drive, handle));
    }

    /// Sends the command of a program or erase, and for a program its data.
    fn load(&mut self, now: Instant, handle: OperationHandle) {
        let operation = &mut self.operations[handle];
        operation.die_wait += now.since(operation.mark);
        operation.loaded = true;
        let bytes = operation.bytes;
        let commanded = self.command(now, handle);
        self.operations[handle].mark = commanded;
        if bytes > Bytes::ZERO {
            self.use_channel(commanded, handle, bytes / self.channel_rate);
        }
    }

    /// Loads the data of the next program, if there is one, into the cache register while the current program is in the
    /// array.
    fn load_next(&mut self, now: Instant, index: usize) {
        let head = self.dies[index].others.head();
        // While an operation is suspended, the array does not execute a program, so this point is not reached.
        if !self.can.cache_program || head == Handle::NONE {
            return;
        }
        let operation = &self.operations[head];
        if !operation.reads() && !operation.loaded && operation.bytes > Bytes::ZERO {
            self.load(now, head);
        }
    }

    /// Suspends the die's program or erase if its remaining time is long enough. A program whose data is still arriving
    /// is suspended as soon as the array has begun.
    fn suspends(&mut self, now: Instant, index: usize, suspend: SuspendSpec) -> bool {
        let handle = self.dies[index].storing;
        let operation = &mut self.operations[handle];
        let end = operation.mark;
        if end <= now + suspend.enter + suspend.resume {
            return false;
        }
        operation.left = end.since(now).min(operation.array);
        let die = &mut self.dies[index];
        die.storing = Handle::NONE;
        die.suspended = handle;
        die.ready = now + end.since(now).saturating_sub(operation.array) + suspend.enter;
        self.vacate(now, index);
        true
    }

    /// Ends a step of an operation; returns the operation if the step was its last.
    #[inline]
    pub(crate) fn step(
        &mut self,
        now: Instant,
        handle: OperationHandle,
        events: &mut EventSchedule,
    ) -> Option<EndedOperation> {
        let operation = &self.operations[handle];
        if !operation.reads() {
            return self.finish_program_or_erase(now, handle, events);
        }
        if operation.sensed {
            return Some(self.page_out(now, handle, events));
        }
        self.on_sensed(now, handle, events);
        None
    }

    /// Ends sensing: the data is sent over the channel.
    #[inline]
    fn on_sensed(&mut self, now: Instant, handle: OperationHandle, events: &mut EventSchedule) {
        let operation = &mut self.operations[handle];
        operation.sensed = true;
        self.array.read += operation.array * u64::from(operation.retries + 1);
        if self.can.cache_read {
            let lane = operation.lane as usize;
            if self.lanes[lane].draining == Handle::NONE {
                self.drain(now, handle, events);
                self.dispatch(now, usize::from(self.operations[handle].die), events);
            }
            return;
        }
        self.send_out(now, handle, events);
    }

    /// Moves a page to the cache register, so that its plane is free for the next page.
    fn drain(&mut self, now: Instant, handle: OperationHandle, events: &mut EventSchedule) {
        let lane = &mut self.lanes[self.operations[handle].lane as usize];
        lane.current = Handle::NONE;
        lane.draining = handle;
        let operation = &mut self.operations[handle];
        operation.die_wait += now.since(operation.mark);
        self.send_out(now, handle, events);
    }

    fn send_out(&mut self, now: Instant, handle: OperationHandle, events: &mut EventSchedule) {
        let service = self.time_out(self.operations[handle].bytes);
        let end = self.use_channel(now, handle, service);
        events.schedule(end, Event::Media(self.drive, handle));
    }

    /// Returns the time that read data occupies a channel.
    #[inline]
    pub(super) fn time_out(&self, bytes: Bytes) -> Duration {
        match self.packed {
            65_536 => bytes / self.channel_rate,
            packed => Bytes(bytes.get() * packed / 65_536) / self.channel_rate,
        }
    }

    /// Ends the transfer of a read: starts the next task of the die, and removes and returns the read.
    #[inline]
    fn page_out(
        &mut self,
        now: Instant,
        handle: OperationHandle,
        events: &mut EventSchedule,
    ) -> EndedOperation {
        let operation = &self.operations[handle];
        let index = usize::from(operation.die);
        let lane = &mut self.lanes[operation.lane as usize];
        self.dies[index].reads_active -= 1;
        if self.can.cache_read {
            lane.draining = Handle::NONE;
            let behind = lane.current;
            if behind != Handle::NONE && self.operations[behind].sensed {
                self.drain(now, behind, events);
            }
        } else {
            lane.current = Handle::NONE;
        }
        self.vacate(now, index);
        self.dispatch(now, index, events);
        self.operations.free(handle);
        self.operations[handle].describe_end()
    }

    /// Ends a program or erase: starts the next task of the die, and removes and returns the ended operation. Returns
    /// `None` if the operation was suspended after this end had been scheduled.
    #[inline]
    fn finish_program_or_erase(
        &mut self,
        now: Instant,
        handle: OperationHandle,
        events: &mut EventSchedule,
    ) -> Option<EndedOperation> {
        let operation = &self.operations[handle];
        let index = usize::from(operation.die);
        if self.dies[index].storing != handle || operation.mark != now {
            return None;
        }
        self.array.count(operation, operation.array);
        self.dies[index].storing = Handle::NONE;
        self.vacate(now, index);
        self.dispatch(now, index, events);
        self.operations.free(handle);
        Some(self.operations[handle].describe_end())
    }

    /// Returns the busy times of the channels and of the dies until `now`.
    pub(crate) fn busy(&self, now: Instant) -> (Vec<Duration>, Vec<Duration>) {
        let channels = self.channels.iter().map(Station::busy).collect();
        let until_now =
            |die: &Die| if die.is_busy() { die.busy + now.since(die.busy_since) } else { die.busy };
        (channels, self.dies.iter().map(until_now).collect())
    }

    /// Returns whether no die has a task.
    pub(crate) fn is_idle(&self) -> bool {
        self.operations.live() == 0
    }

    /// Records an additional task of a die. Callers must call this before the die's state changes.
    fn occupy(&mut self, now: Instant, index: usize) {
        let die = &mut self.dies[index];
        if !die.is_busy() {
            die.busy_since = now;
        }
    }

    /// Records a finished task of a die. Callers must call this after the die's state has changed.
    fn vacate(&mut self, now: Instant, index: usize) {
        let die = &mut self.dies[index];
        if !die.is_busy() {
            die.busy += now.since(die.busy_since);
        }
    }

    /// Inserts the command cycles of an operation into its channel and returns when the die has received them.
    fn command(&mut self, now: Instant, handle: OperationHandle) -> Instant {
        let channel = self.channel_of(handle);
        self.channels[channel].charge(now, self.command_time);
        self.operations[handle].channel_service += self.command_time;
        now + self.command_time
    }

    /// Occupies an operation's channel for `service` from `now` onward, and returns the end of the transfer.
    fn use_channel(&mut self, now: Instant, handle: OperationHandle, service: Duration) -> Instant {
        let channel = self.channel_of(handle);
        let ServiceSpan { start, end } = self.channels[channel].serve(now, service);
        let operation = &mut self.operations[handle];
        operation.channel_wait += start.since(now);
        operation.channel_service += end.since(start);
        operation.mark = end;
        end
    }

    fn channel_of(&self, handle: OperationHandle) -> usize {
        usize::from(self.operations[handle].die) % self.channels.len()
    }
}

impl Die {
    const IDLE: Self = Self {
        others: SlabQueue::EMPTY,
        storing: Handle::NONE,
        suspended: Handle::NONE,
        reads_waiting: 0,
        reads_active: 0,
        reads_in_row: 0,
        ready: Instant::ZERO,
        busy_since: Instant::ZERO,
        busy: Duration::ZERO,
    };

    fn is_busy(&self) -> bool {
        self.storing != Handle::NONE || self.reads_active > 0
    }
}
