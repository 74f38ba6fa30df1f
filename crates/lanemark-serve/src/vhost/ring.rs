//! A split virtqueue: takes chains of descriptors out, and puts replies in.
//!
//! The guest may write anything into its memory at any time. Every value is therefore read only once, and is limited:
//! the number of parts of a chain, their length, and the number of requests that arrive together. A chain that breaks
//! the rules is an error, after which the connection is unusable.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use super::memory::GuestMemory;
use super::message::FieldReader;

/// Maximum number of requests in a queue.
pub(crate) const SIZE_MAX: u16 = 1024;
/// Maximum number of parts of a chain.
const PARTS_MAX: usize = 1026;
/// Maximum number of bytes in a chain: a 32 MiB request with its header and outcome.
const BYTES_MAX: u64 = (32 << 20) + 4096;
/// Length of a descriptor.
const DESCRIPTOR: u64 = 16;

/// Descriptor flag: another descriptor follows.
const NEXT: u16 = 1;
/// Descriptor flag: the device writes the memory.
const WRITE: u16 = 2;
/// Descriptor flag: the memory contains a table of descriptors.
const INDIRECT: u16 = 4;

/// A queue.
#[derive(Debug, Default)]
pub(crate) struct Virtqueue {
    pub(crate) memory: Arc<GuestMemory>,
    pub(crate) size: u16,
    /// Address of the descriptors, in the address space of the other process, like the two addresses below.
    pub(crate) descriptors: u64,
    /// Address of the ring of requests.
    pub(crate) available: u64,
    /// Address of the ring of replies.
    pub(crate) used: u64,
    pub(crate) next_available: u16,
    pub(crate) next_used: u16,
}

/// A region of the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MemoryRange {
    address: u64,
    length: u32,
}

/// The memory regions of one request.
#[derive(Debug)]
pub(crate) struct DescriptorChain {
    head: u16,
    memory: Arc<GuestMemory>,
    read: Vec<MemoryRange>,
    written: Vec<MemoryRange>,
}

impl DescriptorChain {
    /// Reads up to `most` of the bytes for the device, from index `start`.
    pub(crate) fn read_bytes(&self, start: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut skip = start;
        for part in &self.read {
            let length = u64::from(part.length);
            let now = length.saturating_sub(skip).min(most - bytes.len() as u64);
            if now > 0 {
                let before = bytes.len();
                bytes.resize(before + now as usize, 0);
                self.memory.read(part.address + skip, &mut bytes[before..])?;
            }
            skip = skip.saturating_sub(length);
        }
        Ok(bytes)
    }

    /// Returns the number of bytes that the device reads.
    pub(crate) fn readable(&self) -> u64 {
        self.read.iter().map(|part| u64::from(part.length)).sum()
    }

    /// Returns the number of bytes that the device may write.
    pub(crate) fn writable(&self) -> u64 {
        self.written.iter().map(|part| u64::from(part.length)).sum()
    }

    /// Writes bytes for the driver from index `start`. Bytes for which there is no room are omitted.
    pub(crate) fn write(&self, start: u64, mut bytes: &[u8]) -> io::Result<()> {
        let mut skip = start;
        for part in &self.written {
            let length = u64::from(part.length);
            let now = length.saturating_sub(skip).min(bytes.len() as u64);
            if now > 0 {
                let (front, rest) = bytes.split_at(now as usize);
                self.memory.write(part.address + skip, front)?;
                bytes = rest;
            }
            skip = skip.saturating_sub(length);
        }
        Ok(())
    }
}

impl Virtqueue {
    /// Returns whether all parameters of the queue are set.
    pub(crate) fn is_ready(&self) -> bool {
        self.size > 0 && self.available != 0 && self.used != 0 && self.descriptors != 0
    }

    /// Takes the next request; returns `None` if the queue is empty.
    pub(crate) fn pop(&mut self) -> io::Result<Option<DescriptorChain>> {
        let size = u64::from(self.size);
        let available = self.memory.guest_address(self.available, 4 + 2 * size)?;
        let there = self.u16(available + 2)?;
        if there == self.next_available {
            return Ok(None);
        }
        if there.wrapping_sub(self.next_available) > self.size {
            return Err(io::Error::other("a queue has more requests than it can hold"));
        }
        fence(Ordering::Acquire);
        let index = u64::from(self.next_available % self.size);
        let head = self.u16(available + 4 + 2 * index)?;
        let chain = self.chain(head)?;
        self.next_available = self.next_available.wrapping_add(1);
        Ok(Some(chain))
    }

    /// Puts a reply into the queue, and the number of bytes that were written.
    pub(crate) fn put(&mut self, chain: &DescriptorChain, written: u32) -> io::Result<()> {
        let used = self.memory.guest_address(self.used, 4 + 8 * u64::from(self.size))?;
        let index = u64::from(self.next_used % self.size);
        let mut element = u32::from(chain.head).to_le_bytes().to_vec();
        element.extend(written.to_le_bytes());
        self.memory.write(used + 4 + 8 * index, &element)?;
        self.next_used = self.next_used.wrapping_add(1);
        // The guest reads the index first, so the index is written after the reply.
        fence(Ordering::SeqCst);
        self.memory.write(used + 2, &self.next_used.to_le_bytes())?;
        fence(Ordering::SeqCst);
        Ok(())
    }

    fn chain(&self, head: u16) -> io::Result<DescriptorChain> {
        let chain_error = |why| Err(io::Error::other(format!("a chain of descriptors {why}")));
        let memory = Arc::clone(&self.memory);
        let mut chain = DescriptorChain { head, memory, read: Vec::new(), written: Vec::new() };
        let mut count = u64::from(self.size);
        let mut table = self.memory.guest_address(self.descriptors, DESCRIPTOR * count)?;
        let (mut at, mut is_indirect, mut bytes) = (u64::from(head), false, 0);
        for _ in 0..PARTS_MAX {
            if at >= count {
                return chain_error("leaves its table");
            }
            let mut descriptor = [0; DESCRIPTOR as usize];
            self.memory.read(table + DESCRIPTOR * at, &mut descriptor)?;
            let mut fields = FieldReader(&descriptor);
            let (address, length) = (fields.u64(), fields.u32());
            let (flags, next) = (fields.u16(), fields.u16());
            let (Some(address), Some(length), Some(flags), Some(next)) =
                (address, length, flags, next)
            else {
                return chain_error("is cut short");
            };
            if flags & INDIRECT != 0 {
                count = u64::from(length) / DESCRIPTOR;
                let fits = address.checked_add(u64::from(length)).is_some();
                if is_indirect || flags & NEXT != 0 || count == 0 || !fits {
                    return chain_error("has a table at an invalid address");
                }
                (table, at, is_indirect) = (address, 0, true);
                continue;
            }
            bytes += u64::from(length);
            if bytes > BYTES_MAX || address.checked_add(u64::from(length)).is_none() {
                return chain_error("is too long");
            }
            let part = MemoryRange { address, length };
            match flags & WRITE != 0 {
                true => chain.written.push(part),
                false if chain.written.is_empty() => chain.read.push(part),
                false => return chain_error("has readable parts after writable parts"),
            }
            if flags & NEXT == 0 {
                return Ok(chain);
            }
            at = u64::from(next);
        }
        chain_error("does not end")
    }

    fn u16(&self, address: u64) -> io::Result<u16> {
        let mut bytes = [0; 2];
        self.memory.read(address, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::vhost::message::MemoryRegion;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    /// Address of the descriptors of a queue with eight entries, in a guest's memory of 64 KiB; addresses equal offsets
    /// in the memory's file.
    pub(crate) const DESCRIPTORS: u64 = 0x100;
    /// Address of the ring of requests.
    pub(crate) const AVAILABLE: u64 = 0x400;
    /// Address of the ring of replies.
    pub(crate) const USED: u64 = 0x600;

    /// A guest that writes to its own memory.
    pub(crate) struct Guest {
        pub(crate) file: File,
        count: u16,
    }

    impl Guest {
        pub(crate) fn new() -> (Self, Virtqueue) {
            let file = tempfile::tempfile().unwrap();
            file.set_len(0x10_000).unwrap();
            let region = MemoryRegion { guest: 0, size: 0x10_000, user: 0x5000_0000, offset: 0 };
            let memory = GuestMemory::new(vec![region], vec![file.try_clone().unwrap().into()]);
            let [descriptors, available, used] =
                [DESCRIPTORS, AVAILABLE, USED].map(|offset| 0x5000_0000 + offset);
            let memory = Arc::new(memory);
            let ring =
                Virtqueue { memory, size: 8, descriptors, available, used, ..Virtqueue::default() };
            (Self { file, count: 0 }, ring)
        }

        pub(crate) fn descriptor(&self, at: u64, address: u64, length: u32, rest: [u16; 2]) {
            let mut bytes = address.to_le_bytes().to_vec();
            bytes.extend(length.to_le_bytes());
            bytes.extend(rest.iter().flat_map(|number| number.to_le_bytes()));
            self.file.write_all_at(&bytes, at).unwrap();
        }

        pub(crate) fn offer(&mut self, head: u16) {
            let address = AVAILABLE + 4 + 2 * u64::from(self.count % 8);
            self.file.write_all_at(&head.to_le_bytes(), address).unwrap();
            self.count += 1;
            self.file.write_all_at(&self.count.to_le_bytes(), AVAILABLE + 2).unwrap();
        }
    }

    #[test]
    fn a_chain_is_read_and_answered_across_its_parts() {
        let (mut guest, mut ring) = Guest::new();
        let at = |number: u64| DESCRIPTORS + 16 * number;
        guest.descriptor(at(3), 0x1000, 3, [NEXT, 5]);
        guest.descriptor(at(5), 0x2000, 4, [NEXT, 0]);
        guest.descriptor(at(0), 0x3000, 2, [NEXT | WRITE, 1]);
        guest.descriptor(at(1), 0x3100, 9, [WRITE, 0]);
        guest.file.write_all_at(b"abc", 0x1000).unwrap();
        guest.file.write_all_at(b"defg", 0x2000).unwrap();
        guest.offer(3);
        let chain = ring.pop().unwrap().unwrap();
        assert!(ring.pop().unwrap().is_none());
        assert_eq!((chain.readable(), chain.writable()), (7, 11));
        assert_eq!(chain.read_bytes(2, 3).unwrap(), b"cde");
        assert_eq!(chain.read_bytes(4, 100).unwrap(), b"efg");
        chain.write(1, b"xyz").unwrap();
        ring.put(&chain, 4).unwrap();
        let mut bytes = [0; 2];
        guest.file.read_exact_at(&mut bytes, 0x3100).unwrap();
        assert_eq!(&bytes, b"yz");
        let mut used = [0; 12];
        guest.file.read_exact_at(&mut used, USED).unwrap();
        assert_eq!(used, [0, 0, 1, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
    }

    #[test]
    fn requests_and_replies_follow_each_other_and_wrap_at_the_size_of_the_queue() {
        let (mut guest, mut ring) = Guest::new();
        // In both rings, the entry of the ninth request replaces the entry of the first.
        let heads = [0u16, 3, 6, 1, 4, 7, 2, 5, 0];
        for (number, head) in (0u16..).zip(heads) {
            guest.descriptor(DESCRIPTORS + 16 * u64::from(head), 0x1000, 1, [WRITE, 0]);
            guest.offer(head);
            let chain = ring.pop().unwrap().unwrap();
            assert_eq!(chain.head, head);
            assert!(ring.pop().unwrap().is_none());
            ring.put(&chain, 20 + u32::from(number)).unwrap();
            let mut count = [0; 2];
            guest.file.read_exact_at(&mut count, USED + 2).unwrap();
            assert_eq!(u16::from_le_bytes(count), number + 1);
        }
        let mut used = [0; 64];
        guest.file.read_exact_at(&mut used, USED + 4).unwrap();
        let element = |[head, written]: [u8; 2]| [head, 0, 0, 0, written, 0, 0, 0];
        let wanted = [[0, 28], [3, 21], [6, 22], [1, 23], [4, 24], [7, 25], [2, 26], [5, 27]];
        assert_eq!(used.as_slice(), wanted.map(element).as_flattened());
    }

    #[test]
    fn a_table_of_descriptors_is_a_chain() {
        let (mut guest, mut ring) = Guest::new();
        guest.descriptor(DESCRIPTORS, 0x4000, 32, [INDIRECT, 0]);
        guest.descriptor(0x4000, 0x1000, 16, [NEXT, 1]);
        guest.descriptor(0x4010, 0x2000, 1, [WRITE, 0]);
        guest.offer(0);
        let chain = ring.pop().unwrap().unwrap();
        assert_eq!((chain.readable(), chain.writable()), (16, 1));
    }

    #[test]
    fn chains_that_break_the_rules_are_errors() {
        let cases: [&dyn Fn(&Guest); 7] = [
            // The chain is circular.
            &|guest| guest.descriptor(DESCRIPTORS, 0x1000, 1, [NEXT, 0]),
            // The next descriptor is outside the table.
            &|guest| guest.descriptor(DESCRIPTORS, 0x1000, 1, [NEXT, 8]),
            // The chain is longer than any request.
            &|guest| guest.descriptor(DESCRIPTORS, 0x1000, u32::MAX, [0, 0]),
            // The memory extends past the last address.
            &|guest| guest.descriptor(DESCRIPTORS, u64::MAX, 2, [0, 0]),
            // Tables of descriptors are empty, outside the memory, or inside other tables.
            &|guest| guest.descriptor(DESCRIPTORS, 0x4000, 15, [INDIRECT, 0]),
            &|guest| guest.descriptor(DESCRIPTORS, 0x10_000, 32, [INDIRECT, 0]),
            &|guest| {
                guest.descriptor(DESCRIPTORS, 0x4000, 16, [INDIRECT, 0]);
                guest.descriptor(0x4000, 0x4000, 16, [INDIRECT, 0]);
            },
        ];
        for (number, case) in cases.iter().enumerate() {
            let (mut guest, mut ring) = Guest::new();
            case(&guest);
            guest.offer(0);
            assert!(ring.pop().is_err(), "case {number}");
        }
        let (guest, mut ring) = Guest::new();
        guest.file.write_all_at(&9u16.to_le_bytes(), AVAILABLE + 2).unwrap();
        assert!(ring.pop().is_err(), "more than the queue holds");
        let (mut guest, mut ring) = Guest::new();
        guest.offer(8);
        assert!(ring.pop().is_err(), "a head beyond the table");
    }
}
