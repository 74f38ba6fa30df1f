//! A host bus adapter at work.
//!
//! The adapter's processor is one server in the order of arrival: each command for a drive behind it takes its time
//! once, when the adapter has fetched it. What the processor does for the completion is counted with it, since all that
//! is known of adapters is how many commands they carry a second. While more commands are outstanding than the adapter
//! has room for near its processor, each takes longer.
//!
//! Not modelled: a cache of the adapter's own, commands that it puts together, several processors.

use super::spec::{AdapterSpec, SystemSpec};
use super::station::{Span, Station};
use crate::units::{Duration, Instant};

/// A host bus adapter at work.
#[derive(Clone, Debug)]
pub(super) struct Adapter {
    spec: AdapterSpec,
    station: Station,
}

impl Adapter {
    /// The adapter of a system, idle, where its drives are behind one whose times are known.
    pub(super) fn of(spec: &SystemSpec) -> Option<Self> {
        let spec = spec.attachments.iter().find_map(|one| one.protocol.adapter)?;
        Some(Self { spec, station: Station::default() })
    }

    /// Takes a command in at `now`, while so many are outstanding with it.
    pub(super) fn serve(&mut self, now: Instant, outstanding: u32) -> Span {
        self.station.serve(now, self.spec.time(outstanding))
    }

    /// The time served so far.
    pub(super) fn busy(&self) -> Duration {
        self.station.busy()
    }
}
