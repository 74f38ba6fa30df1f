//! Throughput over time as one line of bars.

use lanemark_schema::result::Series;

/// The bars, from the lowest to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws throughput over time as up to `width` bars, from zero to the maximum.
pub(crate) fn sparkline(series: &Series, width: usize) -> Option<String> {
    let condensed = series.condensed(width.max(1));
    let rates: Vec<f64> =
        (0..condensed.points.len()).map(|index| condensed.throughput(index)).collect();
    let greatest = rates.iter().copied().fold(0.0, f64::max);
    (greatest > 0.0 && rates.len() > 1).then(|| {
        let bar = |rate: &f64| BARS[((rate / greatest * 8.0).ceil() as usize).clamp(1, 8) - 1];
        rates.iter().map(bar).collect()
    })
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::series::SeriesPoint;
    use lanemark_schema::units::{Bytes, Duration};

    use super::*;

    /// Returns a series with these write rates in blocks of 4 KiB a second.
    fn series(rates: &[u64]) -> Series {
        let point = |&rate: &u64| SeriesPoint {
            writes: rate,
            written_bytes: Bytes(rate * 4_096),
            ..SeriesPoint::default()
        };
        let second = Duration::from_seconds(1);
        Series { interval: second, last: second, points: rates.iter().map(point).collect() }
    }

    #[test]
    fn a_sparkline_has_eight_heights_from_zero_to_the_maximum() {
        let drawn = |rates: &[u64]| sparkline(&series(rates), 40);
        assert_eq!(drawn(&[800, 100, 101, 0, 450, 700]).as_deref(), Some("█▁▂▁▅▇"));
        assert_eq!((drawn(&[0, 0]), drawn(&[5])), (None, None));
        let many: Vec<u64> = vec![7; 100];
        assert!(sparkline(&series(&many), 9).unwrap().chars().count() <= 9);
    }
}
