//! A host bus adapter at work.
//!
//! The adapter's processor is one server in the order of arrival: each command for one of its drives takes its time
//! once, when the adapter has fetched it. The processor's work for the completion is included, since only the commands
//! a second of adapters are known. While more commands are outstanding than the adapter has room for near its
//! processor, each takes longer. Writes of a RAID adapter's cache ([`Cache`]) take its time too.
//!
//! Not modelled: several processors, parity.

use super::adapter_cache::Cache;
use crate::engine::station::{ServiceSpan, Station};
use crate::spec::{AdapterSpec, AttachmentSpec, SystemSpec};
use lanemark_schema::units::{Duration, Instant};

/// A host bus adapter at work.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    spec: AdapterSpec,
    station: Station,
    /// Cache for writes, as RAID adapters have.
    pub(crate) cache: Option<Box<Cache>>,
}

impl Adapter {
    /// Returns the adapter of a system, idle, if its drives are connected to an adapter with known times.
    pub(crate) fn of(system: &SystemSpec) -> Option<Self> {
        let spec = system.attachments.iter().find_map(|one| one.protocol.adapter)?;
        let largest = system.attachments.iter().map(AttachmentSpec::transfer_max);
        let cache = spec.cache.map(|cache| Box::new(Cache::new(cache, largest)));
        Some(Self { spec, station: Station::default(), cache })
    }

    /// Takes in a command at `now`, while `outstanding` commands are outstanding.
    pub(crate) fn serve(&mut self, now: Instant, outstanding: u32) -> ServiceSpan {
        self.station.serve(now, self.spec.time(outstanding))
    }

    /// Returns the time served until now.
    pub(crate) fn busy(&self) -> Duration {
        self.station.busy()
    }
}
