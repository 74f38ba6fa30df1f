//! Tests of studies: figures at both bounds of their intervals, errors of values and of bounds, and counts over few
//! figures.

use super::*;
use crate::result::{DirectionResult, LatencyHistogram, MeasuredTarget, PredictionInterval};
use crate::units::{Bytes, Duration};
use crate::workload::{Test, Workload};

/// Returns a test of 1,000 4 KiB reads in one second, 100 µs each, whose interval is half to one and a half times its
/// rate.
fn result() -> (Workload, TestResult) {
    let test = Test::of_blocks(Bytes::kibi(4));
    let workload = Workload::of_test("study", "study", test.clone());
    let latency = LatencyHistogram::from_bins([(100_000, 1000)], 100_000.0, 100_000, 100_000);
    let sample = Sample {
        elapsed: Duration::from_seconds(1),
        reads: Some(DirectionResult { bytes: Bytes(4096 * 1000), latency }),
        ..Sample::empty()
    };
    let mut result = TestResult::new(&workload, &test, vec![sample]);
    result.interval = Some(PredictionInterval {
        low_ratio: 0.5,
        high_ratio: 1.5,
        widest: None,
        percentiles: Vec::new(),
    });
    (workload, result)
}

fn figure(
    metric: FigureMetric,
    published: f64,
    bound: BoundKind,
    role: FigureRole,
) -> PublishedFigure {
    PublishedFigure {
        id: "F1".to_owned(),
        system: "one".to_owned(),
        test: result().1.test.name,
        metric,
        published,
        bound,
        over: None,
        place: "Table 1".to_owned(),
        role,
    }
}

fn outcome(figures: Vec<PublishedFigure>) -> StudyOutcome {
    let (workload, result) = result();
    let check = |figure: PublishedFigure| {
        let simulated = figure.metric.value_in(&result);
        FigureCheck::new(figure, simulated)
    };
    let figures = figures.into_iter().map(check).collect();
    let run = RunResult {
        schema_version: SCHEMA_VERSION,
        provenance: Provenance::default(),
        inspection: None,
        power_cuts: Vec::new(),
        target: Target::Measured(MeasuredTarget {
            served: None,
            host: None,
            device: Some(false),
            path: "/tmp/file".to_owned(),
            size_bytes: Some(Bytes::mebi(64)),
            file_system: None,
            block_device: None,
            engine: "io_uring".to_owned(),
            direct: Some(true),
        }),
        workload,
        tests: vec![result],
        warnings: Vec::new(),
        complete: true,
    };
    StudyOutcome {
        schema_version: SCHEMA_VERSION,
        provenance: Provenance::default(),
        id: "study".to_owned(),
        title: String::new(),
        question: String::new(),
        document: Publication { file: String::new(), citation: String::new() },
        systems: vec![StudySystem { name: "one".to_owned(), label: String::new(), run }],
        figures,
        answer: None,
        comparison: None,
        not_modelled: Vec::new(),
        notes: Vec::new(),
    }
}

#[test]
fn rates_and_times_have_opposite_ends() {
    let (_, result) = result();
    let near = |found: Option<(f64, f64)>, low: f64, high: f64| {
        let found = found.unwrap();
        assert!((found.0 - low).abs() < 1e-9 && (found.1 - high).abs() < 1e-9, "{found:?}");
    };
    near(FigureMetric::Iops.interval(&result), 500.0, 1500.0);
    near(FigureMetric::Throughput.interval(&result), 2.048, 6.144);
    near(FigureMetric::Latency.interval(&result), 100.0 / 1.5, 200.0);
    for metric in [
        FigureMetric::Power,
        FigureMetric::ProcessorShare,
        FigureMetric::Gain,
        FigureMetric::ReadLatency,
    ] {
        assert_eq!(metric.interval(&result), None, "{metric:?}");
    }
    let without = TestResult { interval: None, ..result };
    assert_eq!(FigureMetric::Iops.interval(&without), None);
}

#[test]
fn figures_at_the_ends_of_their_interval_lie_in_it() {
    use BoundKind::{AtLeast, AtMost, Exactly};
    // The model's value is 1,000, with an interval from 500 to 1,500.
    for (published, bound, inside) in [
        (499.0, Exactly, false),
        (500.0, Exactly, true),
        (1500.0, Exactly, true),
        (1501.0, Exactly, false),
        (1500.0, AtLeast, true),
        (1501.0, AtLeast, false),
        (1.0, AtLeast, true),
        (500.0, AtMost, true),
        (499.0, AtMost, false),
        (9000.0, AtMost, true),
    ] {
        let one =
            outcome(vec![figure(FigureMetric::Iops, published, bound, FigureRole::Predicted)]);
        let wanted = (1, usize::from(inside));
        assert_eq!(one.within(FigureRole::Predicted), wanted, "{published} {bound:?}");
        assert_eq!(one.within(FigureRole::Calibrated), (0, 0));
    }
    // Metrics without an interval are not counted.
    let none =
        outcome(vec![figure(FigureMetric::ReadLatency, 1.0, Exactly, FigureRole::Predicted)]);
    assert_eq!(none.within(FigureRole::Predicted), (0, 0));
}

#[test]
fn errors_count_on_the_side_that_a_bound_forbids() {
    use BoundKind::{AtLeast, AtMost, Exactly};
    for (published, bound, error) in [
        (800.0, Exactly, 0.25),
        (1250.0, Exactly, -0.2),
        (800.0, AtLeast, 0.0),
        (1250.0, AtLeast, -0.2),
        (800.0, AtMost, 0.25),
        (1250.0, AtMost, 0.0),
        (1000.0, AtMost, 0.0),
    ] {
        let one =
            outcome(vec![figure(FigureMetric::Iops, published, bound, FigureRole::Predicted)]);
        assert!((one.figures[0].error - error).abs() < 1e-12, "{published} {bound:?}");
    }
    // The simulated gain is 50% and the published gain 25%, so the ratio is 1.5 / 1.25.
    let gain = FigureCheck::new(
        figure(FigureMetric::Gain, 25.0, Exactly, FigureRole::Predicted),
        Statistic { value: 50.0, ..Statistic::default() },
    );
    assert!((gain.error - 0.2).abs() < 1e-12);
}

#[test]
fn the_width_of_intervals_is_their_median() {
    let figures = |metrics: &[FigureMetric]| {
        let one =
            |metric: &FigureMetric| figure(*metric, 1.0, BoundKind::Exactly, FigureRole::Predicted);
        outcome(metrics.iter().map(one).collect())
    };
    assert_eq!(figures(&[]).interval_width(FigureRole::Predicted), None);
    let width = figures(&[FigureMetric::Iops]).interval_width(FigureRole::Predicted).unwrap();
    assert!((width - 3.0).abs() < 1e-9);
    // For two systems with widths of 3 and 5, the median is 4.
    let mut two = figures(&[FigureMetric::Iops, FigureMetric::Iops]);
    let mut other = two.systems[0].clone();
    other.name = "two".to_owned();
    other.run.tests[0].interval = Some(PredictionInterval {
        low_ratio: 0.5,
        high_ratio: 2.5,
        widest: None,
        percentiles: Vec::new(),
    });
    two.systems.push(other);
    two.figures[1].figure.system = "two".to_owned();
    assert!((two.interval_width(FigureRole::Predicted).unwrap() - 4.0).abs() < 1e-9);
}

#[test]
fn a_figure_is_found_by_its_system_and_its_test() {
    let named = |system: &str, test: &str| PublishedFigure {
        system: system.to_owned(),
        test: test.to_owned(),
        ..figure(FigureMetric::Iops, 1000.0, BoundKind::Exactly, FigureRole::Predicted)
    };
    let one = outcome(vec![named("one", "reads"), named("two", "reads"), named("one", "writes")]);
    let found = |system, test| one.figure(system, test).map(|check| &check.figure);
    assert_eq!(found("one", "writes"), Some(&one.figures[2].figure));
    assert_eq!(found("two", "reads"), Some(&one.figures[1].figure));
    assert_eq!(found("two", "writes"), None);
}

#[test]
fn a_rate_belongs_to_one_test_of_one_system() {
    let of = |metric| PublishedFigure {
        system: "one".to_owned(),
        test: "reads".to_owned(),
        ..figure(metric, 1000.0, BoundKind::Exactly, FigureRole::Predicted)
    };
    for (_, metric) in FigureMetric::NAMES {
        let is_rate = matches!(metric, FigureMetric::Throughput | FigureMetric::Transactions);
        assert_eq!(of(metric).is_rate_of("one", "reads"), is_rate, "{metric:?}");
        assert!(!of(metric).is_rate_of("two", "reads"), "{metric:?}");
        assert!(!of(metric).is_rate_of("one", "writes"), "{metric:?}");
        assert!(!of(metric).is_rate_of("two", "writes"), "{metric:?}");
    }
}
