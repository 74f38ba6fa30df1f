//! The buffers of one thread: one page-aligned mapping with a slot for each outstanding request.
//!
//! A mapping of 2 MiB or more is aligned to huge pages, and the kernel is advised to use them (madvise(2),
//! `MADV_HUGEPAGE`), so that a measurement does not depend on the fragmentation of free memory. For the drive's driver,
//! a megabyte in small pages can consist of 256 segments, and the driver splits requests that exceed its limit. On a
//! virtio disk, sequential reads (1 MiB, queue depth 8) reached between 1.0 and 3.2 GB/s in different runs with small
//! pages, and 3.8 to 4.0 GB/s with huge pages. A kernel without huge pages uses small pages.
//!
//! The arena touches every page when it is created, so that no page faults occur during a measurement.

use std::io;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The page size of x86; larger pages only improve the alignment.
const PAGE: usize = 4096;
/// The huge page size of x86 and of ARM with 4 KiB pages.
const HUGE_PAGE: usize = 2 << 20;

/// Buffers of equal size in one mapping.
#[derive(Debug)]
pub struct Arena {
    mapping: NonNull<u8>,
    mapping_length: usize,
    base: NonNull<u8>,
    block: usize,
    stride: usize,
    slots: u32,
}

impl Arena {
    /// Returns the number of bytes that the buffers of one thread occupy.
    pub(crate) fn size(slots: u32, block: u64) -> u64 {
        u64::from(slots).saturating_mul(block.next_multiple_of(PAGE as u64))
    }

    /// Maps `slots` buffers of `block` bytes each, and touches every page.
    pub fn new(slots: u32, block: usize) -> io::Result<Self> {
        debug_assert!(slots > 0 && block > 0);
        let stride = block.next_multiple_of(PAGE);
        let too_large = || io::Error::from(rustix::io::Errno::NOMEM);
        let length = stride.checked_mul(slots as usize).ok_or_else(too_large)?;
        let huge = length >= HUGE_PAGE;
        let slack = if huge { HUGE_PAGE } else { 0 };
        let mapping_length = length
            .checked_next_multiple_of(if huge { HUGE_PAGE } else { PAGE })
            .and_then(|whole| whole.checked_add(slack))
            .ok_or_else(too_large)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: an anonymous mapping at an address that the kernel chooses does not replace another mapping.
        let mapped = unsafe {
            mmap_anonymous(ptr::null_mut(), mapping_length, protection, MapFlags::PRIVATE)
        }?;
        let mapping = NonNull::new(mapped.cast::<u8>())
            .ok_or_else(|| io::Error::other("the kernel mapped memory at address zero"))?;
        let ahead = if huge { mapped.cast::<u8>().align_offset(HUGE_PAGE) } else { 0 };
        // SAFETY: `ahead` is smaller than a huge page, and the mapping is longer than `length` by one huge page.
        let base = unsafe { mapping.add(ahead) };
        let arena = Self { mapping, mapping_length, base, block, stride, slots };
        if huge {
            let whole = mapping_length - slack;
            // SAFETY: the range is in our own mapping, and the advice does not change its content. If the call fails,
            // the mapping keeps small pages, which also work.
            let _ = unsafe { madvise(base.as_ptr().cast(), whole, Advice::LinuxHugepage) };
        }
        for offset in (0..length).step_by(PAGE) {
            // SAFETY: `offset` is below the writable length that was mapped from `base`.
            unsafe { base.add(offset).write_volatile(0) };
        }
        Ok(arena)
    }

    pub(crate) fn slots(&self) -> u32 {
        self.slots
    }

    /// Returns the distance from one buffer to the next.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the start of the buffer of `slot`; a block of bytes at this address is valid while the arena exists.
    pub(crate) fn pointer(&self, slot: u32) -> *mut u8 {
        assert!(slot < self.slots);
        // SAFETY: the slot exists, so its offset is inside the mapping.
        unsafe { self.base.add(slot as usize * self.stride) }.as_ptr()
    }

    /// Returns the buffer of `slot`.
    ///
    /// # Safety
    /// The kernel must not be reading or writing that buffer.
    pub(crate) unsafe fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        let pointer = self.pointer(slot);
        // SAFETY: the block is inside the mapping and was touched, `&mut self` excludes other references, and the
        // caller excludes the kernel.
        unsafe { std::slice::from_raw_parts_mut(pointer, self.block) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: this arena is the mapping's only owner, with this address and length, and all references into the
        // mapping borrow the arena. Unmapping a complete mapping of this process cannot fail.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapping_length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_do_not_overlap() {
        for (slots, block) in [(3, 512), (5, 4096), (2, 6144), (4, 1 << 20)] {
            let mut arena = Arena::new(slots, block).unwrap();
            for slot in 0..slots {
                assert_eq!(arena.pointer(slot) as usize % PAGE, 0);
                // SAFETY: no ring uses this arena.
                unsafe { arena.buffer_mut(slot) }.fill(slot as u8 + 1);
            }
            for slot in 0..slots {
                // SAFETY: no ring uses this arena.
                let buffer = unsafe { arena.buffer_mut(slot) };
                assert!(buffer.len() == block && buffer.iter().all(|&b| b == slot as u8 + 1));
            }
        }
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        assert!(Arena::new(u32::MAX, usize::MAX / 2).is_err());
        assert!(Arena::new(1 << 15, 1 << 46).is_err());
    }
}
