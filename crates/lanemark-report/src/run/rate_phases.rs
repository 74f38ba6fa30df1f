//! The phases of a test as a sentence, such as `1,600 MB/s for 88.0 s (141 GB), until the pseudo-SLC cache is full;
//! then 150 MB/s`.

use lanemark_schema::result::{RatePhase, Sample, TestResult};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::Test;

use crate::text::number::{fixed, grouped, rate_text, significant};
use crate::text::time::time_text;

/// Block size from which rates are stated in MB/s.
const LARGE: f64 = 65_536.0;

/// Returns the phases of a simulated test as a sentence; `None` if there is only one phase.
pub(crate) fn sentence(result: &TestResult) -> Option<String> {
    phases_sentence(&result.test, result.samples.first()?)
}

/// Returns the phases of a sample of `test` as a sentence; `None` if there is only one phase.
pub fn phases_sentence(test: &Test, sample: &Sample) -> Option<String> {
    Some(format!("{}: {}.", test.name, phases_text(test, sample)?))
}

/// Returns the phases of a sample of `test`, each with its rate, its length and, for large requests, the amount of
/// data. Returns `None` if there is only one phase.
pub(crate) fn phases_text(test: &Test, sample: &Sample) -> Option<String> {
    let (last, earlier) = sample.phases.split_last()?;
    if earlier.is_empty() {
        return None;
    }
    let block = test.block_mean();
    let rate = |phase: &RatePhase| match block {
        block if block < LARGE => format!("{} IOPS", grouped(&fixed(phase.iops, 0))),
        block => rate_text(phase.iops * block),
    };
    let mut from = Duration::ZERO;
    let parts: Vec<String> = earlier
        .iter()
        .map(|phase| {
            let length = Duration::from_picoseconds(
                phase.until.picoseconds().saturating_sub(from.picoseconds()),
            );
            from = phase.until;
            let end = phase.ended_by.map(|reserve| format!(", until {}", reserve.end()));
            let gigabytes = phase.iops * block * length.as_seconds() / 1e9;
            let amount = match block {
                block if block < LARGE => String::new(),
                _ => format!(" ({} GB)", grouped(&significant(gigabytes))),
            };
            format!("{} for {}{amount}{}", rate(phase), time_text(length), end.unwrap_or_default())
        })
        .collect();
    Some(format!("{}; then {}", parts.join("; then "), rate(last)))
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::Reserve;
    use lanemark_schema::workload::Workload;

    use super::*;

    fn result(block: &str, phases: Vec<RatePhase>) -> TestResult {
        let test =
            Test::random_write(block).span("1 GiB").duration("60 s").build().unwrap().into_test();
        let workload = Workload::of_test("w", "W", test.clone());
        TestResult::new(&workload, &test, vec![Sample { phases, ..Sample::empty() }])
    }

    fn phase(seconds: u64, iops: f64, ended_by: Option<Reserve>) -> RatePhase {
        RatePhase { until: Duration::from_seconds(seconds), iops, ended_by }
    }

    #[test]
    fn each_phase_has_its_rate_its_length_and_the_reason_of_its_end() {
        let phases = vec![
            phase(2, 250_000.4, Some(Reserve::WriteBuffer)),
            phase(12, 172_414.0, Some(Reserve::PseudoSlc)),
            phase(60, 38_826.2, None),
        ];
        let text = sentence(&result("4 KiB", phases.clone())).unwrap();
        let (_, text) = text.split_once(": ").unwrap();
        assert_eq!(
            text,
            "250,000 IOPS for 2.00 s, until the write buffer is full; then 172,414 IOPS for 10.0 s, until the \
             pseudo-SLC cache is full; then 38,826 IOPS."
        );
        let text = sentence(&result("128 KiB", phases)).unwrap();
        let cache = "; then 22,599 MB/s for 10.0 s (226 GB), until the pseudo-SLC cache is full; then 5,089 MB/s.";
        assert!(text.ends_with(cache), "{text}");
    }

    #[test]
    fn a_test_of_one_phase_lacks_a_sentence() {
        assert_eq!(sentence(&result("4 KiB", Vec::new())), None);
        assert_eq!(sentence(&result("4 KiB", vec![phase(60, 1.0, None)])), None);
    }
}
