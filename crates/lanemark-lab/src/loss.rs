//! Throughput that a test loses to the link that limits it: the test runs again with a faster link.
//!
//! If a drive's link trained down, its speed is doubled until it equals the speed of the drive's own connector, because
//! no port can make it faster. Any other link is made sixteen times as fast, which effectively removes the limit. Only
//! links are examined, because the buyer of a drive cannot change the drive's parts.

use lanemark_schema::result::{HopId, LinkLoss, PathSection, SystemChange, TestResult};
use lanemark_schema::rng::StreamKey;
use lanemark_sim::Progress;
use lanemark_sim::sensitivity::variants;
use lanemark_study::System;

use crate::error::LabError;
use crate::lab::Lab;

/// The maximum number of doublings of a link's speed.
const DOUBLINGS: u32 = 4;
/// The utilisation from which a link is examined.
const BUSY: f64 = 0.8;

impl Lab {
    /// Returns the throughput that test number `place` of a run on `system`, whose outcome is `result`, loses to its
    /// busiest link. The loss is `None` if no link limits the test, or if the run is cancelled.
    ///
    /// # Errors
    /// Returns an error if the test does not run to its end with the faster link.
    pub fn link_loss(
        &self,
        system: &System,
        place: usize,
        result: &TestResult,
        seed: u64,
    ) -> Result<Option<LinkLoss>, LabError> {
        let Some(base) = result.samples.first() else { return Ok(None) };
        let busiest = base.path.as_ref().and_then(|path| path.busiest_hop());
        let limits = |hop: &&lanemark_schema::result::HopUse| {
            hop.utilisation >= BUSY && PathSection::from_hop(hop.id) == PathSection::Link
        };
        let Some(hop) = busiest.filter(limits) else { return Ok(None) };
        let to_error = |error: &dyn std::fmt::Display| {
            LabError::run(format!("test `{}`, with a faster link: {error}", result.test.name))
        };
        let test = result.test.clone().checked().map_err(|error| to_error(&error))?;
        let trunk = system.spec.trunk.len();
        let last = trunk + system.spec.first().port_path.links.len() - 1;
        let is_last = matches!(hop.id, HopId::Link(depth) if usize::from(depth) == last);
        let own = system.taken.first().and_then(|taken| taken.own.as_ref()).filter(|_| is_last);
        // A link as fast as the drive's own connector costs nothing: the drive's speed without it is not known.
        if is_last && own.is_none() {
            return Ok(None);
        }
        let doublings = match own {
            Some(own) => (own.times.log2().round() as u32).clamp(1, DOUBLINGS),
            None => DOUBLINGS,
        };
        let mut faster = system.spec.clone().with_memory(self.memory_of_each(1));
        for _ in 0..doublings {
            let twice = variants(&faster, &test, base);
            let twice = twice.into_iter().find(|one| one.id == SystemChange::Hop(hop.id));
            let Some(twice) = twice else { return Ok(None) };
            faster = twice.spec;
        }
        let key = StreamKey { seed, test: place as u32, repeat: 0, thread: 0 };
        let go_on = &mut |_: &Progress| !self.cancel.is_cancelled();
        let sample = lanemark_sim::run_length_watched(&faster, &test, key, self.length, go_on);
        let sample = match sample {
            Ok(sample) => sample,
            Err(_) if self.cancel.is_cancelled() => return Ok(None),
            Err(error) => return Err(to_error(&error)),
        };
        let rate = sample.throughput().0 as f64;
        let share = 1.0 - base.throughput().0 as f64 / rate;
        let drives = match hop.id {
            HopId::Link(depth) if usize::from(depth) < trunk => system.spec.drives() as u32,
            _ => 1,
        };
        let loss = LinkLoss {
            link: hop.name.clone(),
            drives,
            times: 1 << doublings,
            own: own.map(|own| own.name.clone()),
            share,
            bytes_per_second: rate,
            iops: sample.iops(),
        };
        Ok((share.is_finite() && share >= 0.005).then_some(loss))
    }
}
