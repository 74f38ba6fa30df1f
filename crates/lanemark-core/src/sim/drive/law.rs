//! The law of a medium: what follows from its values alone, without simulating it.

use crate::result::HopId;
use crate::sim::spec::MediaSpec;
use crate::sim::station::Demand;
use crate::units::Duration;
use crate::workload::Test;

/// Demand of a test on the servers of one hop of the media.
#[derive(Clone, Debug)]
pub(crate) struct MediaDemand {
    /// The hop.
    pub id: HopId,
    /// The hop's name.
    pub name: &'static str,
    /// The hop's law in words.
    pub law: String,
    /// The least time that a request keeps a server.
    pub demand: Demand,
    /// Number of the servers.
    pub servers: u64,
    /// The time of a small read, where that is known.
    pub latency: Option<Duration>,
}

/// The law of a medium.
pub(crate) trait MediumLaw {
    /// The demands of a test on the hops of the media, the last of which is [`HopId::Media`].
    fn demands(&self, test: &Test) -> Vec<MediaDemand>;

    /// The name of the media, in a system that has no others or beside others.
    fn name(&self, alone: bool) -> &'static str;

    /// Whether the media have channels.
    fn has_channels(&self) -> bool {
        false
    }

    /// Makes the channels twice as fast.
    fn double_channels(&mut self) {}

    /// Makes the media twice as fast.
    fn double_media(&mut self);
}

/// The law of a drive's media.
pub(crate) fn law(media: &MediaSpec) -> &dyn MediumLaw {
    match media {
        MediaSpec::Flash(flash) => flash,
        MediaSpec::Disk(disk) => disk,
    }
}

/// The law of a drive's media, to change it.
pub(crate) fn law_mut(media: &mut MediaSpec) -> &mut dyn MediumLaw {
    match media {
        MediaSpec::Flash(flash) => flash,
        MediaSpec::Disk(disk) => disk,
    }
}
