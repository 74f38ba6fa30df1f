//! The order of the addresses of requests.

use serde::{Deserialize, Serialize};

use crate::units::Ratio;

/// A part of the span in [`Pattern::Zones`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternZone {
    /// The share of requests that go to the zone.
    pub share: Ratio,
    /// Share of the span that the zone covers.
    pub span: Ratio,
}

/// The order of the addresses of a test's requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Requests are adjacent; each thread has an equal part of the span and starts again when it reaches the end.
    Sequential,
    /// Requests run from the end of the thread's part of the span to its beginning.
    Backward,
    /// Requests go to every position in the span with equal probability.
    Uniform,
    /// Requests go to each block of the span once in a random order, then again in a different random order.
    Shuffled,
    /// Requests go to scattered blocks according to a power law: `h` = 0.2 sends 80% of the requests to 20% of the
    /// offsets.
    Pareto {
        /// Above 0 and below 1.
        h: f64,
    },
    /// Requests go to normally distributed addresses around the middle of the span.
    Normal {
        /// The standard deviation as a share of the span.
        deviation: Ratio,
    },
    /// Requests go to zones, which are consecutive parts of the span, according to the zones' shares.
    Zones {
        /// Zones of the span; their shares and spans are relative weights.
        zones: Vec<PatternZone>,
    },
    /// Requests go to the block of rank r, scattered over the span, with probability proportional to `r^-theta`.
    Zipf {
        /// The exponent; YCSB uses 0.99.
        theta: f64,
    },
    /// Each request follows the previous request of its thread, except for a share of the requests, which go to every
    /// position in the span with equal probability (`percentage_random` of fio).
    PartlyRandom {
        /// The share of the requests that do not follow.
        random_share: Ratio,
    },
    /// Requests go more often to a hot part at the start of the span.
    HotCold {
        /// The part of the span that is hot.
        hot_span: Ratio,
        /// The share of requests that go to the hot part.
        hot_share: Ratio,
    },
}

impl PatternZone {
    pub(super) fn is_used(&self) -> bool {
        self.share > Ratio::ZERO && self.span > Ratio::ZERO
    }
}
