//! On a grid of any size, a fit simulates a bounded number of requests, and reports if it was cut short.

mod laboratory;

use laboratory::{Bounds, bounded, library, noisy, run, short_workload, system};
use lanemark_predict::Fit;
use lanemark_schema::result::{Determination, FitWarning, RunResult};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::Test;

fn port() -> (String, String) {
    ("workstation-x570".to_owned(), "m2".to_owned())
}

/// Returns a grid of random requests that varies the share of reads, the length, the depth and the threads, simulated
/// briefly.
fn grid(depths: u32) -> RunResult {
    let library = library();
    let mut workload = short_workload(&library, 5);
    workload.repeats = 1;
    workload.tests.clear();
    for reads in [1.0, 0.7, 0.0] {
        for block in [4, 16, 128] {
            for depth in 0..depths {
                for threads in [1, 4] {
                    let mut test = Test::of_blocks(Bytes::kibi(block));
                    let requests = test.requests_mut().unwrap();
                    requests.read_share = Ratio::new(reads).unwrap();
                    requests.queue_depth = 1 << depth;
                    test.threads = threads;
                    test.span = Bytes::mebi(1024);
                    test.duration = Some(Duration::from_microseconds(3_000));
                    test.name = format!("{reads} {block} KiB Q{}T{threads}", 1 << depth);
                    workload.tests.push(test);
                }
            }
        }
    }
    noisy(&run(&system(&library, "generic-nvme", &port(), &[]).unwrap(), &workload, 7), 0.02, 5)
}

fn fitted(run: &RunResult, bounds: Bounds) -> Fit {
    let like = Some("generic-nvme");
    bounded(&library(), std::slice::from_ref(run), &port(), like, &[], bounds).unwrap()
}

fn has_ended(fit: &Fit) -> bool {
    fit.drive.warnings.iter().any(|one| matches!(one, FitWarning::Ended { .. }))
}

#[test]
fn a_large_grid_ends_within_its_budget_and_reports_omissions() {
    let run = grid(6);
    let all = run.tests.len() as u32;
    assert_eq!(all, 108);
    let work_max = 400_000;
    let fit = fitted(&run, Bounds { requests: 40, work_max });
    let used = fit.drive.warnings.iter().find_map(|warning| match warning {
        FitWarning::Thinned { used, all } => Some((*used, *all)),
        _ => None,
    });
    let (used, of) = used.expect("a warning about omitted tests");
    assert!(of == all && used < all / 2, "{used} of {of}");
    assert!(has_ended(&fit), "{:?}", fit.drive.warnings);
    assert!(fit.work > work_max / 2, "{}", fit.work);
    // Each stage takes its smallest step even after the maximum is reached, like a fit with a maximum of zero.
    let smallest = fitted(&run, Bounds { requests: 40, work_max: 0 }).work;
    assert!(fit.work <= work_max + smallest, "{} of {smallest} for {used} tests", fit.work);
    // The single reads are among the tests that are used, and values that were not examined have a wide range.
    assert!(fit.drive.figures.iter().any(|figure| figure.test == "1 4 KiB Q1T1"));
    for one in &fit.drive.parameters {
        if matches!(one.standing, Determination::Open { .. }) && one.value.is_some() {
            assert!(one.range_80.is_some(), "{one:?}");
        }
    }
}

#[test]
fn a_fit_with_enough_work_is_not_cut() {
    let mut run = grid(1);
    run.tests.retain(|test| test.test.name.contains("4 KiB"));
    run.workload.tests.retain(|test| test.name.contains("4 KiB"));
    let fit = fitted(&run, Bounds { requests: 60, work_max: lanemark_predict::WORK_MAX });
    assert!(!has_ended(&fit), "{:?}", fit.drive.warnings);
    assert!(fit.work < lanemark_predict::WORK_MAX / 2, "{}", fit.work);
    let is_thinned = |one: &FitWarning| matches!(one, FitWarning::Thinned { .. });
    assert!(!fit.drive.warnings.iter().any(is_thinned));
}
