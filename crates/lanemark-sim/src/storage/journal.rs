//! A file system's journal during a run: the requests of a file sync.
//!
//! The model follows ext4 with an ordered journal (Linux, fs/jbd2/commit.c): the descriptor and the changed metadata
//! blocks are appended to the journal; then a flush makes these blocks and the file's data durable. Finally the commit
//! block is written and made durable by another flush, because the drive is assumed not to support forced unit access,
//! which would cost about the same. A file whose change time has not advanced since its last commit does not need a
//! commit: its sync is only a flush.
//!
//! The journal is in the middle of its target and is written cyclically. Each step begins when the previous step is
//! complete, and costs the host time of a request, which represents the wake-up of the journal's thread.
//!
//! Not modelled: commits that several threads share, the commit every five seconds, checkpoints, forced unit access.

use crate::engine::budget::Budget;
use crate::engine::slab::{Slab, SyncHandle, Syncs};
use crate::fault::RequestStatus;
use crate::simulator::Completion;
use crate::spec::submission::Submission;
use crate::spec::{CheckedSystem, JournalSpec};
use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::{Access, Operation};

/// Maximum length of a journal on its target.
const LENGTH_MAX: Bytes = Bytes::mebi(64);

pub(crate) struct Journal {
    spec: JournalSpec,
    heads: Vec<TargetJournal>,
    requests: Slab<JournalRequest, Syncs>,
}

struct TargetJournal {
    target: u16,
    start: Bytes,
    length: Bytes,
    /// Offset of the next commit from the start.
    next: Bytes,
    /// Time step of the clock in which the file was last committed.
    committed: Option<u64>,
}

/// A request from the application; a sync consists of several steps.
struct JournalRequest {
    tag: u64,
    access: Access,
    target: u16,
    thread: u32,
    /// The remaining steps of a sync, the last step first.
    left: Vec<Access>,
    /// Instant at which the first step was submitted.
    began: Option<Instant>,
    /// Time budget of the completed steps.
    budget: Budget,
}

const FLUSH: Access =
    Access { operation: Operation::Flush, offset: Bytes::ZERO, length: Bytes::ZERO };

impl Journal {
    /// Returns the journals of a system whose host has a file system with a journal.
    pub(crate) fn for_system(spec: &CheckedSystem) -> Option<Self> {
        let journal = spec.journal?;
        let heads = spec.targets().zip(spec.capacities()).map(|(target, capacity)| {
            let slots = |bytes: Bytes| Bytes(bytes.get() / 4096 * 4096);
            let least = journal.records + journal.commit;
            let length = slots(LENGTH_MAX.min(Bytes(capacity.get() / 8))).max(least);
            TargetJournal {
                target,
                start: slots(Bytes(capacity.get() / 2)),
                length,
                next: Bytes::ZERO,
                committed: None,
            }
        });
        Some(Self { spec: journal, heads: heads.collect(), requests: Slab::new() })
    }

    /// Accepts a request, and returns the submission of its first step.
    pub(crate) fn accept(&mut self, submission: Submission) -> Submission {
        let Submission { at, target, access, thread, tag } = submission;
        let mut left =
            if access.operation == Operation::Flush { self.sync(at, target) } else { vec![access] };
        let access_first = left.pop().unwrap_or(access);
        let request = JournalRequest {
            tag,
            access,
            target,
            thread,
            left,
            began: None,
            budget: Budget::default(),
        };
        let handle = self.requests.insert(request);
        Submission { access: access_first, tag: handle.number().into(), ..submission }
    }

    /// Returns the steps of a sync, the last step first.
    fn sync(&mut self, at: Instant, target: u16) -> Vec<Access> {
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
        let records = write(self.spec.records);
        let commit = write(self.spec.commit);
        vec![FLUSH, commit, FLUSH, records]
    }

    /// Discards a request whose first step was rejected.
    pub(crate) fn forget(&mut self, tag: u64) {
        self.requests.free(SyncHandle::from_number(tag as u32));
    }

    /// Returns the tag of the application's request to which a step belongs, and the instant at which the first step of
    /// this request was submitted. The step itself was submitted at `submitted`.
    pub(crate) fn request_of(&self, tag: u64, submitted: Instant) -> (u64, Instant) {
        let request = &self.requests[SyncHandle::from_number(tag as u32)];
        (request.tag, request.began.unwrap_or(submitted))
    }

    /// Accepts the completion of a step. Returns the submission of the next step. After the last step, changes
    /// `completion` into the completion of the application's request.
    pub(crate) fn next_step(&mut self, completion: &mut Completion) -> Option<Submission> {
        let handle = SyncHandle::from_number(completion.tag as u32);
        let request = &mut self.requests[handle];
        let submitted = *request.began.get_or_insert(completion.submitted);
        request.budget.accumulate(&completion.budget);
        if completion.status == RequestStatus::Good
            && let Some(access) = request.left.pop()
        {
            let JournalRequest { target, thread, .. } = *request;
            return Some(Submission {
                at: completion.completed,
                target,
                access,
                thread,
                tag: completion.tag,
            });
        }
        let tag = request.tag;
        let access = request.access;
        let budget = request.budget;
        self.requests.free(handle);
        *completion = Completion { tag, access, submitted, budget, ..*completion };
        None
    }
}
