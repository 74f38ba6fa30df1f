//! The identity of a hop in results, which does not depend on its name.
//!
//! In a system of several drives, one hop represents the corresponding hops of all drives: links are counted from the
//! host, and links at the same depth are one hop. Names are display text, so two hops may have the same name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::saved_as_text;

/// A hop of a path, in the order from the host to the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum HopId {
    /// Before the host: the request waits for its submission.
    Unsubmitted,
    /// The host's processor, or the controller of a host without a processor.
    Cpu,
    /// The host protocol.
    Protocol,
    /// A link on the first path to a drive, counted from the host.
    Link(u8),
    /// A link on the path to a drive's second port, counted from the first link that only this path uses.
    SecondLink(u8),
    /// The wake-up of a drive from a power state.
    Power,
    /// The controller command engine: command decoding and firmware.
    FrontEnd,
    /// Free space in the write buffer.
    Buffer,
    /// The controller data path, between buffer and link.
    DataPath,
    /// The flash channels.
    Channels,
    /// Flash dies, or the mechanics of a hard disk.
    Media,
}

/// A string that is not the name of a hop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a hop; hops are `cpu`, `protocol`, `link0`, `second.link0`, `media` and others"
)]
pub struct UnknownHop(String);

/// The hops that occur only once in a path, as written in results.
const WORDS: [(HopId, &str); 9] = [
    (HopId::Unsubmitted, "unsubmitted"),
    (HopId::Cpu, "cpu"),
    (HopId::Protocol, "protocol"),
    (HopId::Power, "power"),
    (HopId::FrontEnd, "front-end"),
    (HopId::Buffer, "buffer"),
    (HopId::DataPath, "data-path"),
    (HopId::Channels, "channels"),
    (HopId::Media, "media"),
];

impl fmt::Display for HopId {
    /// Writes the notation that results use.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(index) => write!(f, "link{index}"),
            Self::SecondLink(index) => write!(f, "second.link{index}"),
            Self::Unsubmitted
            | Self::Cpu
            | Self::Protocol
            | Self::Power
            | Self::FrontEnd
            | Self::Buffer
            | Self::DataPath
            | Self::Channels
            | Self::Media => {
                f.write_str(WORDS.iter().find(|(id, _)| id == self).map_or("", |row| row.1))
            }
        }
    }
}

impl FromStr for HopId {
    type Err = UnknownHop;

    fn from_str(text: &str) -> Result<Self, UnknownHop> {
        let link = |prefix: &str| text.strip_prefix(prefix).and_then(|index| index.parse().ok());
        let word = || WORDS.iter().find(|(_, word)| *word == text).map(|(id, _)| *id);
        let found = link("link").map(Self::Link).or(link("second.link").map(Self::SecondLink));
        // Each number has only one notation, so that equal hops have equal strings.
        let found = found.or_else(word).filter(|id| id.to_string() == text);
        found.ok_or_else(|| UnknownHop(text.chars().take(40).collect()))
    }
}

saved_as_text!(HopId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_is_a_text_and_back() {
        let links = (0..=u8::MAX).flat_map(|index| [HopId::Link(index), HopId::SecondLink(index)]);
        for id in links.chain(WORDS.map(|(id, _)| id)) {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!(HopId::SecondLink(1).to_string(), "second.link1");
        for no in
            ["", "link", "link256", "link-1", "link01", "link+1", "SATA", "second.link", "cpu "]
        {
            assert!(no.parse::<HopId>().is_err(), "{no}");
        }
    }

    #[test]
    fn hops_are_in_the_order_of_the_path() {
        let path =
            [HopId::Cpu, HopId::Protocol, HopId::Link(0), HopId::Link(1), HopId::SecondLink(0)];
        assert!(path.is_sorted());
        assert!(HopId::SecondLink(9) < HopId::Power && HopId::Channels < HopId::Media);
    }
}
