//! Lost data, wrong data and failed requests of a run, which are its answer before any rate.

use lanemark_schema::result::{Sample, TestResult};
use lanemark_schema::units::Bytes;

use super::faults::range;
use crate::text::number::percent;

/// Minimum share of failed requests that is the answer of a test.
const FAILED_MIN: f64 = 0.01;
/// Maximum number of tests that the answer names.
const TESTS_MAX: usize = 3;

/// Returns the sentences about losses and failures, or about power cuts that lost nothing; `None` if there is nothing
/// to report.
pub(crate) fn sentences(subject: &str, tests: &[TestResult]) -> Option<String> {
    let mut all: Vec<String> = Vec::new();
    let mut more = 0;
    for test in tests {
        let Some(what) = wrong_outcome(test) else { continue };
        if all.len() == TESTS_MAX {
            more += 1;
            continue;
        }
        all.push(format!("{subject} {what} in {}.", test.test.name));
    }
    if more > 0 {
        all.push(format!("So did {more} more tests."));
    }
    (!all.is_empty()).then(|| all.join(" "))
}

/// Returns a phrase such as `lost 288 KiB of acknowledged data and failed 92.9% of the requests`; `None` if nothing
/// went wrong, and no power was cut.
pub fn wrong_outcome(test: &TestResult) -> Option<String> {
    let faults = || test.samples.iter().flat_map(|sample| &sample.faults);
    let lost_in =
        |sample: &Sample| sample.faults.iter().fold(Bytes::ZERO, |sum, fault| sum + fault.lost);
    let lost_bytes = test.samples.iter().map(lost_in);
    let lost = lost_bytes.clone().max().unwrap_or(Bytes::ZERO);
    let silent: u64 = faults().map(|fault| fault.silent).sum();
    let mut parts = Vec::new();
    if lost > Bytes::ZERO {
        parts.push(format!("lost {} of acknowledged data", range(lost_bytes)));
    }
    if silent > 0 {
        let requests = if silent == 1 { "request" } else { "requests" };
        parts.push(format!("answered {silent} {requests} with wrong or lost data"));
    }
    if let Some(share) = failed_share(test).filter(|share| *share >= FAILED_MIN) {
        parts.push(format!("failed {} of the requests", percent(share)));
    }
    let is_cut = faults().any(|fault| fault.fault.starts_with("power-cut"));
    if is_cut && lost == Bytes::ZERO && silent == 0 {
        parts.push("lost no acknowledged data in the power cut".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// Returns the share of requests that failed, if there were requests.
pub(crate) fn failed_share(test: &TestResult) -> Option<f64> {
    let request_count = |sample: &Sample| {
        let trims = sample.trims.iter().filter(|_| !sample.only_trims());
        let others = sample.flushes.iter().chain(trims);
        sample.operations() + others.map(|direction| direction.latency.count()).sum::<u64>()
    };
    let done: u64 = test.samples.iter().map(request_count).sum();
    let failed = test.errors().total() as f64;
    (failed + done as f64 > 0.0).then(|| failed / (failed + done as f64))
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::FaultImpact;
    use lanemark_schema::units::Duration;

    use super::*;
    use crate::run_tests::{reads, test};

    fn with(lost: Bytes, silent: u64, failed: u32) -> TestResult {
        let mut sample = reads(10, 4, &[80; 93]);
        (0..failed).for_each(|_| sample.errors.record_errno(5));
        sample.faults.push(FaultImpact {
            fault: "power-cut boot=5s at=2s".to_owned(),
            at: Duration::from_seconds(2),
            failed: u64::from(failed),
            held: 0,
            silent,
            lost,
            recovery: None,
        });
        test("t", vec![sample])
    }

    #[test]
    fn lost_data_and_failures_come_first_and_a_harmless_cut_says_so() {
        let says = |test: TestResult| sentences("It", &[test]);
        let lost = says(with(Bytes::kibi(288), 0, 7)).unwrap();
        assert_eq!(
            lost,
            "It lost 288 KiB of acknowledged data and failed 7.0% of the requests in t."
        );
        let harmless = says(with(Bytes::ZERO, 0, 0)).unwrap();
        let mut twice = with(Bytes::kibi(288), 0, 0);
        twice.samples.extend(with(Bytes::kibi(96), 0, 0).samples);
        let twice = says(twice).unwrap();
        assert!(twice.starts_with("It lost 96 KiB to 288 KiB of acknowledged data"), "{twice}");
        assert_eq!(harmless, "It lost no acknowledged data in the power cut in t.");
        let silent = says(with(Bytes::ZERO, 2, 0)).unwrap();
        assert_eq!(silent, "It answered 2 requests with wrong or lost data in t.");
        assert_eq!(says(test("t", vec![reads(10, 4, &[80; 93])])), None);
        // A few failures are reported below the table.
        let mut few = reads(10, 4, &vec![80; 10_000]);
        few.errors.record_errno(5);
        assert_eq!(says(test("t", vec![few])), None);
        let many: Vec<TestResult> = (0..5).map(|_| with(Bytes::kibi(4), 0, 0)).collect();
        assert!(sentences("It", &many).unwrap().ends_with("So did 2 more tests."));
    }
}
