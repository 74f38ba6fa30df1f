//! The arrival of requests: each when one is complete (closed loop), or at times of its own (open loop).
//!
//! In an open loop the latency of a request counts from the time at which it was to be submitted, however late
//! that happened. A closed loop asks less of a target that stalls, and so hides the stall from all requests but
//! those that were outstanding (Gil Tene's *coordinated omission*; Schroeder, Wierman and Harchol-Balter, "Open
//! versus closed", NSDI 2006).

use serde::{Deserialize, Serialize};

/// Greatest number of requests a second that can be asked for.
pub(crate) const RATE_MAX: f64 = 1e9;

/// The rule by which requests arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Load {
    /// The next request begins when one is complete, so that as many as the queue depth are outstanding.
    #[default]
    Closed,
    /// Requests arrive at times of their own; at most as many as the queue depth are outstanding, and others wait.
    Open {
        /// Requests a second, of all threads together.
        rate_per_second: f64,
        /// Process by which requests arrive.
        process: Process,
    },
}

/// The process by which the requests of an open loop arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// Requests arrive at equal intervals; the threads take turns.
    #[default]
    Even,
    /// A Poisson process: independent of each other, with exponential intervals.
    Poisson,
}

impl Process {
    /// All processes by their names.
    pub const ALL: [(&'static str, Self); 2] = [("even", Self::Even), ("poisson", Self::Poisson)];
}

impl Load {
    /// Whether requests come when others are complete.
    pub fn is_closed(&self) -> bool {
        *self == Self::Closed
    }
}
