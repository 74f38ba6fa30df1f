//! A host bus adapter during a run.
//!
//! The adapter's processor is one server in the order of arrival: each command for one of its drives takes its time
//! once, when the adapter has fetched it. The processor's work for the completion is included, because adapters are
//! rated only by commands a second. While more commands are outstanding than fit into the memory near the adapter's
//! processor, each command takes longer. Writes by a RAID adapter's cache ([`Cache`]) also take the processor's time.
//!
//! Not modelled: several processors, parity.

use super::adapter_cache::Cache;
use crate::engine::station::{ServiceSpan, Station};
use crate::spec::{AdapterSpec, AttachmentSpec, SystemSpec};
use lanemark_schema::units::{Duration, Instant};

/// A host bus adapter during a run.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    spec: AdapterSpec,
    station: Station,
    /// Cache for writes, as RAID adapters have.
    pub(crate) cache: Option<Box<Cache>>,
}

impl Adapter {
    /// Returns the idle adapter of a system, if its drives are connected to an adapter with known times.
    pub(crate) fn of(system: &SystemSpec) -> Option<Self> {
        let spec = system.attachments.iter().find_map(|attachment| attachment.protocol.adapter)?;
        let largest = system.attachments.iter().map(AttachmentSpec::transfer_max);
        let cache = spec.cache.map(|cache| Box::new(Cache::new(cache, largest)));
        Some(Self { spec, station: Station::default(), cache })
    }

    /// Accepts a command at `now`, while `outstanding` commands are outstanding.
    pub(crate) fn serve(&mut self, now: Instant, outstanding: u32) -> ServiceSpan {
        self.station.serve(now, self.spec.time(outstanding))
    }

    /// Returns the time served so far.
    pub(crate) fn busy(&self) -> Duration {
        self.station.busy()
    }
}
