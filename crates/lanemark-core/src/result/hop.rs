//! The identity of a hop in results, whatever the hop is called.
//!
//! A hop of a system of several drives is that of all of them: links are counted from the host, and those at one depth
//! are one hop. Names are for people, and two hops may have the same one.
//!
//! Results that were saved before know hops by their names alone. Those get their identities as they are read: fixed
//! words by the table of them, and what is left are links, in their order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::saved_as_text;

/// A hop of a path, in the order of the way from the host to the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum HopId {
    /// Before the host, where a request waits until it can be submitted.
    Unsubmitted,
    /// The host's processor, or the controller of a host without one.
    Cpu,
    /// The host protocol.
    Protocol,
    /// A link on the first way to a drive, counted from the host.
    Link(u8),
    /// A link of the way to a drive's second port, counted from where no other way shares it.
    SecondLink(u8),
    /// A drive on its way out of a power state.
    Power,
    /// Command decoding and firmware.
    FrontEnd,
    /// Room in the write buffer.
    Buffer,
    /// The path between buffer and link.
    DataPath,
    /// The flash channels.
    Channels,
    /// Flash dies, or the mechanics of a hard disk.
    Media,
}

/// A text that names no hop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no hop: `cpu`, `protocol`, `link0`, `second.link0`, `media` and others are")]
pub struct NoHop(String);

/// The hops that there is one of, as results tell them.
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

/// The names that were fixed in results without identities.
const FORMER: [(&str, HopId); 15] = [
    ("not yet submitted", HopId::Unsubmitted),
    ("CPU core", HopId::Cpu),
    ("controller", HopId::Cpu),
    ("AHCI", HopId::Protocol),
    ("NVMe", HopId::Protocol),
    ("ATA DMA", HopId::Protocol),
    ("SAS HBA", HopId::Protocol),
    ("power state", HopId::Power),
    ("front end", HopId::FrontEnd),
    ("write buffer", HopId::Buffer),
    ("data path", HopId::DataPath),
    ("flash channels", HopId::Channels),
    ("flash dies", HopId::Media),
    ("disk mechanics", HopId::Media),
    ("dies and disk mechanics", HopId::Media),
];

impl fmt::Display for HopId {
    /// Writes the text that results have.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(place) => write!(f, "link{place}"),
            Self::SecondLink(place) => write!(f, "second.link{place}"),
            other => f.write_str(WORDS.iter().find(|(id, _)| id == other).map_or("", |one| one.1)),
        }
    }
}

impl FromStr for HopId {
    type Err = NoHop;

    fn from_str(text: &str) -> Result<Self, NoHop> {
        let link = |prefix: &str| text.strip_prefix(prefix).and_then(|place| place.parse().ok());
        let word = || WORDS.iter().find(|(_, word)| *word == text).map(|(id, _)| *id);
        let found = link("link").map(Self::Link).or(link("second.link").map(Self::SecondLink));
        // A number has one way to be written, so that equal hops are equal texts.
        let found = found.or_else(word).filter(|id| id.to_string() == text);
        found.ok_or_else(|| NoHop(text.chars().take(40).collect()))
    }
}

saved_as_text!(HopId);

/// Gives hops that were saved by their names alone, one after the other, their identities.
#[derive(Default)]
pub(super) struct Former {
    links: u8,
}

impl Former {
    /// The identity of the next hop.
    pub(super) fn identify(&mut self, name: &str) -> HopId {
        if let Some((_, id)) = FORMER.iter().find(|(known, _)| *known == name) {
            return *id;
        }
        let link = HopId::Link(self.links);
        self.links = self.links.saturating_add(1);
        link
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_is_a_text_and_back() {
        let links = (0..=u8::MAX).flat_map(|place| [HopId::Link(place), HopId::SecondLink(place)]);
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
    fn hops_are_in_the_order_of_the_way() {
        let way =
            [HopId::Cpu, HopId::Protocol, HopId::Link(0), HopId::Link(1), HopId::SecondLink(0)];
        assert!(way.is_sorted());
        assert!(HopId::SecondLink(9) < HopId::Power && HopId::Channels < HopId::Media);
    }

    #[test]
    fn hops_without_identity_have_that_of_their_names() {
        let mut former = Former::default();
        let names = ["CPU core", "AHCI", "DMI 3.0", "SATA 6 Gb/s", "SATA 6 Gb/s", "flash dies"];
        let ids = names.map(|name| former.identify(name));
        let [link, second, third] = [0, 1, 2].map(HopId::Link);
        assert_eq!(ids, [HopId::Cpu, HopId::Protocol, link, second, third, HopId::Media]);
    }
}
