//! Things in flight, named by small handles.
//!
//! A slot that is freed is the next one used, so a run in its steady state touches the same few cache
//! lines and allocates nothing. Handles are plain `u32`: the kernel's events stay eight bytes.

use std::ops::{Index, IndexMut};

/// A handle into a [`Slab`].
pub(super) type Handle = u32;

/// No handle.
pub(super) const NONE: Handle = Handle::MAX;

/// Things in flight.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    slots: Vec<T>,
    free: Vec<Handle>,
}

impl<T> Slab<T> {
    /// An empty slab.
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// Stores `value` and names it.
    pub(super) fn insert(&mut self, value: T) -> Handle {
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = value;
            return handle;
        }
        let handle = Handle::try_from(self.slots.len()).expect("fewer than 2^32 things in flight");
        self.slots.push(value);
        handle
    }

    /// Names a thing whose fields hold whatever they held before, for its user to set: what need not be set
    /// need not be touched.
    #[inline]
    pub(super) fn renew(&mut self) -> Handle
    where
        T: Default,
    {
        match self.free.pop() {
            Some(handle) => handle,
            None => self.insert(T::default()),
        }
    }

    /// Gives the slot of `handle` back; the handle must not be used again.
    pub(super) fn free(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    /// The handles of all that is in flight, in their order.
    pub(super) fn handles(&self) -> Vec<Handle> {
        let mut free = self.free.clone();
        free.sort_unstable();
        let is_live = |handle: &Handle| free.binary_search(handle).is_err();
        (0..self.slots.len() as Handle).filter(is_live).collect()
    }

    /// How many there were at once, at the most.
    pub(super) fn most(&self) -> usize {
        self.slots.len()
    }

    /// Things in flight now.
    pub(super) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Index<Handle> for Slab<T> {
    type Output = T;
    fn index(&self, handle: Handle) -> &T {
        &self.slots[handle as usize]
    }
}

impl<T> IndexMut<Handle> for Slab<T> {
    fn index_mut(&mut self, handle: Handle) -> &mut T {
        &mut self.slots[handle as usize]
    }
}

/// A first-in-first-out chain through a slab whose things hold the link themselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: Handle,
    last: Handle,
}

/// A thing that can stand in a [`Chain`].
pub(super) trait Linked {
    /// The handle of the thing behind this one.
    fn next(&mut self) -> &mut Handle;
}

impl Chain {
    /// An empty chain.
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE };

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// The handle at the head, [`NONE`] for an empty chain.
    pub(super) fn head(&self) -> Handle {
        self.first
    }

    /// Appends `handle`.
    pub(super) fn push<T: Linked>(&mut self, slab: &mut Slab<T>, handle: Handle) {
        *slab[handle].next() = NONE;
        if self.is_empty() {
            self.first = handle;
        } else {
            *slab[self.last].next() = handle;
        }
        self.last = handle;
    }

    /// Takes the head.
    pub(super) fn pop<T: Linked>(&mut self, slab: &mut Slab<T>) -> Option<Handle> {
        let head = self.first;
        if head == NONE {
            return None;
        }
        self.first = *slab[head].next();
        if self.first == NONE {
            self.last = NONE;
        }
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Item(u32, Handle);
    impl Linked for Item {
        fn next(&mut self) -> &mut Handle {
            &mut self.1
        }
    }

    #[test]
    fn a_freed_slot_is_used_again() {
        let mut slab = Slab::new();
        let first = slab.insert('a');
        slab.insert('b');
        slab.free(first);
        assert_eq!(slab.handles(), [first + 1]);
        assert_eq!((slab.insert('c'), slab.live(), slab[first]), (first, 2, 'c'));
    }

    #[test]
    fn a_chain_is_first_in_first_out() {
        let mut slab = Slab::new();
        let mut chain = Chain::EMPTY;
        for value in 0..3 {
            let handle = slab.insert(Item(value, NONE));
            chain.push(&mut slab, handle);
        }
        let mut drained = Vec::new();
        while let Some(handle) = chain.pop(&mut slab) {
            drained.push(slab[handle].0);
        }
        assert_eq!(drained, [0, 1, 2]);
        assert!(chain.is_empty());
    }
}
