//! Tests of the sentences about tests that were only partly simulated.

use lanemark_report::{Style, run_table};
use lanemark_schema::result::{ConvergedTest, RunResult, ScaledRun};
use lanemark_schema::units::Duration;

use crate::fixture;

/// Returns the overview of a run whose tests were shortened by these factors, without line breaks.
fn overview(factors: &[(u32, u32)], converged: bool) -> String {
    let mut run: RunResult = fixture::simulated();
    for (test, &(factor, drive_factor)) in run.tests.iter_mut().zip(factors) {
        let elapsed = Duration::from_seconds(86_400);
        for sample in &mut test.samples {
            let requests = sample.operations() * u64::from(factor);
            sample.similar = Some(ScaledRun { factor, drive_factor, requests, elapsed });
            sample.converged = converged.then_some(ConvergedTest {
                simulated: 21_000,
                requests: 4_000_000,
                elapsed,
                steady_from: Duration::ZERO,
                half_width: 0.002,
            });
        }
    }
    let text = run_table(&run, &Style { width: 100, colour: false });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_simulated_part_is_stated() {
    let count = fixture::simulated().tests.len();
    let alike = vec![(24, 24); count];
    let shown = overview(&alike, false);
    let sentence = "Simulated 1/24 of the time on a drive with the same fraction of the capacity: ";
    assert!(shown.contains(sentence), "{shown}");
    assert!(shown.contains(" requests. --full simulates all of them."), "{shown}");
    let reads = overview(&vec![(413, 1); count], false);
    assert!(reads.contains("Simulated 1/413 of the time on the drive: "), "{reads}");
    let mut several = alike.clone();
    several[0] = (413, 1);
    let shown = overview(&several, false);
    assert!(shown.contains("Simulated a part of the time on smaller drives: "), "{shown}");
}

#[test]
fn a_shortened_test_that_converged_has_its_requests_in_one_sentence() {
    let count = fixture::simulated().tests.len();
    let shown = overview(&vec![(168, 168); count], true);
    assert!(shown.contains("Converged after "), "{shown}");
    let sentence =
        "Simulated on a drive with 1/168 of the capacity. --full simulates all requests.";
    assert!(shown.contains(sentence), "{shown}");
    assert!(!shown.contains("of the time"), "{shown}");
    let shown = overview(&vec![(413, 1); count], true);
    assert!(!shown.contains("Simulated on the drive"), "{shown}");
}
