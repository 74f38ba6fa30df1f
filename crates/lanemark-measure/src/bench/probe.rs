//! Tries a deeper queue after the tests.

use std::sync::atomic::Ordering;

use lanemark_schema::result::{Evidence, ProcessorUse, QueueDepthProbe};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::Test;
use lanemark_schema::workload::bound::QUEUE_DEPTH;

use super::Bench;
use crate::engine::EngineKind;
use crate::error::{MeasureError, RING_ENTRIES_MAX};
use crate::event::{Event, MeasureOutcome};
use crate::plan::{ConcurrentRun, runs_alone};
use crate::settings::doubled_depth;
use crate::target::Target;

/// Time for which a deeper queue is tried.
const PROBE: Duration = Duration::from_microseconds(600_000);
/// Ramp before a deeper queue is measured.
const PROBE_RAMP: Duration = Duration::from_microseconds(100_000);

impl Bench<'_> {
    /// Tries a deeper queue for each closed-loop test that runs without concurrent tests.
    pub(super) fn probe(
        &self,
        target: &Target,
        outcome: &mut MeasureOutcome,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), MeasureError> {
        let deepest = match self.settings.engine {
            EngineKind::IoUring => RING_ENTRIES_MAX.min(QUEUE_DEPTH.max),
            EngineKind::Synchronous | EngineKind::Null => return Ok(()),
        };
        for index in 0..outcome.tests.len() {
            let test = &outcome.tests[index].test;
            let position = self.workload.tests.iter().position(|one| one == test).unwrap_or(index);
            let alone = runs_alone(&self.workload.tests, position);
            let stopped = self.stop.load(Ordering::Relaxed);
            let queue_depth = test.issue_depth();
            let Some(doubled) = doubled_depth(queue_depth, deepest) else { continue };
            if stopped || !alone || !test.is_closed() {
                continue;
            }
            let moment = Test {
                duration: Some(PROBE),
                ramp: PROBE_RAMP,
                volume: None,
                rounds: None,
                interval: None,
                ..test.clone()
            };
            let mut rates = [0.0; 2];
            let mut evidence: Vec<Evidence> = Vec::new();
            for (rate, depth) in rates.iter_mut().zip([queue_depth, doubled]) {
                let tests = [moment.clone().with(|requests| requests.queue_depth = depth)];
                // This number is not the number of a repeat, so the offsets differ from the offsets of every repeat.
                let turn = ConcurrentRun { first: 0, count: 1, repeat: self.workload.repeats };
                let (taken, _) = self.samples(target, &tests, &turn, (index, 0), None, on)?;
                for one in taken {
                    *rate = one.sample.iops();
                    evidence.extend(one.sample.evidence);
                    outcome.failure = outcome.failure.take().or(one.failure);
                }
                if outcome.failure.is_some() {
                    return Ok(());
                }
            }
            let [iops, iops_doubled] = rates;
            let others = |processor_use: &ProcessorUse| processor_use.others().unwrap_or(0.0);
            outcome.tests[index].queue_probe = Some(QueueDepthProbe {
                queue_depth,
                iops,
                iops_doubled,
                processors: evidence
                    .iter()
                    .filter_map(|one| one.processors)
                    .max_by(|a, b| others(a).total_cmp(&others(b))),
                core_wait: evidence
                    .iter()
                    .filter_map(|one| one.threads.as_ref()?.core_wait)
                    .max_by(f64::total_cmp),
            });
        }
        Ok(())
    }
}
