//! Flash channels and dies.
//!
//! Law (ONFI and Toggle NAND data sheets). A read puts its command and address cycles on the channel,
//! keeps the die for tR, then puts the data on the channel; the die is free when its page register is
//! read out. A program puts command and data on the channel, then keeps the die for tPROG. An erase
//! keeps the die for tBERS. A die does one operation at a time, in order of arrival; its planes work
//! together on one unit. A channel moves data in the order in which its dies ask; command cycles are
//! short, and a controller slips them in between, so they take the channel's time but wait for nobody.
//!
//! Not modelled yet: cache read and program, suspend, priorities between reads and programs, page types
//! with their own times, read retry.

use super::super::Event;
use super::super::kernel::EventQueue;
use super::super::slab::{Chain, Handle, Linked, NONE, Slab};
use super::super::spec::FlashSpec;
use super::super::station::{Span, Station};
use crate::units::{Bytes, Duration, Instant};

/// What a die is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashTask {
    /// Bring data of a command.
    Read {
        /// The command that waits for it.
        command: Handle,
    },
    /// Store a unit.
    Program {
        /// The unit, which stays readable in the buffer until it is stored.
        unit: u32,
    },
    /// Erase the die's part of a superblock.
    Erase,
}

/// An operation on its way through a die.
#[derive(Clone, Copy, Debug)]
pub struct FlashOperation {
    /// What is done.
    pub task: FlashTask,
    /// Data over the channel.
    pub bytes: Bytes,
    die: u32,
    next: Handle,
    /// Until when the time is accounted for below.
    mark: Instant,
    /// Waiting for and time in the die, waiting for and time on the channel.
    pub die_wait: Duration,
    /// Time in the die.
    pub die_service: Duration,
    /// Waiting for the channel.
    pub channel_wait: Duration,
    /// Time on the channel.
    pub channel_service: Duration,
}

impl Linked for FlashOperation {
    fn next(&mut self) -> &mut Handle {
        &mut self.next
    }
}

#[derive(Clone, Debug)]
struct Die {
    /// Operations that wait, without the one in progress.
    waiting: Chain,
    current: Handle,
    busy_since: Instant,
    busy: Duration,
}

/// The flash of a drive.
#[derive(Clone, Debug)]
pub struct Flash {
    /// Which drive of the system this is, for its events.
    drive: u16,
    spec: FlashSpec,
    channels: Vec<Station>,
    dies: Vec<Die>,
    operations: Slab<FlashOperation>,
}

impl Flash {
    /// Idle flash of drive `drive`.
    pub fn new(drive: u16, spec: FlashSpec) -> Self {
        let idle = Die {
            waiting: Chain::EMPTY,
            current: NONE,
            busy_since: Instant::ZERO,
            busy: Duration::ZERO,
        };
        Self {
            drive,
            spec,
            channels: vec![Station::default(); spec.channels as usize],
            dies: vec![idle; spec.dies() as usize],
            operations: Slab::new(),
        }
    }

    /// The operation of `handle`.
    pub fn operation(&self, handle: Handle) -> &FlashOperation {
        &self.operations[handle]
    }

    /// How many dies there are.
    pub fn dies(&self) -> u32 {
        self.dies.len() as u32
    }

    /// The die that holds `unit`.
    pub fn die_of(&self, unit: u32) -> u32 {
        unit % self.dies.len() as u32
    }

    /// Gives `die` something to do, now or when it has done what it was given before.
    pub fn start(
        &mut self,
        now: Instant,
        die: u32,
        task: FlashTask,
        bytes: Bytes,
        events: &mut EventQueue<Event>,
    ) {
        let handle = self.operations.insert(FlashOperation {
            task,
            bytes,
            die,
            next: NONE,
            mark: now,
            die_wait: Duration::ZERO,
            die_service: Duration::ZERO,
            channel_wait: Duration::ZERO,
            channel_service: Duration::ZERO,
        });
        if self.dies[die as usize].current == NONE {
            self.begin(now, handle, events);
        } else {
            self.dies[die as usize].waiting.push(&mut self.operations, handle);
        }
    }

    /// The array has been read: the data goes over the channel.
    pub fn sensed(&mut self, now: Instant, handle: Handle, events: &mut EventQueue<Event>) {
        let bytes = self.operations[handle].bytes;
        let end = self.use_channel(now, handle, bytes / self.spec.channel_rate);
        events.schedule(end, Event::PageOut(self.drive, handle));
    }

    /// The die is done with `handle`: returns it, freed, and lets the die go on.
    pub fn finish(
        &mut self,
        now: Instant,
        handle: Handle,
        events: &mut EventQueue<Event>,
    ) -> FlashOperation {
        let operation = self.operations[handle];
        self.operations.free(handle);
        let die = &mut self.dies[operation.die as usize];
        die.busy += now.since(die.busy_since);
        die.current = NONE;
        if let Some(next) = die.waiting.pop(&mut self.operations) {
            self.begin(now, next, events);
        }
        operation
    }

    /// Whether `unit` is still being stored, so that reads find it in the buffer.
    pub fn is_storing(&self, unit: u32) -> bool {
        let die = &self.dies[self.die_of(unit) as usize];
        if die.current == NONE {
            return false;
        }
        let mut handle = die.current;
        let mut waiting = die.waiting.head();
        loop {
            if self.operations[handle].task == (FlashTask::Program { unit }) {
                return true;
            }
            if waiting == NONE {
                return false;
            }
            handle = waiting;
            waiting = self.operations[waiting].next;
        }
    }

    /// Time busy of each channel and each die until `now`.
    pub fn busy(&self, now: Instant) -> (Vec<Duration>, Vec<Duration>) {
        let channels = self.channels.iter().map(Station::busy).collect();
        let until_now = |die: &Die| match die.current {
            NONE => die.busy,
            _ => die.busy + now.since(die.busy_since),
        };
        (channels, self.dies.iter().map(until_now).collect())
    }

    fn begin(&mut self, now: Instant, handle: Handle, events: &mut EventQueue<Event>) {
        let operation = &mut self.operations[handle];
        operation.die_wait += now.since(operation.mark);
        operation.mark = now;
        let (task, bytes, die) = (operation.task, operation.bytes, operation.die as usize);
        self.dies[die].current = handle;
        self.dies[die].busy_since = now;
        let commanded = self.command(now, handle);
        let (ready, in_array) = match task {
            FlashTask::Read { .. } => (commanded, self.spec.read),
            FlashTask::Program { .. } => {
                let data_in = bytes / self.spec.channel_rate;
                (self.use_channel(commanded, handle, data_in), self.spec.program)
            }
            FlashTask::Erase => (commanded, self.spec.erase),
        };
        let end = ready + in_array;
        let operation = &mut self.operations[handle];
        operation.die_service += in_array;
        operation.mark = end;
        match task {
            FlashTask::Read { .. } => events.schedule(end, Event::Sensed(self.drive, handle)),
            _ => events.schedule(end, Event::Stored(self.drive, handle)),
        }
    }

    /// Slips the command cycles of an operation into its channel and returns when the die has them.
    fn command(&mut self, now: Instant, handle: Handle) -> Instant {
        let channel = self.channel_of(handle);
        self.channels[channel].charge(now, self.spec.command_time);
        self.operations[handle].channel_service += self.spec.command_time;
        now + self.spec.command_time
    }

    /// Moves data over an operation's channel from `now` on and returns the end.
    fn use_channel(&mut self, now: Instant, handle: Handle, service: Duration) -> Instant {
        let channel = self.channel_of(handle);
        let Span { start, end } = self.channels[channel].serve(now, service);
        let operation = &mut self.operations[handle];
        operation.channel_wait += start.since(now);
        operation.channel_service += end.since(start);
        operation.mark = end;
        end
    }

    fn channel_of(&self, handle: Handle) -> usize {
        self.operations[handle].die as usize % self.channels.len()
    }
}
