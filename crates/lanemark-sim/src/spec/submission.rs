//! A request as a program submits it to a system.

use lanemark_schema::units::Instant;
use lanemark_schema::workload::Access;

/// A request that a program submits to a system.
///
/// ```
/// use lanemark_schema::units::{Bytes, Instant};
/// use lanemark_schema::workload::{Access, Operation};
/// use lanemark_sim::Submission;
///
/// let read = Access { operation: Operation::Read, offset: Bytes::ZERO, length: Bytes::kibi(4) };
/// let submission = Submission::new(Instant::ZERO, read).to(1).by(3).tagged(42);
/// assert_eq!((submission.thread, submission.tag), (3, 42));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Simulated time of the submission, which must not be in the past.
    pub at: Instant,
    /// The drive, 0 for the first; 0 for a request to a volume.
    pub target: u16,
    /// The request's operation and range.
    pub access: Access,
    /// The thread that submits the request; it determines the core and the queue.
    pub thread: u32,
    /// The number that the request's completion carries.
    pub tag: u64,
}

impl Submission {
    /// Returns a request to the first target by the first thread, with tag 0.
    pub fn new(at: Instant, access: Access) -> Self {
        Self { at, target: 0, access, thread: 0, tag: 0 }
    }

    /// Sets the drive.
    #[must_use]
    pub fn to(self, target: u16) -> Self {
        Self { target, ..self }
    }

    /// Sets the thread.
    #[must_use]
    pub fn by(self, thread: u32) -> Self {
        Self { thread, ..self }
    }

    /// Sets the tag.
    #[must_use]
    pub fn tagged(self, tag: u64) -> Self {
        Self { tag, ..self }
    }
}
