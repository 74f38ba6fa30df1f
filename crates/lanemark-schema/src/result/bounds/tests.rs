//! Tests that impossible values are rejected with their path.

use super::*;
use crate::result::PercentileInterval;

#[test]
fn an_impossible_end_of_an_interval_is_refused_with_its_path() {
    let tail = PercentileInterval { percentile: 99.9, low_ratio: 0.5, high_ratio: 3.0 };
    let good = PredictionInterval {
        low_ratio: 0.9,
        high_ratio: 1.1,
        widest: None,
        percentiles: vec![PercentileInterval { percentile: 99.0, ..tail.clone() }, tail],
    };
    let at = ValuePath::from_root("interval");
    assert!(prediction_interval(&at, &good).is_ok());
    type Spoil = fn(&mut PredictionInterval, f64);
    let spoils: [(&str, Spoil, f64); 5] = [
        ("interval.low_ratio", |all, value| all.low_ratio = value, 1.1),
        ("interval.high_ratio", |all, value| all.high_ratio = value, 0.9),
        (
            "interval.percentiles[0].percentile",
            |all, value| all.percentiles[0].percentile = value,
            101.0,
        ),
        (
            "interval.percentiles[1].low_ratio",
            |all, value| all.percentiles[1].low_ratio = value,
            1.1,
        ),
        (
            "interval.percentiles[1].high_ratio",
            |all, value| all.percentiles[1].high_ratio = value,
            0.9,
        ),
    ];
    for (path, spoil, wrong) in spoils {
        for value in [wrong, -1.0, 1e300, f64::NAN, f64::INFINITY] {
            let mut spoilt = good.clone();
            spoil(&mut spoilt, value);
            let message = prediction_interval(&at, &spoilt).unwrap_err().to_string();
            assert!(message.starts_with(path), "{path} = {value}: {message}");
        }
    }
}

#[test]
fn an_impossible_draw_is_refused_with_its_path() {
    let at = ValuePath::from_root("drawn[3]");
    for good in [None, Some(0.0), Some(-2.5), Some(LOG_MAX)] {
        assert!(drawn(&at, &good).is_ok(), "{good:?}");
    }
    for wrong in [-100.1, 1e300, f64::NAN, f64::INFINITY] {
        let message = drawn(&at, &Some(wrong)).unwrap_err().to_string();
        assert!(message.starts_with("drawn[3]"), "{wrong}: {message}");
    }
}

#[test]
fn an_impossible_value_of_a_queue_probe_is_refused_with_its_path() {
    let used = ProcessorUse { cores: 2, user: 0.5, ..ProcessorUse::default() };
    let good = QueueDepthProbe {
        queue_depth: 1,
        iops: 1e4,
        iops_doubled: 2e4,
        processors: Some(used),
        core_wait: Some(0.1),
    };
    let at = ValuePath::from_root("probe");
    assert!(queue_probe(&at, &good).is_ok());
    type Spoil = fn(&mut QueueDepthProbe, f64);
    let spoils: [(&str, Spoil); 6] = [
        ("probe.iops", |probe, value| probe.iops = value),
        ("probe.iops_doubled", |probe, value| probe.iops_doubled = value),
        ("probe.core_wait", |probe, value| probe.core_wait = Some(value)),
        ("probe.processors.stolen", |probe, value| {
            probe.processors.as_mut().unwrap().stolen = value;
        }),
        ("probe.processors.own", |probe, value| {
            probe.processors.as_mut().unwrap().own = Some(value);
        }),
        ("probe.processors.wakes", |probe, value| {
            probe.processors.as_mut().unwrap().wakes = Some(value);
        }),
    ];
    for (path, spoil) in spoils {
        for value in [-1.0, 1e300, f64::NAN, f64::INFINITY] {
            let mut spoilt = good;
            spoil(&mut spoilt, value);
            let message = queue_probe(&at, &spoilt).unwrap_err().to_string();
            assert!(message.contains(path), "{path} = {value}: {message}");
        }
    }
}

#[test]
fn a_series_may_have_the_maximum_number_of_points_and_not_one_more() {
    let at = ValuePath::from_root("series");
    let interval = Duration::from_microseconds(1);
    let series = |points: usize| Series {
        interval,
        last: interval,
        points: vec![Default::default(); points],
    };
    for points in [0, 1, POINTS_MAX - 1, POINTS_MAX] {
        assert!(check_series(&at, &series(points)).is_ok(), "{points}");
    }
    let message = check_series(&at, &series(POINTS_MAX + 1)).unwrap_err().to_string();
    assert!(message.starts_with("series.points"), "{message}");
}
