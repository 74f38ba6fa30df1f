//! Tests of the rows and notes in the table of a run.

use lanemark_schema::result::{
    ConvergedTest, CpuUse, MainUncertainty, PercentileInterval, Sample, ScaledRun,
};
use lanemark_schema::units::Duration;

use super::*;
use crate::run_tests::{interval, reads, requests, run, test};

fn texts(cells: Vec<Cell>) -> Vec<String> {
    cells.into_iter().map(|cell| cell.text).collect()
}

fn converged(simulated: u64, requests: u64, half_width: f64) -> Sample {
    let converged = Some(ConvergedTest {
        simulated,
        requests,
        elapsed: Duration::from_seconds(3),
        steady_from: Duration::from_seconds(1),
        half_width,
    });
    Sample { converged, ..reads(10, 4, &[50; 3]) }
}

#[test]
fn convergence_is_reported_with_the_widest_interval_and_all_requests() {
    let plain = || test("plain", vec![reads(10, 4, &[50])]);
    let text_of = |tests| super::convergence_note(&run(tests));
    assert_eq!(text_of(vec![plain()]), None);
    let whole = vec![converged(700, 700, 0.004)];
    assert_eq!(
        text_of(vec![test("a", whole.clone())]).unwrap(),
        "Rates are within ±0.4% at 95% confidence."
    );
    assert_eq!(
        text_of(vec![test("a", whole), plain()]).unwrap(),
        "Rates are within ±0.4% at 95% confidence in 1 of 2 tests."
    );
    let two = vec![
        test("a", vec![converged(21_400, 1_300_000, 0.013)]),
        test("b", vec![converged(600, 100_400, 0.021)]),
    ];
    assert_eq!(
        text_of(two).unwrap(),
        "Converged after 22,000 of 1.40 million requests: rates within ±2.1% at 95% confidence."
    );
    for (half_width, shown) in [(0.0004, "±0.1%"), (0.0006, "±0.1%"), (0.0016, "±0.2%")] {
        let text = text_of(vec![test("a", vec![converged(5, 9, half_width)])]).unwrap();
        assert!(text.contains(shown), "{text}");
    }
    let counts = [999_499, 999_999, 1_000_000, 23_456_000, 499, 1_499].map(rounded);
    assert_eq!(counts, ["999,000", "1,000,000", "1.00 million", "23.5 million", "499", "1,000"]);
}

#[test]
fn a_shortened_run_states_its_part_and_its_drive() {
    let similar = |factor: u32, drive_factor: u32, count: usize| {
        let similar = Some(ScaledRun {
            factor,
            drive_factor,
            requests: 1_000 * count as u64,
            elapsed: Duration::from_seconds(9),
        });
        Sample { similar, ..reads(10, 4, &vec![50; count]) }
    };
    let text_of = |samples| scaled_run_note(&run(vec![test("a", samples)]));
    assert_eq!(text_of(vec![reads(10, 4, &[50])]), None);
    let end = "of 5,000,000 requests. --full simulates all of them.";
    for (samples, start) in [
        (vec![similar(8, 1, 5_000)], "Simulated 1/8 of the time on the drive: 5,000"),
        (
            vec![similar(8, 8, 2_000), similar(8, 8, 3_000)],
            "Simulated 1/8 of the time on a drive with the same fraction of the capacity: 5,000",
        ),
        (
            vec![similar(8, 8, 2_000), similar(4, 4, 3_000)],
            "Simulated a part of the time on smaller drives: 5,000",
        ),
    ] {
        let text = text_of(samples).unwrap();
        assert_eq!(text, format!("{start} {}", end.replace("5,000,000", "5.00 million")));
    }
    // The note about convergence has the requests of a test that converged.
    let also_converged = |drive_factor| {
        let sample = similar(168, drive_factor, 5_000);
        text_of(vec![Sample { similar: sample.similar, ..converged(21_000, 4_000_000, 0.002) }])
    };
    assert_eq!(
        also_converged(168).unwrap(),
        "Simulated on a drive with 1/168 of the capacity. --full simulates all requests."
    );
    assert_eq!(also_converged(1), None);
}

#[test]
fn processor_time_is_the_mean_of_the_repeats_that_know_it() {
    let cpu = |user, system| {
        let cpu = CpuUse { user_ns_per_request: user, system_ns_per_request: system };
        Sample { cpu: Some(cpu), ..reads(10, 4, &[50]) }
    };
    let of = |samples| cpu_ns(&test("a", samples));
    assert_eq!(of(vec![cpu(300.0, 500.0), reads(10, 4, &[50]), cpu(700.0, 900.0)]), Some(1_200.0));
    assert_eq!(of(vec![reads(10, 4, &[50])]), None);
}

#[test]
fn intervals_name_the_value_that_widens_most() {
    let interval = |low_ratio, parameter: &str, share| {
        let widest = Some(MainUncertainty { parameter: parameter.to_owned(), share });
        PredictionInterval { widest, ..interval(low_ratio, 1.5) }
    };
    let all = [interval(0.2, "x", 0.5), interval(0.1, "y", 0.3), interval(0.1, "y", 0.4)];
    let end = "y contributes most to the interval width in 2 tests.";
    assert!(widest_of(all.iter()).unwrap().ends_with(end));
    let end = "x contributes most to the interval width in one test.";
    assert!(widest_of(all[..2].iter()).unwrap().ends_with(end));
    assert_eq!(widest_of([].iter()), None);
    assert!(wide_of(all[..2].iter()).unwrap().starts_with("One interval, marked !,"));
    assert!(wide_of(all.iter()).unwrap().starts_with("2 intervals, marked !,"));
    assert_eq!(wide_of(all[..1].iter()), None);
}

#[test]
fn a_row_has_the_figures_of_its_test() {
    let mut latencies = [200; 100];
    (latencies[0], latencies[1]) = (190, 210);
    let sample = Sample {
        cpu: Some(CpuUse { user_ns_per_request: 1_500.0, system_ns_per_request: 2_500.0 }),
        ..reads(10, 64, &latencies)
    };
    let mut result = test("a", vec![sample]);
    result.samples[0].errors.record_errno(5);
    let row = |result: &TestResult, latencies| {
        texts(figure_cells(result, LatencyUnit::Microseconds, latencies))
    };
    // The test has 100 requests of 64 KiB in 10 ms.
    let wanted = [
        "655", ABSENT, ABSENT, "10,000", "200", "200", "200", ABSENT, ABSENT, ABSENT, "1", "4.00",
        ABSENT,
    ];
    assert_eq!(row(&result, true), wanted);
    let wanted = [
        "655", ABSENT, ABSENT, "10,000", ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, "1",
        "4.00", ABSENT,
    ];
    assert_eq!(row(&result, false), wanted);
    // The p99.9 is not known for 100 requests, so its interval is not shown either.
    let percentiles = [99.0, 99.9].map(|percentile| PercentileInterval {
        percentile,
        low_ratio: 0.8,
        high_ratio: 1.5,
    });
    let percentiles = percentiles.to_vec();
    result.interval = Some(PredictionInterval { percentiles, ..interval(0.5, 1.2) });
    let shown = row(&result, true);
    assert_eq!(
        (shown[1].as_str(), &shown[6..10]),
        ("328–786", &["200", "160–300", ABSENT, ABSENT].map(str::to_owned)[..])
    );
    assert_eq!(row(&result, false)[6..10], [ABSENT; 4]);
    // A rate below 100 requests a second is shown with decimals.
    let slow = test("b", vec![reads(1_000, 4, &[50; 99]), reads(1_000, 4, &[50; 97])]);
    assert_eq!(row(&slow, true)[2..4], ["±1.0%", "98.0"]);
    let none = test("c", vec![Sample { elapsed: Duration::from_seconds(1), ..Sample::empty() }]);
    assert_eq!(row(&none, true)[4], ABSENT);
    let repeats = vec![converged(3, 9, 0.1), converged(3, 9, 0.1)];
    assert_eq!(row(&test("d", repeats), true)[2], ABSENT);
}

#[test]
fn a_test_that_reads_and_writes_has_rows_for_both() {
    let mixed = Sample { writes: Some(requests(4, &[90; 3])), ..reads(10, 4, &[50; 7]) };
    let one = run(vec![test("mixed", vec![mixed]), test("plain", vec![reads(10, 4, &[50; 2])])]);
    let names = |runs: &[(&str, &RunResult)]| -> Vec<String> {
        let rows = figures(runs).rows.into_iter();
        let cell = |row: crate::text::table::Row, at: usize| {
            if row.cells[at].repeated { "\"".to_owned() } else { row.cells[at].text.clone() }
        };
        rows.map(|row| cell(row, 0)).collect()
    };
    assert_eq!(names(&[("A", &one)]), ["mixed", "mixed, reads", "mixed, writes", "plain"]);
    let of_both = names(&[("A", &one), ("B", &one)]);
    let each = ["mixed, reads", "mixed, writes"];
    let wanted = [&["mixed"][..], &each, &["\""], &each, &["plain", "\""]].concat();
    assert_eq!(of_both, wanted);
    let labels: Vec<String> = figures(&[("A", &one), ("B", &one)])
        .rows
        .iter()
        .map(|row| row.cells[1].text.clone())
        .collect();
    assert_eq!(labels, ["A", "A", "A", "B", "B", "B", "A", "B"]);
}
