//! The factors for unmodelled effects, by kind of prediction.
//!
//! The factors of rated drives come from the training set of the corpus. They are the ratios of measured to predicted
//! figures, beyond the spread that the draws of uncertain values explain. Each pair of factors is the shortest range
//! that excludes a tenth of the drives (for flushes, a fifth), and is not narrower than the range from an earlier and
//! smaller corpus. The upper factor is 1.15 or more (`docs/model/intervals.md`).

use lanemark_schema::result::{HopId, HopUse, Sample};
use lanemark_schema::workload::Test;
use lanemark_sim::spec::{MediaSpec, SystemSpec, WriteCacheMode};
use lanemark_study::System;

/// The factors for unmodelled effects that contain 80% of the predictions of a kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct UnmodelledFactors {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The share of the time from which a busy link is treated as the limit.
const FULL: f64 = 0.95;
/// If a prediction is below this share of a short test's rate, it describes a later state of the drive.
const LATER: f64 = 0.7;

/// The factor of a drive whose file was written for that drive.
pub(crate) const OWN_LEFT_OUT: f64 = 1.15;

const OWN: UnmodelledFactors = UnmodelledFactors::on_either_side(OWN_LEFT_OUT);
/// Factors of rated drives whose ratings fill their link. In measurements, some of these drives do not fill it.
const RATED_LINK: UnmodelledFactors = UnmodelledFactors { low: 0.56, high: 1.18 };
/// Factors of hard disks.
const DISK: UnmodelledFactors = UnmodelledFactors { low: 0.43, high: 1.35 };
/// Factors of one request that waits for a flush, if a power cut would destroy the data in the drive's buffer. The
/// range of the flush's own time contains the spread of such drives. Two measurements of one drive differ by this
/// factor.
const FLUSH: UnmodelledFactors = UnmodelledFactors::on_either_side(1.5);
/// Factors of one request that waits for a flush of a drive with a protected buffer.
const PROTECTED_FLUSH: UnmodelledFactors = UnmodelledFactors { low: 0.37, high: 1.97 };
/// Factors of several outstanding requests that wait for flushes.
const FLUSHES: UnmodelledFactors = UnmodelledFactors { low: 0.05, high: 1.90 };
/// Factors of tests that mix reads and writes.
const MIX: UnmodelledFactors = UnmodelledFactors { low: 0.37, high: 1.57 };
/// Factors of tests that only read.
const READS: UnmodelledFactors = UnmodelledFactors { low: 0.47, high: 1.97 };
/// Factors of tests that only write.
const WRITES: UnmodelledFactors = UnmodelledFactors { low: 0.57, high: 1.46 };
/// Factors of tests that write for longer than a cache or buffer lasts.
const SUSTAINED: UnmodelledFactors = UnmodelledFactors { low: 0.35, high: 2.00 };

impl UnmodelledFactors {
    /// Returns one factor for both sides.
    pub(super) const fn on_either_side(factor: f64) -> Self {
        Self { low: 1.0 / factor, high: factor }
    }

    /// Returns the factors for a latency, given the factors for a rate.
    pub(super) fn of_latency(self) -> Self {
        Self { low: 1.0 / self.high, high: 1.0 / self.low }
    }

    /// Returns the factors for a prediction of `rate` requests a second, given a short version of its test.
    pub(super) fn for_prediction(system: &System, test: &Test, sample: &Sample, rate: f64) -> Self {
        let hops = sample.path.as_ref().map_or(&[][..], |path| &path.hops);
        let is_link = |id: &HopId| matches!(id, HopId::Link(_) | HopId::SecondLink(_));
        let is_full = hops.iter().any(|hop| hop.utilisation >= FULL && is_link(&hop.id));
        let spec = &system.spec;
        let is_disk = matches!(spec.first().drive.media, MediaSpec::Disk(_));
        let share = test.ceiling_read_share().get();
        // A drive with this much spare capacity fills the link even if it is slower than its rating.
        let fills_link = is_full && of_drive(hops) < RATED_LINK.low;
        if !system.is_rated || fills_link {
            OWN
        } else if is_full {
            RATED_LINK
        } else if is_disk {
            DISK
        } else if share < 1.0 && has_flushes(test) {
            Self::for_flushes(spec, test)
        } else if share > 0.0 && share < 1.0 {
            MIX
        } else if share >= 1.0 {
            READS
        } else if has_cache(spec) && rate < LATER * sample.iops() {
            SUSTAINED
        } else {
            WRITES
        }
    }

    /// Returns the factors of a test that waits for flushes.
    fn for_flushes(spec: &SystemSpec, test: &Test) -> Self {
        let outstanding = test.issue_depth().saturating_mul(test.threads);
        match spec.first().drive.write_cache {
            _ if outstanding > 1 => FLUSHES,
            WriteCacheMode::Volatile => FLUSH,
            WriteCacheMode::Protected | WriteCacheMode::Off => PROTECTED_FLUSH,
        }
    }
}

/// Returns the factors for unmodelled effects on the write amplification of a steady load. The rate of steady writes is
/// inversely proportional to their amplification, so the factors of writes bound the effects.
pub fn amplification_factors(system: &System) -> [f64; 2] {
    let UnmodelledFactors { low, high } = if system.is_rated { WRITES } else { OWN }.of_latency();
    [low, high]
}

/// Returns the share of the time for which the busiest part of a drive is busy.
fn of_drive(hops: &[HopUse]) -> f64 {
    let is_part = |id: &HopId| {
        matches!(id, HopId::FrontEnd | HopId::DataPath | HopId::Channels | HopId::Media)
    };
    hops.iter().filter(|hop| is_part(&hop.id)).map(|hop| hop.utilisation).fold(0.0, f64::max)
}

/// Returns whether a test waits for flushes.
fn has_flushes(test: &Test) -> bool {
    test.requests().is_some_and(|requests| requests.mix.flush_every.is_some())
}

/// Returns whether a drive has a pseudo-SLC cache, which can become full.
fn has_cache(spec: &SystemSpec) -> bool {
    match &spec.first().drive.media {
        MediaSpec::Flash(flash) => flash.translation.pseudo_slc.is_some(),
        MediaSpec::Disk(_) | MediaSpec::Cloud(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::{DirectionResult, LatencyHistogram, PathUse};
    use lanemark_schema::units::{Bytes, Duration, Ratio};
    use lanemark_study::Library;

    use super::*;

    const PLAIN: &str = "samsung-850-pro-1tb@workstation-z170:sata";
    const CACHED: &str = "intel-660p-1tb@workstation-z170:m2";
    const ARM: &str = "seagate-barracuda-1tb@workstation-z170:sata";

    /// Returns a sample of 1,000 requests in a second with one link and one part of a drive.
    fn sample(link: f64, drive: f64) -> Sample {
        let hop = |id, utilisation| HopUse {
            id,
            name: String::new(),
            utilisation,
            ceiling: None,
            wait_ns: 0.0,
            service_ns: 0.0,
        };
        let latency = LatencyHistogram::from_bins([(1000, 1000)], 1000.0, 1000, 1000);
        let hops = vec![hop(HopId::Link(0), link), hop(HopId::Media, drive)];
        Sample {
            elapsed: Duration::from_seconds(1),
            writes: Some(DirectionResult { bytes: Bytes::mebi(4), latency }),
            path: Some(PathUse::new(hops, 1)),
            ..Sample::empty()
        }
    }

    fn test(read_share: f64, flush_every: Option<u32>) -> Test {
        let mut test = Test::of_blocks(Bytes::kibi(4));
        let requests = test.requests_mut().unwrap();
        requests.read_share = Ratio::new(read_share).unwrap();
        requests.mix.flush_every = flush_every;
        test
    }

    #[test]
    fn each_kind_of_prediction_has_its_factors() {
        let library = Library::built_in();
        let system = |name: &str| crate::assemble(&library, name, &[]).unwrap();
        let rated = |name: &str| System { is_rated: true, ..system(name) };
        let plain = rated(PLAIN);
        let cached = rated(CACHED);
        let arm = rated(ARM);
        let idle = (0.2, 0.5);
        // Each row contains the share of reads, the interval of flushes, the use of link and drive, the rate, and the
        // factors.
        let table = [
            (&plain, 1.0, None, (FULL, 0.5), 1000.0, OWN),
            (&plain, 1.0, None, (FULL, 0.6), 1000.0, RATED_LINK),
            (&arm, 0.5, Some(1), (1.0, 0.9), 1000.0, RATED_LINK),
            (&arm, 0.5, Some(1), idle, 1000.0, DISK),
            (&plain, 0.0, Some(1), idle, 1000.0, FLUSH),
            (&plain, 0.9, Some(1), idle, 1000.0, FLUSH),
            (&plain, 1.0, Some(1), idle, 1000.0, READS),
            (&plain, 0.01, None, idle, 1000.0, MIX),
            (&plain, 0.99, None, idle, 100.0, MIX),
            (&plain, 1.0, None, idle, 100.0, READS),
            (&plain, 0.0, None, idle, 100.0, WRITES),
            (&cached, 0.0, None, idle, 1000.0 * LATER, WRITES),
            (&cached, 0.0, None, idle, 999.0 * LATER, SUSTAINED),
        ];
        for (row, (system, reads, flushes, (link, drive), rate, wanted)) in
            table.into_iter().enumerate()
        {
            let given = UnmodelledFactors::for_prediction(
                system,
                &test(reads, flushes),
                &sample(link, drive),
                rate,
            );
            assert_eq!(given, wanted, "row {row}");
        }
        let protected = rated("kingston-dc600m-960gb@workstation-z170:sata");
        let flushed = test(0.0, Some(1));
        let mut together = flushed.clone();
        together.threads = 2;
        for (system, test, wanted) in [
            (&protected, &flushed, PROTECTED_FLUSH),
            (&protected, &together, FLUSHES),
            (&plain, &together, FLUSHES),
        ] {
            let given = UnmodelledFactors::for_prediction(system, test, &sample(0.2, 0.5), 1000.0);
            assert_eq!(given, wanted);
        }
        let own = system(PLAIN);
        for reads in [0.0, 0.5, 1.0] {
            assert_eq!(
                UnmodelledFactors::for_prediction(
                    &own,
                    &test(reads, None),
                    &sample(0.2, 0.5),
                    100.0
                ),
                OWN
            );
        }
    }
}
