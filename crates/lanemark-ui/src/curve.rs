//! Throughput and latency of a system as a function of queue depth. The first repeat of the page's test is simulated at
//! each power of two, one depth per step. A slow system's test is longer, so that it completes many times the
//! outstanding requests: the mean latency of fewer requests omits those that are still outstanding.

use lanemark_lab::{Lab, LabError};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::{Test, Workload};

use crate::figures::CurvePoint;
use crate::request::{AssembledSystem, is_quick};
use crate::simulation::{StepReport, sample};

const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// Maximum amount of data in the outstanding requests of a point. With more data outstanding, a brief test would count
/// too few completions.
const IN_FLIGHT_MAX: f64 = 64.0 * 1_048_576.0;

/// Minimum number of completed requests of a point, as a multiple of its outstanding requests.
const COMPLETED_MIN: f64 = 20.0;
/// Maximum length of a test that is longer than the page's test.
const LONGER_MAX: Duration = Duration::from_seconds(120);

#[derive(Debug)]
pub struct CurveJob {
    assembled: AssembledSystem,
    workload: Workload,
    next: usize,
    /// Requests a second at the first depth; 0 before it is known.
    first_iops: f64,
}

impl CurveJob {
    /// Creates the curve of the test of `workload` on a system.
    pub fn new(assembled: AssembledSystem, workload: Workload) -> Self {
        Self { assembled, workload, next: 0, first_iops: 0.0 }
    }

    /// Simulates the next depth. A depth whose requests or data exceed the limits of a page ends the curve. Returns
    /// `None` if the curve was cancelled.
    ///
    /// # Errors
    /// Returns an error if the test does not fit the system, or takes too long.
    pub fn step(&mut self, lab: &Lab) -> Result<Option<StepReport>, LabError> {
        let test = DEPTHS.get(self.next).map(|depth| {
            let test = self.workload.tests[0].clone();
            test.with(|requests| requests.queue_depth = *depth)
        });
        let Some(mut test) = test.filter(is_drawn) else {
            return Ok(Some(StepReport::done(None)));
        };
        if self.first_iops > 0.0 {
            let seconds = COMPLETED_MIN * test.population() as f64 / self.first_iops;
            let longer = Duration::from_picoseconds((seconds * 1e12) as u64).min(LONGER_MAX);
            test.duration = test.duration.map(|duration| duration.max(longer));
        }
        let workload = Workload { tests: vec![test], ..self.workload.clone() };
        let Some(sample) = sample(&self.assembled, &workload, 0, 0, lab)? else {
            return Ok(None);
        };
        let point = CurvePoint::from_sample(&workload.tests[0], &sample);
        if self.next == 0 {
            self.first_iops = point.iops;
        }
        self.next += 1;
        Ok(Some(StepReport::Point { point }))
    }
}

/// Returns whether a curve has a point for a test. This is the case if a page can simulate the test, and the test is
/// the first one or is brief.
fn is_drawn(test: &Test) -> bool {
    let data = test.population() as f64 * test.block_mean();
    is_quick(test) && (test.issue_depth() == DEPTHS[0] || data <= IN_FLIGHT_MAX)
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::Bytes;

    use super::*;

    #[test]
    fn a_curve_ends_at_much_data_but_has_its_first_point() {
        let drawn = |mebi: u64, depth: u32, threads: u32| {
            let mut test =
                Test::of_blocks(Bytes::mebi(mebi)).with(|requests| requests.queue_depth = depth);
            test.threads = threads;
            is_drawn(&test)
        };
        assert!(drawn(1, 64, 1) && drawn(1, 32, 2) && !drawn(1, 65, 1) && !drawn(1, 64, 2));
        assert!(drawn(1, 1, 100), "the first depth, with 100 MiB outstanding");
        assert!(!drawn(1, 1, 1_025), "no page simulates 1,025 MiB");
    }
}
