//! An engine without system calls: each request completes with the next wait.

use std::collections::VecDeque;
use std::io;

use super::interface::{Engine, EngineRequest};
use crate::arena::Arena;

/// Buffers, and the requests that are queued but never executed.
pub struct NullEngine {
    arena: Arena,
    pushed: VecDeque<(u32, i32)>,
    complete: usize,
}

impl NullEngine {
    /// Creates an engine that completes every request immediately, over the buffers of `arena`.
    pub fn new(arena: Arena) -> Self {
        let pushed = VecDeque::with_capacity(arena.slots() as usize);
        Self { arena, pushed, complete: 0 }
    }
}

impl Engine for NullEngine {
    fn refusal(&self) -> Option<&str> {
        None
    }

    fn outstanding(&self) -> u32 {
        self.pushed.len() as u32
    }

    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        // SAFETY: the kernel never accesses this arena.
        unsafe { self.arena.buffer_mut(slot) }
    }

    fn push(&mut self, slot: u32, transfer: EngineRequest) {
        self.pushed.push_back((slot, transfer.length as i32));
    }

    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn submit_and_wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        self.complete = self.pushed.len();
        if self.complete == 0 {
            std::thread::sleep(std::time::Duration::from_nanos(timeout_ns.unwrap_or(0)));
        }
        Ok(())
    }

    fn next_completion(&mut self) -> Option<(u32, i32)> {
        self.complete = self.complete.checked_sub(1)?;
        self.pushed.pop_front()
    }
}
