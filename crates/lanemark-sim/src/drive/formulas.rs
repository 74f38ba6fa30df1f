//! The analytic model of a medium: its demands, computed from its values without simulation.

use crate::engine::station::Demand;
use crate::spec::MediaSpec;
use lanemark_schema::result::HopId;
use lanemark_schema::units::Duration;
use lanemark_schema::workload::Test;

/// Demand that a test places on the servers of one hop of the media.
#[derive(Clone, Debug)]
pub(crate) struct MediaDemand {
    /// The hop.
    pub id: HopId,
    /// The hop's name.
    pub name: &'static str,
    /// The hop's formula as text.
    pub formula: String,
    /// The minimum time for which a request occupies a server.
    pub demand: Demand,
    /// Number of servers.
    pub servers: u64,
    /// The time of a small read, if known.
    pub latency: Option<Duration>,
}

/// The analytic model of a medium.
pub(crate) trait MediumFormulas {
    /// Returns the demands of a test on the hops of the media; the last is [`HopId::Media`].
    fn demands(&self, test: &Test) -> Vec<MediaDemand>;

    /// Returns the name of the media. `alone` states that the system has only this kind of media.
    fn name(&self, alone: bool) -> &'static str;

    /// Returns whether the media have channels.
    fn has_channels(&self) -> bool {
        false
    }

    /// Makes the channels twice as fast.
    fn double_channels(&mut self) {}

    /// Makes the media twice as fast.
    fn double_media(&mut self);
}

pub(crate) fn formulas_of(media: &MediaSpec) -> &dyn MediumFormulas {
    match media {
        MediaSpec::Flash(flash) => flash,
        MediaSpec::Disk(disk) => disk,
        MediaSpec::Cloud(cloud) => cloud,
    }
}

/// Returns the analytic model of a drive's media, for modification.
pub(crate) fn formulas_mut(media: &mut MediaSpec) -> &mut dyn MediumFormulas {
    match media {
        MediaSpec::Flash(flash) => flash,
        MediaSpec::Disk(disk) => disk,
        MediaSpec::Cloud(cloud) => cloud,
    }
}
