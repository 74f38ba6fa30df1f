//! A test bench for a disk's medium, which operates the medium like a system.

use super::arm_state::ArmWork;
use super::*;
use crate::drive::medium::{Medium, WriteBurst};
use crate::drive::outcome::{DriveOutcome, OutcomeQueue};
use crate::engine::event::Event;
use crate::engine::schedule::{DataBurst, EventSchedule};
use crate::engine::slab::Handle;
use lanemark_schema::units::Instant;

/// An event of the disk that a test observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiskEvent {
    Data(u32, Bytes),
    Done(u32),
    Stored(u32),
    Room(Bytes),
}

/// A test bench for a disk's medium, which operates the medium like a system.
#[derive(Clone)]
pub(super) struct Bench {
    pub(super) disk: Disk,
    pub(super) events: EventSchedule,
    pub(super) now: Instant,
    pub(super) seen: Vec<(Instant, DiskEvent)>,
}

pub(super) fn at(microseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_microseconds(microseconds)
}

impl Bench {
    pub(super) fn new(spec: &DiskSpec, buffer: Bytes) -> Self {
        let disk = Disk::new(DriveNumber(0), spec, Bytes::mebi(64), buffer);
        Self { disk, events: EventSchedule::new(), now: Instant::ZERO, seen: Vec::new() }
    }

    pub(super) fn note(&mut self, mut outcomes: OutcomeQueue) {
        while let Some(outcome) = outcomes.take() {
            let seen = match outcome {
                DriveOutcome::Data { command, bytes, .. } => {
                    DiskEvent::Data(command.number(), bytes)
                }
                DriveOutcome::Done(command) => DiskEvent::Done(command.number()),
                DriveOutcome::Stored { command, .. } => DiskEvent::Stored(command.number()),
                DriveOutcome::Room(bytes) => DiskEvent::Room(bytes),
                _ => continue,
            };
            self.seen.push((self.now, seen));
        }
    }

    /// Processes all events until `end`.
    pub(super) fn until(&mut self, end: Instant) {
        while self.events.next_at().is_some_and(|at| at <= end) {
            self.step();
        }
        self.now = end;
    }

    pub(super) fn drain(&mut self) {
        while self.events.next_at().is_some() {
            self.step();
        }
    }

    pub(super) fn step(&mut self) {
        let (now, event) = self.events.pop().expect("an event");
        self.now = now;
        let mut outcomes = OutcomeQueue::default();
        match event {
            Event::Media(_, handle) => {
                let own = self.disk.step(now, handle, &mut self.events, &mut outcomes);
                let mut first = OutcomeQueue::default();
                own.into_iter().for_each(|outcome| first.emit(outcome));
                self.note(first);
            }
            Event::OffMedia(burst) => {
                let burst = self.events.take_burst(burst);
                self.disk.off_media(now, burst, &mut self.events, &mut outcomes);
            }
            Event::FromBuffer(burst) => {
                let DataBurst { command, bytes } = self.events.take_burst(burst);
                self.seen.push((now, DiskEvent::Data(command.number(), bytes)));
            }
            event => panic!("{event:?} is not an event of a disk"),
        }
        self.note(outcomes);
    }

    /// Writes sectors in one burst.
    pub(super) fn write(&mut self, command: u32, first: u64, end: u64) {
        let mut outcomes = OutcomeQueue::default();
        let burst = WriteBurst {
            command: Handle::from_number(command),
            offset: SECTOR * first,
            length: SECTOR * (end - first),
            last: true,
        };
        self.disk.write(self.now, burst, &mut self.events, &mut outcomes);
        self.note(outcomes);
    }

    pub(super) fn flush(&mut self, command: u32) {
        let mut outcomes = OutcomeQueue::default();
        self.disk.flush(self.now, Handle::from_number(command), &mut self.events, &mut outcomes);
        self.note(outcomes);
    }

    pub(super) fn read(&mut self, command: u32, offset: Bytes, length: Bytes) -> u32 {
        self.disk.read(self.now, Handle::from_number(command), offset, length, &mut self.events)
    }

    pub(super) fn read_sectors(&mut self, command: u32, first: u64, end: u64) -> u32 {
        self.read(command, SECTOR * first, SECTOR * (end - first))
    }

    pub(super) fn data_of(&self, command: u32) -> Vec<(Instant, Bytes)> {
        let data = |&(at, seen): &(Instant, DiskEvent)| match seen {
            DiskEvent::Data(of, bytes) if of == command => Some((at, bytes)),
            _ => None,
        };
        self.seen.iter().filter_map(data).collect()
    }

    /// Returns the instants at which buffered writes are on the platters.
    pub(super) fn rooms(&self) -> Vec<Instant> {
        let rooms = self.seen.iter().filter(|(_, seen)| matches!(seen, DiskEvent::Room(_)));
        rooms.map(|(at, _)| *at).collect()
    }

    pub(super) fn instant_of(&self, disk_event: DiskEvent) -> Option<Instant> {
        self.seen.iter().find(|(_, seen)| *seen == disk_event).map(|(at, _)| *at)
    }

    /// Returns the sector that the read-ahead has reached, and the sector at which it stops.
    pub(super) fn ahead(&mut self) -> Option<(u64, u64)> {
        self.disk.catch_up(self.now);
        match self.disk.arm {
            ArmWork::Streaming(stream) => Some((stream.sweep.sector, stream.limit)),
            _ => None,
        }
    }
}

/// Returns a disk that has read sectors 0 to 64 and has not read ahead.
pub(super) fn after_a_read(ahead: Bytes) -> Bench {
    let spec = DiskSpec { read_ahead: ahead, ..DiskSpec::example() };
    let mut bench = Bench::new(&spec, Bytes::mebi(8));
    bench.read_sectors(0, 0, 64);
    bench.until(at(30_000));
    assert_eq!(bench.data_of(0).len(), 1);
    bench
}
