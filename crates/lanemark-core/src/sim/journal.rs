//! A file system's journal at work: the requests that a sync of a file makes.
//!
//! As ext4 does with an ordered journal (Linux, fs/jbd2/commit.c): the descriptor and the changed blocks of metadata are
//! written behind what the journal has; when they are there, a flush makes them and the file's data last; then the commit
//! block is written and made to last, by a flush of its own where the drive has no forced unit access, which costs about
//! the same. A file whose time of change has not moved since its last commit has nothing in the journal: its sync is a
//! flush and no more.
//!
//! The journal lies in the middle of its target, and is written in a circle. Each step begins when the one before is
//! complete, and pays what a request costs on the host, which stands for waking the journal's thread.
//!
//! Not modelled: commits that several threads share, the commit every five seconds, checkpoints, forced unit access.

use super::budget::Budget;
use super::fault::Status;
use super::simulator::Completion;
use super::slab::{Slab, SyncHandle, Syncs};
use super::spec::{CheckedSystem, JournalSpec};
use super::target::Target;
use crate::units::{Bytes, Instant};
use crate::workload::{Access, Operation};

/// The most that a journal takes of its target.
const LENGTH_MAX: Bytes = Bytes::mebi(64);

/// The journals of all targets.
pub(super) struct Journal {
    spec: JournalSpec,
    heads: Vec<Head>,
    asked: Slab<Asked, Syncs>,
}

/// The journal of one target.
struct Head {
    target: Target,
    start: Bytes,
    length: Bytes,
    /// Place of the next commit, from the start on.
    next: Bytes,
    /// Step of the clock in which the file was last committed.
    committed: Option<u64>,
}

/// A request of the application, of which a sync takes several steps.
struct Asked {
    tag: u64,
    access: Access,
    target: Target,
    thread: u32,
    /// The steps that a sync has left, the last one first.
    left: Vec<Access>,
    /// Instant at which the first step was submitted, and the time budget of those that are complete.
    began: Option<Instant>,
    budget: Budget,
}

/// A request to submit.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) target: Target,
    pub(super) access: Access,
    pub(super) thread: u32,
    pub(super) tag: u64,
}

const FLUSH: Access =
    Access { operation: Operation::Flush, offset: Bytes::ZERO, length: Bytes::ZERO };

impl Journal {
    /// The journals of a system whose host has a file system with one.
    pub(super) fn of(spec: &CheckedSystem) -> Option<Self> {
        let journal = spec.journal?;
        let heads = spec.targets().into_iter().zip(spec.capacities()).map(|(target, capacity)| {
            let slots = |bytes: Bytes| Bytes(bytes.get() / 4096 * 4096);
            let least = journal.records + journal.commit;
            let length = slots(LENGTH_MAX.min(Bytes(capacity.get() / 8))).max(least);
            Head {
                target,
                start: slots(Bytes(capacity.get() / 2)),
                length,
                next: Bytes::ZERO,
                committed: None,
            }
        });
        Some(Self { spec: journal, heads: heads.collect(), asked: Slab::new() })
    }

    /// Takes a request that is submitted at `at` in, and returns its first step.
    pub(super) fn begin(
        &mut self,
        at: Instant,
        target: Target,
        access: Access,
        (thread, tag): (u32, u64),
    ) -> Step {
        let mut left = match access.operation {
            Operation::Flush => self.sync(at, target),
            _ => vec![access],
        };
        let access_first = left.pop().unwrap_or(access);
        let asked =
            Asked { tag, access, target, thread, left, began: None, budget: Budget::default() };
        let handle = self.asked.insert(asked);
        Step { target, access: access_first, thread, tag: handle.number().into() }
    }

    /// Returns the steps of a sync, the last one first.
    fn sync(&mut self, at: Instant, target: Target) -> Vec<Access> {
        let step = self.spec.timestamp_step.picoseconds();
        let tick = at.picoseconds().checked_div(step).unwrap_or(at.picoseconds());
        let head = self.heads.iter_mut().find(|head| head.target == target);
        let Some(head) = head.filter(|head| head.committed != Some(tick)) else {
            return vec![FLUSH];
        };
        head.committed = Some(tick);
        if head.next + self.spec.records + self.spec.commit > head.length {
            head.next = Bytes::ZERO;
        }
        let mut write = |length: Bytes| {
            let offset = head.start + head.next;
            head.next += length;
            Access { operation: Operation::Write, offset, length }
        };
        let (records, commit) = (write(self.spec.records), write(self.spec.commit));
        vec![FLUSH, commit, FLUSH, records]
    }

    /// Forgets a request whose first step was refused.
    pub(super) fn forget(&mut self, tag: u64) {
        self.asked.free(SyncHandle::of(tag as u32));
    }

    /// Takes the completion of a step in. Returns the next step, or else makes `completion` that of the application's
    /// request.
    pub(super) fn next_step(&mut self, completion: &mut Completion) -> Option<Step> {
        let handle = SyncHandle::of(completion.tag as u32);
        let asked = &mut self.asked[handle];
        let submitted = *asked.began.get_or_insert(completion.submitted);
        asked.budget.accumulate(&completion.budget);
        if completion.status == Status::Good
            && let Some(access) = asked.left.pop()
        {
            let Asked { target, thread, .. } = *asked;
            return Some(Step { target, access, thread, tag: completion.tag });
        }
        let (tag, access, budget) = (asked.tag, asked.access, asked.budget);
        self.asked.free(handle);
        *completion = Completion { tag, access, submitted, budget, ..*completion };
        None
    }
}
