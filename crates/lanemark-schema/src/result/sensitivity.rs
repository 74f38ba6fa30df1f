//! The gain from making one hop faster. This identifies a bottleneck by changing the system instead of by utilisation.
//!
//! A busy hop is not necessarily the limit, and a hop without a queue can cause most of a latency. Therefore the test
//! is run again with one hop at twice its speed and everything else equal, and the difference is the gain. A gain below
//! 1% is reported as zero. Gains are not additive: two hops can limit a test together, so that a change of only one of
//! them gains nothing.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::hop::{HopId, UnknownHop};
use crate::text::saved_as_text;

/// Changes below this share are treated as noise.
const NOISE: f64 = 0.01;

/// A test's gains from making each hop faster, and from more load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// The hops from the processor to the media, then the load.
    pub gains: Vec<ChangeGain>,
    /// Index in `gains` of the hop with the largest gain, if there is one.
    pub bottleneck: Option<usize>,
}

/// A change of a system: a faster hop, or more load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum SystemChange {
    /// A hop at twice its speed.
    Hop(HopId),
    /// Twice the queue depth.
    QueueDepth,
    /// Twice the threads.
    Threads,
    /// Twice the requests a second of an open loop.
    Rate,
}

/// A change and its gain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeGain {
    /// Identity of the change.
    pub id: SystemChange,
    /// The hop's name in the path; `queue depth`, `threads` or `rate` for more load.
    pub hop: String,
    /// The change as text.
    pub change: String,
    /// Utilisation of the hop before the change.
    pub utilisation: Option<f64>,
    /// The change of throughput as a share of the throughput before; 1 means twice as much.
    pub throughput_gain: f64,
    /// The reduction of the mean latency as a share; below zero if the latency grew.
    pub latency_gain: f64,
}

impl Sensitivity {
    /// Creates the sensitivity from `gains`. The bottleneck is the hop with the largest throughput gain. If the
    /// throughput does not increase for any hop, as with requests at fixed times, the bottleneck is the hop that
    /// reduces the latency most.
    pub fn new(gains: Vec<ChangeGain>) -> Self {
        let hops = gains.iter().enumerate().filter(|(_, gain)| !gain.id.is_load() && gain.is_one());
        let most = hops.reduce(|most, other| if other.1.exceeds(most.1) { other } else { most });
        let bottleneck = most.map(|(index, _)| index);
        Self { gains, bottleneck }
    }

    /// Returns the change of the bottleneck hop.
    pub fn bottleneck(&self) -> Option<&ChangeGain> {
        self.gains.get(self.bottleneck?)
    }

    /// Returns the gains from more load.
    pub fn load(&self) -> impl Iterator<Item = &ChangeGain> {
        self.gains.iter().filter(|gain| gain.id.is_load())
    }
}

impl ChangeGain {
    fn is_one(&self) -> bool {
        self.throughput_gain > 0.0 || self.latency_gain > 0.0
    }

    fn exceeds(&self, other: &Self) -> bool {
        let by_throughput = self.throughput_gain.total_cmp(&other.throughput_gain);
        by_throughput.then(self.latency_gain.total_cmp(&other.latency_gain)).is_gt()
    }
}

/// The changes of the load, each with its name in results.
const LOADS: [(SystemChange, &str); 3] = [
    (SystemChange::QueueDepth, "queue-depth"),
    (SystemChange::Threads, "threads"),
    (SystemChange::Rate, "rate"),
];

impl SystemChange {
    /// Returns whether the change is more load instead of a faster hop.
    pub fn is_load(self) -> bool {
        !matches!(self, Self::Hop(_))
    }
}

impl fmt::Display for SystemChange {
    /// Writes the notation that results use.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, LOADS.iter().find(|(load, _)| load == self)) {
            (Self::Hop(id), _) => id.fmt(f),
            (_, load) => f.write_str(load.map_or("", |(_, word)| word)),
        }
    }
}

impl FromStr for SystemChange {
    type Err = UnknownHop;

    fn from_str(text: &str) -> Result<Self, UnknownHop> {
        match LOADS.iter().find(|(_, word)| *word == text) {
            Some((load, _)) => Ok(*load),
            None => text.parse().map(Self::Hop),
        }
    }
}

saved_as_text!(SystemChange);

/// Returns a change as a share, or zero if it is noise.
pub fn beyond_noise(share: f64) -> f64 {
    if share.is_finite() && share.abs() >= NOISE { share } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(hop: &str, load: bool, throughput_gain: f64, latency_gain: f64) -> ChangeGain {
        let id = if load { SystemChange::QueueDepth } else { SystemChange::Hop(HopId::Media) };
        ChangeGain {
            id,
            hop: hop.to_owned(),
            change: String::new(),
            utilisation: None,
            throughput_gain,
            latency_gain,
        }
    }

    fn named(gains: Vec<ChangeGain>) -> Option<String> {
        Sensitivity::new(gains).bottleneck().map(|gain| gain.hop.clone())
    }

    #[test]
    fn the_bottleneck_is_the_hop_that_gives_the_most() {
        let link = gain("link", false, 0.5, 0.3);
        let die = gain("die", false, 0.2, 0.4);
        let depth = gain("queue depth", true, 1.0, 0.0);
        assert_eq!(named(vec![die.clone(), link.clone()]).as_deref(), Some("link"));
        assert_eq!(named(vec![link, die.clone(), depth.clone()]).as_deref(), Some("link"));
        assert_eq!(named(vec![depth]), None);
        // With requests at fixed times, only the latency can improve.
        let idle = gain("link", false, 0.0, 0.0);
        assert_eq!(named(vec![idle.clone(), gain("die", false, 0.0, 0.2)]).as_deref(), Some("die"));
        assert_eq!(named(vec![idle]), None);
    }

    #[test]
    fn a_gain_below_a_hundredth_is_no_bottleneck() {
        assert_eq!(beyond_noise(0.0099), 0.0);
        assert_eq!(beyond_noise(-0.0099), 0.0);
        assert_eq!(beyond_noise(0.01), 0.01);
        assert_eq!(beyond_noise(f64::NAN), 0.0);
    }
}
