//! The errors of a simulation.

use lanemark_schema::units::{Bytes, Instant};

/// A reason why a simulation cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// A request ends after the end of the drive.
    #[error("a request at {offset} of {length} ends beyond the drive's {capacity}")]
    OutOfRange {
        /// Offset of the request.
        offset: Bytes,
        /// Length of the request.
        length: Bytes,
        /// Capacity of the drive.
        capacity: Bytes,
    },
    /// A request ends after the end of the volume.
    #[error("a request at {offset} of {length} ends beyond the volume's {capacity}")]
    OutOfVolume {
        /// Offset of the request.
        offset: Bytes,
        /// Length of the request.
        length: Bytes,
        /// Capacity of the volume.
        capacity: Bytes,
    },
    /// The system does not contain the drive.
    #[error("there is no drive {} in this system", target + 1)]
    NoTarget {
        /// The drive that was addressed, 0 for the first.
        target: u16,
    },
    /// Only a real target can run the load.
    #[error("{what}: this can be measured but not simulated")]
    NotSimulated {
        /// The requested load.
        what: &'static str,
    },
    /// The test or trace continues beyond the end of simulated time.
    #[error("it has not ended after {} of simulated time", Instant::END.since(Instant::ZERO))]
    NeverEnds,
    /// The simulated drives would take more memory than the system's simulations may take.
    #[error("it needs {needed} of memory or more, and may take {limit}")]
    Memory {
        /// A lower bound of the necessary memory.
        needed: Bytes,
        /// The maximum.
        limit: Bytes,
    },
    /// The caller ended the test.
    #[error("it was stopped before its end")]
    Cancelled,
}
