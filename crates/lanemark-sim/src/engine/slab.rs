//! Objects in flight, identified by small handles.
//!
//! The slot that was freed last is reused first, so a run in its steady state touches the same few cache lines and does
//! not allocate memory. A handle is a `u32` whose type identifies its slab, so the kernel's events fit into eight
//! bytes.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A handle into the [`Slab`] of objects of kind `K`, which no other slab accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle<K> {
    number: u32,
    kind: PhantomData<K>,
}

/// Defines kinds of objects in flight and their handle types.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident, $handle:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $kind {}
        $(#[$doc])*
        pub(crate) type $handle = Handle<$kind>;
    )*};
}

kinds! {
    /// Requests of the application.
    Requests, RequestHandle;
    /// Commands in flight.
    Commands, CommandHandle;
    /// Data of writes in transit to a buffer.
    WriteBursts, WriteBurstHandle;
    /// Data of reads that will be ready at the time of an event.
    Bursts, BurstHandle;
    /// Data of reads on shared links.
    Transfers, TransferHandle;
    /// Operations of a drive's media: of its dies, or of its arm.
    Operations, OperationHandle;
    /// Data that is moved, in transit to a unit.
    Relocations, RelocationHandle;
    /// Stretches of data that were read ahead.
    Stretches, StretchHandle;
    /// Requests on a volume.
    VolumeRequests, VolumeRequestHandle;
    /// Parts of requests on volumes; each part goes to one drive.
    Parts, PartHandle;
    /// Conditions that a simulated database waits for.
    Waits, WaitHandle;
    /// Requests through a file system's journal.
    Syncs, SyncHandle;
}

impl<K> Handle<K> {
    /// A value that is not a valid handle.
    pub(crate) const NONE: Self = Self::from_number(u32::MAX);

    /// Creates the handle with a number that a slab has issued.
    pub(crate) const fn from_number(number: u32) -> Self {
        Self { number, kind: PhantomData }
    }

    /// Returns the handle's number.
    pub(crate) fn number(self) -> u32 {
        self.number
    }
}

/// Objects in flight.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T, K> {
    slots: Vec<T>,
    free: Vec<u32>,
    kind: PhantomData<K>,
}

impl<T, K: Copy> Slab<T, K> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), kind: PhantomData }
    }

    pub(crate) fn insert(&mut self, value: T) -> Handle<K> {
        if let Some(number) = self.free.pop() {
            self.slots[number as usize] = value;
            return Handle::from_number(number);
        }
        let number = u32::try_from(self.slots.len()).expect("fewer than 2^32 objects in flight");
        self.slots.push(value);
        Handle::from_number(number)
    }

    /// Allocates a slot without a new value: the fields keep their previous content, and the caller sets the relevant
    /// fields.
    #[inline]
    pub(crate) fn renew(&mut self) -> Handle<K>
    where
        T: Default,
    {
        match self.free.pop() {
            Some(number) => Handle::from_number(number),
            None => self.insert(T::default()),
        }
    }

    /// Frees the slot of `handle`; the handle must not be used again.
    pub(crate) fn free(&mut self, handle: Handle<K>) {
        self.free.push(handle.number);
    }

    /// Returns the handles of all objects in flight, in order.
    pub(crate) fn handles(&self) -> Vec<Handle<K>> {
        let mut is_live = vec![true; self.slots.len()];
        self.free.iter().for_each(|&number| is_live[number as usize] = false);
        let live = (0u32..).zip(is_live).filter(|(_, is_live)| *is_live);
        live.map(|(number, _)| Handle::from_number(number)).collect()
    }

    /// Returns the maximum number of objects that have been in flight at once.
    pub(crate) fn most(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of objects in flight.
    pub(crate) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl<T, K: Copy> Default for Slab<T, K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, K> Index<Handle<K>> for Slab<T, K> {
    type Output = T;
    fn index(&self, handle: Handle<K>) -> &T {
        &self.slots[handle.number as usize]
    }
}

impl<T, K> IndexMut<Handle<K>> for Slab<T, K> {
    fn index_mut(&mut self, handle: Handle<K>) -> &mut T {
        &mut self.slots[handle.number as usize]
    }
}

/// A first-in-first-out chain through a slab; each object stores its own link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlabQueue<K> {
    first: Handle<K>,
    last: Handle<K>,
}

/// An object that can be linked into a [`SlabQueue`].
pub(crate) trait Linked {
    /// The kind of objects in the chain.
    type Kind: Copy + Eq;
    /// Returns the handle of the next object in the chain.
    fn next(&mut self) -> &mut Handle<Self::Kind>;
}

impl<K: Copy + Eq> SlabQueue<K> {
    /// An empty chain.
    pub(crate) const EMPTY: Self = Self { first: Handle::NONE, last: Handle::NONE };

    pub(crate) fn is_empty(&self) -> bool {
        self.first == Handle::NONE
    }

    /// Returns the handle at the head, or [`Handle::NONE`] for an empty chain.
    pub(crate) fn head(&self) -> Handle<K> {
        self.first
    }

    pub(crate) fn push<T: Linked<Kind = K>>(&mut self, slab: &mut Slab<T, K>, handle: Handle<K>) {
        *slab[handle].next() = Handle::NONE;
        if self.is_empty() {
            self.first = handle;
        } else {
            *slab[self.last].next() = handle;
        }
        self.last = handle;
    }

    /// Removes and returns the head.
    pub(crate) fn pop<T: Linked<Kind = K>>(&mut self, slab: &mut Slab<T, K>) -> Option<Handle<K>> {
        let head = self.first;
        if head == Handle::NONE {
            return None;
        }
        self.first = *slab[head].next();
        if self.first == Handle::NONE {
            self.last = Handle::NONE;
        }
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_slot_is_used_again() {
        let mut slab: Slab<char, Commands> = Slab::new();
        let first = slab.insert('a');
        slab.insert('b');
        slab.free(first);
        assert_eq!(slab.handles(), [Handle::from_number(first.number + 1)]);
        assert_eq!((slab.insert('c'), slab.live(), slab[first]), (first, 2, 'c'));
        assert_eq!(slab.most(), 2);
        // The maximum does not decrease when fewer objects are in flight.
        let third = slab.insert('d');
        slab.handles().into_iter().for_each(|handle| slab.free(handle));
        assert_eq!((slab.most(), slab.live(), slab.insert('e')), (3, 0, third));
    }
}
