//! The drive's write buffer: commands take room in it, and stored units release this room.
//!
//! A write takes room before its data is fetched, burst by burst in the order of arrival; the room is released when the
//! unit that contains the data has been programmed. A write is complete once all its data is in the buffer. A drive
//! whose buffer is full does not request more data, so its link is free. On a real link, HOLD stops data within a
//! frame; here, the flow of data stops between bursts.
//!
//! Not modelled: a write that overwrites data in the buffer (each write takes separate room), and an idle drive that
//! stores a partly filled unit.

use std::collections::VecDeque;

use crate::engine::slab::WriteBurstHandle;
use crate::spec::SLOT;
use lanemark_schema::units::Bytes;

/// Room for written data.
#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer {
    capacity: Bytes,
    free: Bytes,
    waiting: VecDeque<(WriteBurstHandle, Bytes)>,
}

impl WriteBuffer {
    pub(crate) fn new(capacity: Bytes) -> Self {
        Self { capacity, free: capacity, waiting: VecDeque::new() }
    }

    /// Reserves room for a burst and returns true, or queues the burst after the waiting bursts and returns false.
    pub(crate) fn admit(&mut self, burst: WriteBurstHandle, bytes: Bytes) -> bool {
        if self.waiting.is_empty() && bytes <= self.free {
            self.free = self.free - bytes;
            return true;
        }
        self.waiting.push_back((burst, bytes));
        false
    }

    /// Returns the number of bytes in the buffer or in transit to it.
    pub(crate) fn occupied(&self) -> Bytes {
        self.capacity - self.free
    }

    pub(crate) fn free(&self) -> Bytes {
        self.free
    }

    pub(crate) fn release(&mut self, bytes: Bytes) {
        self.free += bytes;
    }

    /// Removes and returns the first waiting burst.
    pub(crate) fn next_waiting(&mut self) -> Option<WriteBurstHandle> {
        self.waiting.pop_front().map(|(burst, _)| burst)
    }

    /// Reserves room for the first waiting burst if it now fits, and removes and returns this burst.
    pub(crate) fn next_admitted(&mut self) -> Option<WriteBurstHandle> {
        let &(burst, bytes) = self.waiting.front()?;
        if bytes > self.free {
            return None;
        }
        self.free = self.free - bytes;
        self.waiting.pop_front();
        Some(burst)
    }
}

/// Returns the slots that `length` bytes from `offset` onward touch: the first slot and the slot after the last.
pub(crate) fn slots_of(offset: Bytes, length: Bytes) -> (u64, u64) {
    let end = (offset + length).get().div_ceil(SLOT.get());
    (offset.get() / SLOT.get(), end)
}

/// Returns the room that a write takes in the buffer: whole slots.
pub(crate) fn buffered_bytes(offset: Bytes, length: Bytes) -> Bytes {
    let (first, end) = slots_of(offset, length);
    SLOT * (end - first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::slab::Handle;

    #[test]
    fn a_small_burst_does_not_overtake_a_large_one() {
        let mut buffer = WriteBuffer::new(Bytes(100));
        assert!(buffer.admit(Handle::from_number(1), Bytes(80)));
        assert!(!buffer.admit(Handle::from_number(2), Bytes(60)));
        assert!(
            !buffer.admit(Handle::from_number(3), Bytes(10)),
            "there is room, but burst 2 came first"
        );
        buffer.release(Bytes(40));
        assert_eq!(buffer.next_admitted(), Some(Handle::from_number(2)));
        assert_eq!(buffer.next_admitted(), None);
        buffer.release(Bytes(40));
        assert_eq!(buffer.next_admitted(), Some(Handle::from_number(3)));
    }

    #[test]
    fn a_burst_takes_room_up_to_the_last_byte() {
        let mut buffer = WriteBuffer::new(Bytes(100));
        assert!(buffer.admit(Handle::from_number(1), Bytes(100)));
        assert_eq!(buffer.occupied(), Bytes(100));
        assert!(!buffer.admit(Handle::from_number(2), Bytes(10)));
        buffer.release(Bytes(9));
        assert_eq!(buffer.next_admitted(), None);
        buffer.release(Bytes(1));
        assert_eq!(buffer.next_admitted(), Some(Handle::from_number(2)));
        assert_eq!(buffer.occupied(), Bytes(100));
    }

    #[test]
    fn unaligned_requests_touch_every_slot_that_they_overlap() {
        assert_eq!(slots_of(Bytes(512), Bytes(4096)), (0, 2));
        assert_eq!(buffered_bytes(Bytes(512), Bytes(4096)), Bytes(8192));
    }
}
