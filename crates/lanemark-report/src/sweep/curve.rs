//! Curves of a sweep. Figures are drawn over the first numeric axis, with one curve per value of the next axis, and one
//! panel per combination of the remaining values.
//!
//! *The knee* of a curve over load (queue depth, threads, rate) is the point of maximum *power*, which is throughput
//! divided by mean latency (L. Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in
//! computer communications", ICC 1979, 43.1). Below the knee, more load raises throughput by a larger factor than
//! latency. Above the knee, it raises throughput by the smaller factor. In a closed system whose throughput grows in
//! proportion to the requests up to N and is constant beyond, the knee is exactly at N. A knee at the end of a curve is
//! not reported: the true knee may be beyond it.

use lanemark_schema::result::{Sweep, SweepFigures, SweepPoint};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};

/// The axes along which load grows.
const LOAD: [&str; 3] = ["queue_depth", "threads", "rate"];
/// Minimum request size for which throughput is shown in bytes rather than requests.
const LARGE: f64 = 65_536.0;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curves {
    /// The horizontal axis.
    pub(crate) x: String,
    /// The axis that distinguishes the curves.
    pub(crate) by: Option<String>,
    /// Whether the horizontal axis is logarithmic.
    pub(crate) logarithmic: bool,
    /// Whether throughput is stated in bytes; otherwise it is stated in requests.
    pub(crate) data: bool,
    pub(crate) panels: Vec<CurvePanel>,
}

/// The curves that have the same values on all other axes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CurvePanel {
    /// Values on the other axes, such as `block 4 KiB`; empty if there is only one panel.
    pub(crate) name: String,
    pub(crate) curves: Vec<Curve>,
}

/// One curve, with the points that have figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    /// The curve's value on the axis that distinguishes curves.
    pub(crate) name: String,
    pub(crate) points: Vec<CurvePoint>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CurvePoint {
    pub(crate) x: f64,
    /// The value as written in the sweep.
    pub(crate) text: String,
    pub(crate) figures: SweepFigures,
}

/// The point at which a curve bends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Knee {
    At(usize),
    /// The bend is beyond the last point, because the curve still grows there.
    Beyond,
    /// The bend is at or before the first point.
    Before,
}

impl Curves {
    /// Builds the curves of a sweep.
    pub(crate) fn from_sweep(sweep: &Sweep) -> Self {
        let texts = |axis: usize| sweep.points.iter().map(move |point| point.values[axis].as_str());
        let numeric = |&axis: &usize| texts(axis).all(|text| number(text).is_some());
        let x = (0..sweep.axes.len()).find(numeric).unwrap_or(0);
        let is_numeric = numeric(&x);
        let mut distinct: Vec<&str> = Vec::new();
        for text in texts(x) {
            if !distinct.contains(&text) {
                distinct.push(text);
            }
        }
        let x_of = |text: &str| {
            if is_numeric {
                number(text).unwrap_or(0.0)
            } else {
                distinct.iter().position(|known| *known == text).unwrap_or(0) as f64
            }
        };
        let all: Vec<f64> = distinct.iter().map(|text| x_of(text)).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        let by = (0..sweep.axes.len()).find(|&axis| axis != x);
        let mut panels: Vec<CurvePanel> = Vec::new();
        for point in &sweep.points {
            let Ok(figures) = &point.outcome else { continue };
            let others = (0..sweep.axes.len()).filter(|&axis| axis != x && Some(axis) != by);
            let named = others.map(|axis| format!("{} {}", sweep.axes[axis], point.values[axis]));
            let name = named.collect::<Vec<_>>().join(", ");
            let panel = find_or_insert(
                &mut panels,
                |panel| panel.name == name,
                || CurvePanel { name: name.clone(), curves: Vec::new() },
            );
            let name = by.map_or("", |by| &point.values[by]);
            let curve = find_or_insert(
                &mut panel.curves,
                |curve| curve.name == name,
                || Curve { name: name.to_owned(), points: Vec::new() },
            );
            let text = point.values[x].clone();
            curve.points.push(CurvePoint { x: x_of(&text), text, figures: figures.clone() });
        }
        for curve in panels.iter_mut().flat_map(|panel| &mut panel.curves) {
            curve.points.sort_by(|one, other| one.x.total_cmp(&other.x));
        }
        Self {
            x: sweep.axes[x].clone(),
            by: by.map(|by| sweep.axes[by].clone()),
            logarithmic: is_numeric && least > 0.0 && most / least >= 8.0,
            data: told_by_data(&sweep.points),
            panels,
        }
    }

    /// Returns whether load grows from left to right, so that curves have knees.
    pub(crate) fn over_load(&self) -> bool {
        LOAD.contains(&self.x.as_str())
    }
}

/// Returns whether requests are large, or of several sizes, so that request rates cannot be compared.
fn told_by_data(points: &[SweepPoint]) -> bool {
    let figures = points.iter().filter_map(|point| point.outcome.as_ref().ok());
    let blocks = figures
        .filter(|figure| figure.iops > 0.0)
        .map(|figure| figure.bytes_per_second / figure.iops);
    let (least, most) = blocks
        .fold((f64::INFINITY, 0.0_f64), |(least, most), block| (least.min(block), most.max(block)));
    most > least * 1.01 || least >= LARGE
}

impl Curve {
    /// Returns the knee of the curve; `None` if the curve has fewer than three points.
    pub(crate) fn knee(&self) -> Option<Knee> {
        let power =
            |point: &CurvePoint| point.figures.bytes_per_second / point.figures.latency_mean_us;
        let powers: Vec<f64> = self.points.iter().map(power).collect();
        if powers.len() < 3 || powers.iter().any(|power| !power.is_finite()) {
            return None;
        }
        // Among points of nearly equal power, the first one is the knee, because more load adds latency but hardly any
        // throughput.
        let most = powers.iter().copied().fold(0.0, f64::max);
        let at = powers.iter().position(|&power| power >= most * 0.999)?;
        Some(match at {
            0 => Knee::Before,
            at if at + 1 == powers.len() => Knee::Beyond,
            at => Knee::At(at),
        })
    }

    /// Returns the maximum throughput of the curve.
    pub(crate) fn most(&self) -> f64 {
        self.points.iter().map(|point| point.figures.bytes_per_second).fold(0.0, f64::max)
    }
}

/// Returns the item that satisfies `is`; adds a new item if no item does.
fn find_or_insert<T>(
    items: &mut Vec<T>,
    is: impl Fn(&T) -> bool,
    make: impl FnOnce() -> T,
) -> &mut T {
    let index = items.iter().position(is).unwrap_or_else(|| {
        items.push(make());
        items.len() - 1
    });
    &mut items[index]
}

/// Returns a value as a number in the base unit of its quantity.
pub(crate) fn number(text: &str) -> Option<f64> {
    let plain = text.strip_suffix('%').or(text.strip_suffix("/s")).unwrap_or(text);
    let plain: Option<f64> = plain.trim().replace('_', "").parse().ok();
    let bytes = || text.parse::<Bytes>().ok().map(|bytes| bytes.get() as f64);
    let time = || text.parse::<Duration>().ok().map(|time| time.as_seconds());
    let rate = || text.parse::<BytesPerSecond>().ok().map(|rate| rate.0 as f64);
    plain.or_else(bytes).or_else(time).or_else(rate).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the curve of a closed system that is saturated at `full` requests: beyond this number, throughput is
    /// constant and latency grows.
    fn saturating(full: f64, depths: &[u32]) -> Curve {
        let points = depths.iter().map(|&depth| {
            let throughput = f64::from(depth).min(full) * 1e6;
            let latency_mean_us = f64::from(depth) / throughput * 1e9;
            let figures = SweepFigures {
                iops: throughput / 4096.0,
                bytes_per_second: throughput,
                latency_mean_us,
                ..Default::default()
            };
            CurvePoint { x: depth.into(), text: depth.to_string(), figures }
        });
        Curve { name: String::new(), points: points.collect() }
    }

    #[test]
    fn a_closed_system_bends_at_its_full_load() {
        let depths = [1, 2, 4, 8, 16, 32];
        assert_eq!(saturating(8.0, &depths).knee(), Some(Knee::At(3)));
        assert_eq!(saturating(2.0, &depths).knee(), Some(Knee::At(1)));
        assert_eq!(saturating(1.0, &depths).knee(), Some(Knee::Before));
        assert_eq!(saturating(1e3, &depths).knee(), Some(Knee::Beyond));
        assert_eq!(saturating(2.0, &depths[..2]).knee(), None);
    }

    #[test]
    fn values_are_numbers_in_one_unit() {
        assert_eq!(number("4 KiB"), Some(4096.0));
        assert_eq!(number("500 us"), Some(0.0005));
        assert_eq!(number("50%"), Some(50.0));
        assert_eq!(number("5000/s"), Some(5000.0));
        assert_eq!(number("samsung"), None);
    }

    fn point(number: u64, values: &[&str]) -> SweepPoint {
        SweepPoint {
            number,
            system: "s".to_owned(),
            test: "t".to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
            outcome: Ok(SweepFigures { iops: 1.0, bytes_per_second: 4096.0, ..Default::default() }),
        }
    }

    #[test]
    fn rates_of_large_or_mixed_requests_are_data_rates() {
        let told = |blocks: &[f64]| {
            let points: Vec<SweepPoint> = blocks
                .iter()
                .map(|block| {
                    let figures = SweepFigures {
                        iops: 1000.0,
                        bytes_per_second: 1000.0 * block,
                        ..Default::default()
                    };
                    SweepPoint { outcome: Ok(figures), ..point(0, &[]) }
                })
                .collect();
            told_by_data(&points)
        };
        for (blocks, wanted) in [
            (&[4096.0][..], false),
            (&[4096.0, 4096.0], false),
            // The requests of a mix have nearly the same size.
            (&[4096.0, 4096.0 * 1.009], false),
            (&[4096.0 * 1.009, 4096.0], false),
            (&[4096.0, 4096.0 * 1.011], true),
            (&[4096.0, 8192.0, 4096.0], true),
            (&[LARGE - 1.0], false),
            (&[LARGE], true),
            (&[4096.0, LARGE], true),
        ] {
            assert_eq!(told(blocks), wanted, "{blocks:?}");
        }
        // A point without requests does not have a request size.
        let none = SweepPoint { outcome: Ok(SweepFigures::default()), ..point(1, &[]) };
        assert!(!told_by_data(&[point(0, &[]), none]));
    }

    #[test]
    fn the_first_axis_of_numbers_is_across_and_the_next_separates_curves() {
        let axes = ["drive", "queue_depth", "block"].map(str::to_owned).to_vec();
        let points = vec![
            point(0, &["a", "16", "4 KiB"]),
            point(1, &["a", "1", "4 KiB"]),
            point(2, &["b", "1", "4 KiB"]),
            point(3, &["b", "1", "8 KiB"]),
        ];
        let curves = Curves::from_sweep(&Sweep { axes, points });
        assert_eq!((curves.x.as_str(), curves.by.as_deref()), ("queue_depth", Some("drive")));
        assert!(curves.logarithmic && curves.over_load());
        assert_eq!(curves.panels.len(), 2);
        let first = &curves.panels[0];
        assert_eq!(first.name, "block 4 KiB");
        assert_eq!(first.curves[0].points.iter().map(|at| at.x).collect::<Vec<_>>(), [1.0, 16.0]);
        assert_eq!(first.curves[1].name, "b");
    }
}
