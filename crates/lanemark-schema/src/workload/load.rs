//! The arrival of requests: each after a completion (closed loop), or at scheduled times (open loop).
//!
//! In an open loop, the latency of a request is measured from its scheduled time, regardless of when it was submitted.
//! A closed loop sends fewer requests to a target that stalls, so only the outstanding requests experience the stall
//! (Gil Tene's *coordinated omission*; Schroeder, Wierman and Harchol-Balter, "Open versus closed", NSDI 2006).

use serde::{Deserialize, Serialize};

use crate::named_enum;
use crate::text::saved_as_text;

/// The rule by which requests arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Load {
    /// The next request begins when a request is complete, so the number of outstanding requests equals the queue
    /// depth.
    #[default]
    Closed,
    /// Requests arrive at scheduled times. The queue depth limits the number of outstanding requests; other requests
    /// wait.
    Open {
        /// Requests a second, summed over all threads.
        rate_per_second: f64,
        /// Process by which requests arrive.
        process: ArrivalProcess,
    },
}

named_enum! {
    /// The process by which the requests of an open loop arrive.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(try_from = "String", into = "String")]
    pub enum ArrivalProcess {
        /// Requests arrive at equal intervals; the threads take turns.
        #[default]
        Even = "even",
        /// Requests arrive in a Poisson process: independent of each other, with exponential intervals.
        Poisson = "poisson",
    }
}
saved_as_text!(ArrivalProcess);

impl Load {
    /// Returns whether a request arrives when an earlier request is complete.
    pub fn is_closed(&self) -> bool {
        *self == Self::Closed
    }
}
