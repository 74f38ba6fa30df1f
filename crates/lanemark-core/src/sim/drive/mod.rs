//! Drives. A solid-state drive: front end, write buffer, translation and flash. Of hard disks see [`disk`].
//!
//! ```text
//!  command ─► front end ─► translation ─► dies ─► channels ─► data path ─► link     (read)
//!  command ─► front end ─► buffer room ─► link ─► data path ─► buffer ─► complete   (write)
//!                                                               └─► channels ─► dies (drain)
//! ```
//!
//! Not modelled: reading a slot that is only partly overwritten before it is written (a write of less
//! than 4 KiB takes a whole slot), caching and prefetching of reads.

mod buffer;
pub mod disk;
mod flash;
mod front_end;
mod kind;
mod translation;

pub use buffer::Buffer;
pub use flash::{Flash, FlashOperation, FlashTask};
pub use front_end::{Candidate, FrontEnd};
pub use kind::{Drive, HardDisk};
pub use translation::{OutOfErasedBlocks, Placed, Translation};

use super::Event;
use super::kernel::EventQueue;
use super::slab::Handle;
use super::spec::{DriveSpec, SLOT};
use crate::units::{Bytes, Instant};

/// A solid-state drive at work.
#[derive(Clone, Debug)]
pub struct SolidState {
    /// Command decoding and firmware.
    pub front_end: FrontEnd,
    /// Room for written data.
    pub buffer: Buffer,
    translation: Translation,
    /// Channels and dies.
    pub flash: Flash,
    unit: Bytes,
}

/// The slots that `length` bytes from `offset` on touch: the first, and the one behind the last.
fn slots_of(offset: Bytes, length: Bytes) -> (u64, u64) {
    let end = (offset + length).get().div_ceil(SLOT.get());
    (offset.get() / SLOT.get(), end)
}

/// The room that a write takes in the buffer: whole slots.
pub fn buffered(offset: Bytes, length: Bytes) -> Bytes {
    let (first, end) = slots_of(offset, length);
    SLOT * (end - first)
}

impl SolidState {
    /// Drive `index` of a system, idle, whose first `laid_out` bytes were written in order.
    pub fn new(index: u16, spec: &DriveSpec, laid_out: Bytes) -> Self {
        Self {
            front_end: FrontEnd::new(index, spec.front_end),
            buffer: Buffer::new(spec.buffer),
            translation: Translation::new(spec, laid_out),
            flash: Flash::new(index, *spec.flash()),
            unit: spec.flash().unit(),
        }
    }

    /// Starts the flash reads of a command, one for each unit that holds part of it, and returns how
    /// many bursts will come. What lies in the buffer, or was never written, comes at once.
    pub fn read(
        &mut self,
        now: Instant,
        command: Handle,
        offset: Bytes,
        length: Bytes,
        events: &mut EventQueue<Event>,
    ) -> u32 {
        let (mut slot, end) = slots_of(offset, length);
        let mut bursts = 0;
        while slot < end {
            let placed = self.translation.locate(slot, end);
            let bytes = overlap(slot, slot + placed.slots, offset, length);
            match placed.unit {
                Some(unit) if !self.is_buffered(unit) => {
                    let die = self.flash.die_of(unit);
                    self.flash.start(now, die, FlashTask::Read { command }, bytes, events);
                }
                _ => events.schedule(now, Event::FromBuffer(command, bytes.get() as u32)),
            }
            slot += placed.slots;
            bursts += 1;
        }
        bursts
    }

    /// Maps a write whose data is in the buffer, and starts storing the units that it fills.
    ///
    /// # Errors
    /// Where no erased flash is left.
    pub fn write(
        &mut self,
        now: Instant,
        offset: Bytes,
        length: Bytes,
        events: &mut EventQueue<Event>,
    ) -> Result<(), OutOfErasedBlocks> {
        let (first, end) = slots_of(offset, length);
        for slot in first..end {
            if self.translation.needs_superblock() && self.translation.open_superblock()?.erase {
                for die in 0..self.dies() {
                    self.flash.start(now, die, FlashTask::Erase, Bytes::ZERO, events);
                }
            }
            if let Some(unit) = self.translation.write(slot) {
                let die = self.flash.die_of(unit);
                self.flash.start(now, die, FlashTask::Program { unit }, self.unit, events);
            }
        }
        Ok(())
    }

    /// What the run has written to flash.
    pub fn written(&self) -> Bytes {
        self.translation.written()
    }

    fn is_buffered(&self, unit: u32) -> bool {
        self.translation.open_unit() == Some(unit) || self.flash.is_storing(unit)
    }

    fn dies(&self) -> u32 {
        self.flash.dies()
    }
}

/// How many of the `length` bytes from `offset` on lie in the slots from `first` up to `end`.
fn overlap(first: u64, end: u64, offset: Bytes, length: Bytes) -> Bytes {
    let low = offset.get().max(first * SLOT.get());
    let high = (offset + length).get().min(end * SLOT.get());
    Bytes(high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unaligned_requests_touch_every_slot_that_they_overlap() {
        assert_eq!(slots_of(Bytes(512), Bytes(4096)), (0, 2));
        assert_eq!(buffered(Bytes(512), Bytes(4096)), Bytes(8192));
        assert_eq!(overlap(1, 2, Bytes(512), Bytes(4096)), Bytes(512));
        assert_eq!(overlap(0, 1, Bytes(512), Bytes(4096)), Bytes(3584));
    }
}
