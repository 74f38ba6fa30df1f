//! A host bus adapter at work.
//!
//! The adapter's processor is one server in the order of arrival: each command for a drive behind it takes its time
//! once, when the adapter has fetched it. What the processor does for the completion is counted with it, since all that
//! is known of adapters is how many commands they carry a second. While more commands are outstanding than the adapter
//! has room for near its processor, each takes longer. Writes of a RAID adapter's cache ([`Cache`]) take its time too.
//!
//! Not modelled: several processors, parity.

use super::adapter_cache::Cache;
use super::spec::{AdapterSpec, AttachmentSpec, SystemSpec};
use super::station::{Span, Station};
use crate::units::{Duration, Instant};

/// A host bus adapter at work.
#[derive(Clone, Debug)]
pub(super) struct Adapter {
    spec: AdapterSpec,
    station: Station,
    /// Cache for writes, which RAID adapters have.
    pub(super) cache: Option<Box<Cache>>,
}

impl Adapter {
    /// The adapter of a system, idle, where its drives are behind one whose times are known.
    pub(super) fn of(system: &SystemSpec) -> Option<Self> {
        let spec = system.attachments.iter().find_map(|one| one.protocol.adapter)?;
        let largest = system.attachments.iter().map(AttachmentSpec::transfer_max);
        let cache = spec.cache.map(|cache| Box::new(Cache::new(cache, largest)));
        Some(Self { spec, station: Station::default(), cache })
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
