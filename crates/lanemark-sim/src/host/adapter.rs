//! A host bus adapter during a run.
//!
//! The adapter's processor is one server, which serves commands in the order of arrival. Each command for one of the
//! adapter's drives occupies the processor once, after the adapter has fetched the command. This time includes the work
//! for the completion, because adapters are rated only in commands per second. While more commands are outstanding than
//! fit into the memory near the adapter's processor, each command takes longer. Writes by a RAID adapter's cache
//! ([`AdapterCache`]) also occupy the processor.
//!
//! Not modelled: several processors, parity.

use super::adapter_cache::AdapterCache;
use crate::engine::station::{ServiceSpan, Station};
use crate::spec::{AdapterSpec, AttachmentSpec, SystemSpec};
use lanemark_schema::units::{Duration, Instant};

/// A host bus adapter during a run.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    spec: AdapterSpec,
    station: Station,
    /// Write cache, if the adapter is a RAID adapter with a cache.
    pub(crate) cache: Option<Box<AdapterCache>>,
}

impl Adapter {
    /// Returns the idle adapter of a system, if the system's drives are connected to an adapter with known times.
    pub(crate) fn for_system(system: &SystemSpec) -> Option<Self> {
        let spec = system.attachments.iter().find_map(|attachment| attachment.protocol.adapter)?;
        let largest = system.attachments.iter().map(AttachmentSpec::transfer_max);
        let cache = spec.cache.map(|cache| Box::new(AdapterCache::new(cache, largest)));
        Some(Self { spec, station: Station::default(), cache })
    }

    /// Serves a command that arrives at `now`, while `outstanding` commands are outstanding.
    pub(crate) fn serve(&mut self, now: Instant, outstanding: u32) -> ServiceSpan {
        self.station.serve(now, self.spec.time(outstanding))
    }

    /// Returns the busy time so far.
    pub(crate) fn busy(&self) -> Duration {
        self.station.busy()
    }
}
