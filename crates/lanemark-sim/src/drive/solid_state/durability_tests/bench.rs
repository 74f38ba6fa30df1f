//! A test bench for a flash medium, which operates the medium like a system, and a simple model of the contents.

use super::super::translation::SlotPlacement;
use super::super::*;
use crate::drive::medium::{Medium, PowerCutData, WriteBurst};
use crate::drive::outcome::{DriveOutcome, OutcomeQueue};
use crate::engine::slab::Handle;
use std::collections::BTreeMap;

/// A write or a trim of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    number: u64,
    /// Whether the slot contains data after the command: true for a write, false for a trim.
    data: bool,
}

/// The simple model of a logical slot.
#[derive(Clone, Debug)]
struct Slot {
    /// Versions since the last power cut, the oldest first; this list is never empty.
    history: Vec<Version>,
    /// The last version that was acknowledged.
    acknowledged: u64,
    /// The last version that must survive a power cut.
    durable: u64,
    /// Numbers of the writes that are in the drive's buffer and not yet mapped.
    unmapped: VecDeque<u64>,
}

impl Slot {
    fn with_data(number: u64, data: bool) -> Self {
        Self {
            history: vec![Version { number, data }],
            acknowledged: number,
            durable: number,
            unmapped: VecDeque::new(),
        }
    }

    fn latest(&self) -> Version {
        *self.history.last().unwrap()
    }

    /// Returns the write whose data a read returns; `None` if the slot does not contain data.
    fn content(&self) -> Option<u64> {
        let Version { number, data } = self.latest();
        data.then_some(number)
    }
}

/// The data at a flash address, or in transit to that address.
#[derive(Clone, Copy, Debug)]
struct Cell {
    slot: u64,
    number: u64,
    stored: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum HostCommand {
    /// The first slot, the slot after the last, and the slot at which the data is split into two bursts.
    Write(u64, u64, u64),
    Read(u64, u64),
    Trim(u64, u64),
    Flush,
}

/// A command that the drive has not completed.
enum Open {
    /// A command that waits for pages of the map.
    Parked(u32, HostCommand),
    Write(Vec<(u64, u64)>),
    /// The numbers of bursts and bytes that have not arrived.
    Read(u32, u64),
    /// The acknowledged version of each slot when the flush was submitted.
    Flush(Vec<u64>),
}

/// The test bench: a medium, which it operates like a system, and the model.
pub(super) struct Bench {
    pub(super) medium: SolidState,
    events: EventSchedule,
    outcomes: OutcomeQueue,
    now: Instant,
    pub(super) protected: bool,
    slots: Vec<Slot>,
    cells: BTreeMap<u32, Cell>,
    /// For each slot that was read ahead, the write whose data was read.
    ahead: BTreeMap<u64, Option<u64>>,
    number: u64,
    open: BTreeMap<u32, Open>,
    commands: u32,
    /// Number of slots of the write buffer that are in use; `buffer` is the total.
    pub(super) room: u64,
    buffer: u64,
    superblock: u32,
    dies: u32,
    /// For each superblock that is being erased, the number of dies that have not erased their part.
    erasing: BTreeMap<u32, u32>,
}

const DRIVE: DriveNumber = DriveNumber(0);

impl Bench {
    pub(super) fn new(drive: &DriveSpec, content: PriorContent) -> Self {
        let flash = drive.flash();
        let key = StreamKey::from_seed(1);
        let medium = SolidState::new(DRIVE, flash, drive, content, key);
        let mut bench = Self {
            slots: Vec::new(),
            cells: BTreeMap::new(),
            ahead: BTreeMap::new(),
            events: EventSchedule::new(),
            outcomes: OutcomeQueue::default(),
            now: Instant::ZERO,
            protected: drive.write_cache == WriteCacheMode::Protected,
            number: 0,
            open: BTreeMap::new(),
            commands: 0,
            room: 0,
            buffer: drive.buffer.get() / SLOT.get(),
            superblock: (flash.superblock().get() / SLOT.get()) as u32,
            dies: flash.dies() as u32,
            erasing: BTreeMap::new(),
            medium,
        };
        for slot in 0..drive.capacity.get() / SLOT.get() {
            let place = bench.medium.translation.locate(slot, slot + 1).place;
            bench.slots.push(Slot::with_data(0, place.is_some()));
            if let Some(place) = place {
                bench.cells.insert(place, Cell { slot, number: 0, stored: true });
            }
        }
        bench
    }

    pub(super) fn count(&self) -> u64 {
        self.slots.len() as u64
    }

    fn change(&mut self, slot: u64, data: bool) -> u64 {
        self.number += 1;
        self.slots[slot as usize].history.push(Version { number: self.number, data });
        self.number
    }

    /// Returns the data of `slot` at `place`.
    fn cell(&self, place: u32, slot: u64) -> Cell {
        let cell = self.cells.get(&place);
        let cell =
            cell.unwrap_or_else(|| panic!("slot {slot} reads place {place}, which is erased"));
        assert_eq!(cell.slot, slot, "place {place} holds another slot");
        *cell
    }

    /// Returns the write whose data the drive would return for `slot`.
    fn view(&self, slot: u64) -> Option<u64> {
        if !self.slots[slot as usize].unmapped.is_empty() {
            let located = self.medium.locate(slot, slot + 1);
            assert_eq!(located, (SlotLocation::Memory, 1), "slot {slot}");
            return self.slots[slot as usize].content();
        }
        match self.medium.locate(slot, slot + 1).0 {
            SlotLocation::Nowhere => None,
            SlotLocation::Memory => {
                let place = self.medium.translation.locate(slot, slot + 1).place;
                Some(self.cell(place.expect("data in memory has a place"), slot).number)
            }
            SlotLocation::Flash(place) => {
                let cell = self.cell(place, slot);
                assert!(cell.stored, "slot {slot} is read from flash before it is there");
                Some(cell.number)
            }
        }
    }

    pub(super) fn submit(&mut self, host_command: HostCommand) {
        let command = self.commands;
        self.commands += 1;
        self.medium.note_commands(1);
        let pages = match host_command {
            HostCommand::Flush => 0,
            HostCommand::Write(first, end, _)
            | HostCommand::Read(first, end)
            | HostCommand::Trim(first, end) => {
                let offset = SLOT * first;
                let length = SLOT * (end - first);
                let changes = !matches!(host_command, HostCommand::Read(..));
                let handle = Handle::from_number(command);
                self.medium
                    .look_up(self.now, handle, offset, length, changes, &mut self.events)
                    .from_media
            }
        };
        if pages > 0 {
            self.open.insert(command, Open::Parked(pages, host_command));
        } else {
            self.start(command, host_command);
        }
    }

    fn start(&mut self, command: u32, host_command: HostCommand) {
        let handle = Handle::from_number(command);
        self.open.remove(&command);
        match host_command {
            HostCommand::Write(first, end, middle) => {
                self.open.insert(command, Open::Write(Vec::new()));
                self.medium.expect_write(SLOT * first, SLOT * (end - first));
                for (first, end, last) in [(first, middle, middle == end), (middle, end, true)] {
                    if first == end {
                        continue;
                    }
                    let length = end - first;
                    while self.room + length > self.buffer {
                        assert!(self.advance(), "the buffer is never emptied");
                    }
                    self.room += length;
                    for slot in first..end {
                        let number = self.change(slot, true);
                        self.slots[slot as usize].unmapped.push_back(number);
                        if let Some(Open::Write(versions)) = self.open.get_mut(&command) {
                            versions.push((slot, number));
                        }
                    }
                    let burst = WriteBurst {
                        command: handle,
                        offset: SLOT * first,
                        length: SLOT * length,
                        last,
                    };
                    self.medium.write(self.now, burst, &mut self.events, &mut self.outcomes);
                    self.is_not_ahead(first, end);
                    self.settle();
                }
            }
            HostCommand::Read(first, end) => {
                for slot in first..end {
                    let found = match self.ahead.get(&slot) {
                        Some(&found) => found,
                        None => self.view(slot),
                    };
                    assert_eq!(found, self.slots[slot as usize].content(), "stale slot {slot}");
                }
                let offset = SLOT * first;
                let length = SLOT * (end - first);
                let bursts = self.medium.read(self.now, handle, offset, length, &mut self.events);
                self.open.insert(command, Open::Read(bursts, length.get()));
                self.look_ahead();
                self.settle();
            }
            HostCommand::Trim(first, end) => {
                for slot in first..end {
                    let number = self.change(slot, false);
                    let slot = &mut self.slots[slot as usize];
                    slot.acknowledged = number;
                    if self.protected {
                        slot.durable = number;
                    }
                    // Data that waits to be mapped no longer needs to be stored.
                    slot.unmapped.clear();
                }
                let outcomes = &mut self.outcomes;
                self.medium.trim(SLOT * first, SLOT * (end - first), outcomes);
                self.is_not_ahead(first, end);
                self.settle();
                self.completed();
            }
            HostCommand::Flush => {
                let promised = self.slots.iter().map(|slot| slot.acknowledged).collect();
                self.open.insert(command, Open::Flush(promised));
                self.medium.flush(self.now, handle, &mut self.events, &mut self.outcomes);
                self.settle();
            }
        }
    }

    /// Records the data that has been read ahead since the last call.
    fn look_ahead(&mut self) {
        let Some(ahead) = &self.medium.ahead else { return };
        let held: Vec<bool> = (0..self.count()).map(|slot| ahead.holds(slot)).collect();
        for (slot, held) in (0..).zip(held) {
            if !held {
                self.ahead.remove(&slot);
            } else if !self.ahead.contains_key(&slot) {
                self.ahead.insert(slot, self.view(slot));
            }
        }
    }

    /// Checks that the read-ahead does not keep the previous state of changed slots.
    fn is_not_ahead(&mut self, first: u64, end: u64) {
        let Some(ahead) = &self.medium.ahead else { return };
        for slot in first..end {
            assert!(!ahead.holds(slot), "slot {slot} is kept as it was before it changed");
        }
        self.look_ahead();
    }

    /// Tracks data to its new flash address, and processes the outcomes of the drive.
    fn settle(&mut self) {
        for SlotPlacement { slot, place, from } in
            std::mem::take(&mut self.medium.translation.placements)
        {
            let slot = u64::from(slot);
            let number = match from {
                Some(from) => self.cell(from, slot).number,
                None => {
                    let written = self.slots[slot as usize].unmapped.pop_front();
                    written.expect("mapped data was written before")
                }
            };
            let superblock = place / self.superblock;
            assert!(!self.erasing.contains_key(&superblock), "{place} is being erased");
            let before = self.cells.insert(place, Cell { slot, number, stored: false });
            assert!(before.is_none(), "place {place} is used before it is erased: {before:?}");
        }
        for superblock in self.medium.erasing.keys() {
            self.erasing.entry(superblock).or_insert(self.dies);
            let start = superblock * self.superblock;
            for place in start..start + self.superblock {
                self.cells.remove(&place);
            }
        }
        while let Some(outcome) = self.outcomes.take() {
            self.act(outcome);
        }
    }

    fn act(&mut self, outcome: DriveOutcome) {
        match outcome {
            DriveOutcome::Data { command, bytes, .. } => {
                let Some(Open::Read(bursts, left)) = self.open.get_mut(&command.number()) else {
                    panic!("data of no read")
                };
                *bursts -= 1;
                *left -= bytes.get();
                if *bursts == 0 {
                    assert_eq!(*left, 0, "a read gets all of its data");
                    self.open.remove(&command.number());
                    self.completed();
                }
            }
            DriveOutcome::Map { command, .. } => {
                let Some(Open::Parked(pages, host_command)) = self.open.get_mut(&command.number())
                else {
                    panic!("a page of the map that nothing waits for")
                };
                *pages -= 1;
                if *pages == 0 {
                    let host_command = *host_command;
                    self.start(command.number(), host_command);
                }
            }
            DriveOutcome::Room(bytes) => {
                let slots = bytes.get() / SLOT.get();
                self.room = self.room.checked_sub(slots).expect("more room than was taken");
            }
            DriveOutcome::Done(command) => {
                let keeps = self.medium.write_cache != WriteCacheMode::Volatile;
                match self.open.remove(&command.number()) {
                    Some(Open::Write(versions)) => {
                        for (slot, number) in versions {
                            let slot = &mut self.slots[slot as usize];
                            slot.acknowledged = slot.acknowledged.max(number);
                            if keeps {
                                slot.durable = slot.durable.max(number);
                            }
                        }
                    }
                    Some(Open::Flush(promised)) => {
                        for (slot, number) in self.slots.iter_mut().zip(promised) {
                            slot.durable = slot.durable.max(number);
                        }
                        self.would_survive();
                    }
                    _ => panic!("neither a write nor a flush is done"),
                }
                if self.medium.write_cache == WriteCacheMode::Off {
                    self.would_survive();
                }
                self.completed();
            }
            DriveOutcome::Nothing | DriveOutcome::Prepared(_) | DriveOutcome::Stored { .. } => {}
        }
    }

    fn completed(&mut self) {
        if let Some(at) = self.medium.note_answered(self.now) {
            self.events.schedule(at, Event::Idle(DRIVE));
        }
    }

    /// Processes the next event. Returns false if there is no event.
    pub(super) fn advance(&mut self) -> bool {
        let Some((now, event)) = self.events.pop() else { return false };
        self.now = now;
        match event {
            Event::Media(_, handle) => {
                let task = self.medium.flash.operations[handle].task;
                let outcome = self.medium.step(now, handle, &mut self.events, &mut self.outcomes);
                if let (Some(_), DieTask::Program { unit, .. }) = (&outcome, task) {
                    let size = self.medium.translation.slots_per_unit();
                    let places = unit * size..(unit + 1) * size;
                    self.cells.range_mut(places).for_each(|(_, cell)| cell.stored = true);
                }
                if let (Some(_), DieTask::Erase { superblock }) = (&outcome, task) {
                    let dies = self.erasing.get_mut(&superblock.0).expect("it is being erased");
                    *dies -= 1;
                    if *dies == 0 {
                        self.erasing.remove(&superblock.0);
                    }
                }
                // The other outcomes of the step are processed after its own outcome.
                let behind = std::mem::take(&mut self.outcomes);
                if let Some(outcome) = outcome {
                    self.settle();
                    self.act(outcome);
                }
                self.outcomes = behind;
            }
            Event::FromBuffer(burst) => {
                let DataBurst { command, bytes } = self.events.take_burst(burst);
                let passage = crate::engine::trace::MediaTimes::waited(now);
                self.act(DriveOutcome::Data { command, bytes, passage });
            }
            Event::Idle(_) => self.medium.idle(now, &mut self.events),
            event => panic!("{event:?} is not an event of a medium"),
        }
        self.settle();
        true
    }

    pub(super) fn would_survive(&self) {
        let mut cut = self.medium.clone();
        let loss = cut.power_cut(self.now);
        self.after_cut(&cut, loss);
    }

    /// Checks the content of a drive after a power cut, and the loss that the drive reported. Returns the data of each
    /// slot.
    fn after_cut(
        &self,
        cut: &SolidState,
        PowerCutData { lost, held }: PowerCutData,
    ) -> Vec<Option<u64>> {
        let mut found = Vec::new();
        let mut certain = 0;
        let mut possible = 0;
        let mut waits = 0;
        for (number, slot) in (0..).zip(&self.slots) {
            let place = cut.translation.locate(number, number + 1).place;
            let mut content = place.map(|place| {
                let cell = self.cell(place, number);
                assert!(cell.stored || self.protected, "slot {number} was never stored");
                cell.number
            });
            let mut unmapped = slot.unmapped.iter();
            for pending in &cut.unmapped {
                match *pending {
                    PendingCommand::Write(first, end) if (first..end).contains(&number) => {
                        content = unmapped.next().copied();
                        waits += 1;
                    }
                    _ => {}
                }
            }
            let may_be = slot.history.iter().filter(|version| version.number >= slot.durable);
            let is_one = |version: &Version| version.data.then_some(version.number) == content;
            assert!(
                may_be.clone().any(is_one),
                "slot {number} holds {content:?} after the cut, and must hold one of {:?}",
                may_be.collect::<Vec<_>>()
            );
            let latest = slot.latest();
            if latest.data && content != slot.content() {
                if slot.acknowledged >= latest.number { certain += 1 } else { possible += 1 }
            }
            found.push(content);
        }
        assert_eq!(held, SLOT * waits, "room of what waits in the buffer");
        let lost = lost.get() / SLOT.get();
        match cut.write_cache {
            WriteCacheMode::Volatile => assert!(
                (certain..=certain + possible).contains(&lost),
                "{lost} slots reported as lost; {certain} were acknowledged, {possible} may have been"
            ),
            _ => assert_eq!((lost, certain), (0, 0)),
        }
        found
    }

    pub(super) fn cut(&mut self) {
        let loss = self.medium.power_cut(self.now);
        let found = self.after_cut(&self.medium, loss);
        self.events = EventSchedule::new();
        self.outcomes = OutcomeQueue::default();
        self.open.clear();
        self.ahead.clear();
        self.erasing.clear();
        self.room = loss.held.get() / SLOT.get();
        self.cells.retain(|_, cell| std::mem::replace(&mut cell.stored, true) || self.protected);
        self.medium.translation.placements.clear();
        for (slot, content) in self.slots.iter_mut().zip(found) {
            let unmapped = std::mem::take(&mut slot.unmapped);
            self.number += 1;
            *slot = Slot::with_data(content.unwrap_or(self.number), content.is_some());
            if self.protected {
                slot.unmapped = unmapped;
            }
        }
        self.now = self.now + Duration::from_microseconds(1_000);
        self.look_ahead();
        assert!(self.ahead.is_empty(), "memory is empty after a cut");
        self.medium.power_up(self.now, &mut self.events);
        self.settle();
    }

    /// Completes all operations in progress.
    pub(super) fn drain(&mut self) {
        let mut steps = 0;
        while self.advance() {
            steps += 1;
            assert!(steps < 1_000_000, "the drive never becomes idle");
        }
        assert!(self.open.is_empty(), "commands are never completed");
        assert!(self.medium.erasing.is_empty(), "all erases are complete at the end");
    }
}
