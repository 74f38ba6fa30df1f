//! Tests of the sentences and tables about tests over time.

use lanemark_schema::result::DriveUse;
use lanemark_schema::result::steady::{Round, UnsteadyReason};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::RoundSettings;

use super::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_seconds(seconds)
}

/// Returns a series with ten seconds per point and these write rates in requests a second.
fn series(rates: &[u64]) -> Series {
    let point = |&rate: &u64| SeriesPoint {
        writes: 10 * rate,
        written_bytes: Bytes(10 * rate * 4_096),
        latency_mean_ns: 2e6,
        latency_max_ns: 3_000_000 + rate,
        ..SeriesPoint::default()
    };
    Series { interval: seconds(10), last: seconds(10), points: rates.iter().map(point).collect() }
}

fn steady(
    outcome: RoundsOutcome,
    tracked: TrackedFigure,
    slope: f64,
    with_window: bool,
) -> SteadyState {
    let round = Round {
        iops: 1_000.0,
        throughput_bytes_per_second: 4e6,
        latency_mean_ns: 5e5,
        drive: None,
    };
    let window =
        SteadyWindow { first_round: 3, mean: 1_000.0, range: 0.034, slope, slope_range: 0.012 };
    SteadyState {
        rule: RoundSettings { length: seconds(60), tracked },
        rounds: vec![round; 7],
        outcome,
        window: with_window.then_some(window),
    }
}

#[test]
fn rounds_are_reported_with_their_window() {
    let text_of = |outcome, tracked, slope, with_window| {
        let steady = Some(steady(outcome, tracked, slope, with_window));
        sentences(&Sample { steady, ..Sample::empty() }).join(" ")
    };
    let reached = RoundsOutcome::Reached { round: 7 };
    let not = RoundsOutcome::NotReached { reason: UnsteadyReason::Slope };
    let length = seconds(60);
    let end = "span 3.4% of their mean, and their best-fit line";
    assert_eq!(
        text_of(reached, TrackedFigure::Iops, -5.0, true),
        format!(
            "Steady by SNIA's rule after round 7, with rounds of {length}: in rounds 3 to 7 the requests a second {end} \
             falls by 1.2%. The reported figures are from these rounds."
        )
    );
    assert_eq!(
        text_of(not, TrackedFigure::Throughput, 5.0, true),
        format!(
            "Not steady after 7 rounds of {length} by SNIA's rule, which allows a span of 20% and a slope of 10%: in rounds 3 to 7 the \
             bytes a second {end} rises by 1.2%. The reported figures are from these rounds."
        )
    );
    let text = text_of(reached, TrackedFigure::Latency, 0.0, true);
    assert!(text.contains(&format!("the mean latencies {end} rises by")), "{text}");
    let text = text_of(reached, TrackedFigure::Iops, 0.0, false);
    assert!(text.contains(&format!("with rounds of {length}. The reported")), "{text}");
}

#[test]
fn a_series_is_reported_with_its_steady_time() {
    let of = |rates: &[u64]| Sample { series: Some(series(rates)), ..Sample::empty() };
    let level = of(&[1_234; 10]);
    let text = sentences(&level).join(" ");
    let wanted = "By SNIA's rule in rounds of 10.0 s the requests a second are steady from the start on, 1,234 in \
                  the last five.";
    assert_eq!(text, wanted);
    let mut late = vec![9_000, 8_000, 7_000, 5_000];
    late.extend([1_234; 8]);
    let text = sentences(&of(&late)).join(" ");
    assert!(text.ends_with(" s on, 1,234 in the last five."), "{text}");
    let rising: Vec<u64> = (1..=10).map(|at| 1_000 * at).collect();
    assert!(sentences(&of(&rising)).join(" ").ends_with("are not steady at the end."));
    assert!(sentences(&of(&[1_234])).is_empty());
}

#[test]
fn collection_that_moved_nothing_is_reported_if_data_was_written() {
    let with = |moved: &[u64], writes: u64| {
        let mut series = series(&[1_000; 10]);
        for (point, &moved) in series.points.iter_mut().zip(moved) {
            point.writes = point.writes.min(writes);
            point.reads = 10_000 - point.writes;
            point.drive = Some(DriveUse {
                host_written: Bytes(1_000),
                moved: Bytes(moved),
                ..DriveUse::default()
            });
        }
        sentences(&Sample { series: Some(series), ..Sample::empty() }).join(" ")
    };
    let text = with(&[0; 10], 10_000);
    assert!(text.starts_with("Collection moved nothing. By"), "{text}");
    let text = with(&[0, 0, 0, 500, 500, 500, 500, 500, 500, 500], 10_000);
    assert!(text.starts_with("Garbage collection moved nothing in the first 30.0 s. By"), "{text}");
    assert!(text.ends_with(", at a write amplification of 1.50."), "{text}");
    assert!(with(&[500; 10], 10_000).starts_with("By"));
    assert!(with(&[0; 10], 0).starts_with("By"), "nothing was written");
}

#[test]
fn tables_have_rates_of_each_part_of_the_time() {
    let texts = |table: &Table| -> Vec<Vec<String>> {
        let cells = |row: &crate::text::table::Row| {
            row.cells.iter().map(|cell| cell.text.clone()).collect()
        };
        table.rows.iter().map(cells).collect()
    };
    let sample = Sample { series: Some(series(&[1_000, 2_000, 500, 250])), ..Sample::empty() };
    let wanted = [
        ["0", "1,000", "4.10", "2.00", "3.00"],
        ["10.0", "2,000", "8.19", "2.00", "3.00"],
        ["20.0", "500", "2.05", "2.00", "3.00"],
        ["30.0", "250", "1.02", "2.00", "3.00"],
    ];
    assert_eq!(texts(&table(&sample).unwrap()), wanted);
    assert!(table(&Sample { series: Some(series(&[5])), ..Sample::empty() }).is_none());
}
