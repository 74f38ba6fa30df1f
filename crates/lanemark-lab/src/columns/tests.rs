//! The tables of a result.

use lanemark_schema::result::{DirectionResult, Sample};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Test, Workload};

use super::*;

#[test]
fn latencies_are_in_microseconds_with_the_requests_of_each_direction() {
    let direction = |us: &[u64]| {
        let mut one = DirectionResult::new();
        us.iter().for_each(|&us| one.record(Bytes::kibi(4), Duration::from_microseconds(us)));
        Some(one)
    };
    let sample = Sample {
        elapsed: Duration::from_seconds(1),
        reads: direction(&[1, 1, 1_500]),
        writes: direction(&[1, 12_345]),
        ..Sample::empty()
    };
    let test = Test::of_blocks(Bytes::kibi(4));
    let workload = Workload::of_test("w", "W", test.clone());
    let tests = vec![TestResult::new(&workload, &test, vec![sample])];
    let columns = latency_rows(&tests);
    let column = |name: &str| {
        let found = columns.iter().find(|column| column.name == name).unwrap();
        found.values.clone()
    };
    let ColumnValues::Numbers(times) = column("latency_us") else { panic!("numbers") };
    let times: Vec<f64> = times.into_iter().flatten().collect();
    assert_eq!(times.len(), 3);
    for (found, wanted) in times.iter().zip([1.0, 1_500.0, 12_345.0]) {
        assert!((found / wanted - 1.0).abs() < 2e-3, "{found}, expected {wanted}");
    }
    assert_eq!(column("requests"), ColumnValues::Whole(vec![3, 1, 1]));
    assert_eq!(column("reads"), ColumnValues::Whole(vec![2, 1, 0]));
    assert_eq!(column("writes"), ColumnValues::Whole(vec![1, 0, 1]));
}

#[test]
fn the_last_interval_of_a_series_has_its_own_length() {
    let point = |reads: u64, latency_ns: u64| SeriesPoint {
        reads,
        read_bytes: Bytes::kibi(4) * reads,
        latency_mean_ns: latency_ns as f64,
        latency_max_ns: 2 * latency_ns,
        ..SeriesPoint::default()
    };
    let series = Series {
        interval: Duration::from_seconds(2),
        last: Duration::from_seconds(1),
        points: vec![point(10, 1_500), point(20, 500)],
    };
    let repeat = |series| Sample { series, ..Sample::empty() };
    let test = Test::of_blocks(Bytes::kibi(4));
    let workload = Workload::of_test("w", "W", test.clone());
    let samples = vec![repeat(None), repeat(Some(series))];
    let columns = series_columns(&[TestResult::new(&workload, &test, samples)]);
    let column = |name: &str| {
        let found = columns.iter().find(|column| column.name == name).unwrap();
        found.values.clone()
    };
    let numbers = |values: [f64; 2]| ColumnValues::Numbers(values.map(Some).to_vec());
    assert_eq!(column("repeat"), ColumnValues::Whole(vec![2, 2]));
    assert_eq!(column("start_seconds"), numbers([0.0, 2.0]));
    assert_eq!(column("length_seconds"), numbers([2.0, 1.0]));
    assert_eq!(column("iops"), numbers([5.0, 20.0]));
    assert_eq!(column("bytes_per_second"), numbers([5.0 * 4096.0, 20.0 * 4096.0]));
    assert_eq!(column("latency_mean_us"), numbers([1.5, 0.5]));
    assert_eq!(column("latency_max_us"), numbers([3.0, 1.0]));
    assert_eq!(column("flash_written_bytes"), ColumnValues::Numbers(vec![None, None]));
}

#[test]
fn an_axis_has_a_unit_if_all_its_values_have_it() {
    let kind = |values: &[&str]| {
        AxisKind::from_values(&values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>())
    };
    let axes: [(&[&str], &str, Option<f64>); 8] = [
        (&["1", "2.5"], "axis", None),
        (&["4 KiB", "1 MiB"], "axis_bytes", Some(4096.0)),
        (&["20 us", "1 ms"], "axis_us", Some(20.0)),
        (&["550 MB/s", "2 GB/s"], "axis_bytes_per_second", Some(550e6)),
        (&["6 Gb/s", "12 Gb/s"], "axis_bits_per_second", Some(6e9)),
        (&["10%", "90%"], "axis_ratio", Some(0.1)),
        (&["500 mW", "2 W"], "axis_watts", Some(0.5)),
        (&["4 KiB", "1 ms"], "axis", None),
    ];
    for (values, name, first) in axes {
        let kind = kind(values);
        assert_eq!(kind.column_name("axis"), name, "{values:?}");
        if let AxisKind::Quantity(unit) = kind {
            assert_eq!(unit.number(values[0]), first, "{values:?}");
        }
        assert_eq!(matches!(kind, AxisKind::Quantity(_)), first.is_some(), "{values:?}");
    }
    assert!(matches!(kind(&["1", "2"]), AxisKind::Number));
    assert!(matches!(kind(&["1", "two"]), AxisKind::Text));
}
