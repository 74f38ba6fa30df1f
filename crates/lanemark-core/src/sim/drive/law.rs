//! The law of a medium: what follows from its values alone, without simulating it.

use super::medium::Medium;
use crate::result::HopId;
use crate::rng::StreamKey;
use crate::sim::number::DriveNumber;
use crate::sim::spec::{Content, DriveSpec, MediaSpec};
use crate::sim::station::Demand;
use crate::units::Duration;
use crate::workload::Test;

/// What a test asks of the servers of one hop of the media.
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
    /// The idle medium of drive `index`, in its condition with `content`. What happens by chance in it follows from the
    /// run's `key`.
    fn at_work(
        &self,
        index: DriveNumber,
        drive: &DriveSpec,
        content: Content,
        key: StreamKey,
    ) -> Box<dyn Medium>;

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
