//! The width of a drawn link: proportional to its rate, within bounds that keep it visible and distinguishable.
//!
//! The slots of a platform may have thirty times the rate of the path. The path therefore determines the scale: no link
//! of the path exceeds the maximum width, and its slowest link is about three units wide if the fastest link of the
//! path permits this. Any other link is drawn no wider than the maximum width; the legend states the rate above which
//! this applies.

use lanemark_schema::result::TopologyNode;
use lanemark_schema::units::BytesPerSecond;

use crate::charts::axis::step;

/// The minimum line width, for slow links and for links of unknown rate.
pub(super) const THIN: f64 = 1.5;
/// The maximum line width.
pub(super) const WIDE: f64 = 22.0;
/// Width of the path's slowest link.
const PATH_SLOWEST: f64 = 3.0;
/// The line widths of the samples in the legend.
pub(super) const SAMPLES: [f64; 3] = [2.0, 5.0, 10.0];

/// MB/s per unit of width: 1, 2 or 5 times a power of ten, so that the legend shows round numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RateScale {
    megabytes: f64,
}

impl RateScale {
    /// Returns the scale for a tree; `None` if no link has a known rate.
    pub(super) fn for_tree(root: &TopologyNode) -> Option<Self> {
        let mut rates = Vec::new();
        collect(root, &mut rates);
        let greatest = |rates: &[f64]| rates.iter().copied().fold(0.0_f64, f64::max);
        let all: Vec<f64> = rates.iter().map(|(rate, _)| *rate).collect();
        let path: Vec<f64> =
            rates.iter().filter(|(_, on_path)| *on_path).map(|(rate, _)| *rate).collect();
        let fastest = greatest(&all);
        let slowest = path.iter().copied().fold(f64::INFINITY, f64::min);
        let wanted = (slowest / PATH_SLOWEST).max(greatest(&path) / WIDE).min(fastest / WIDE);
        (fastest > 0.0).then(|| Self { megabytes: step(wanted) })
    }

    /// Returns the drawn width of a link with this rate.
    pub(super) fn width(self, rate: BytesPerSecond) -> f64 {
        (rate.as_megabytes() / self.megabytes).clamp(THIN, WIDE)
    }

    /// Returns the rate in MB/s that a line of `width` represents.
    pub(super) fn megabytes(self, width: f64) -> f64 {
        width * self.megabytes
    }
}

/// Collects the known rates of all links below `node`, in MB/s, each with whether the path includes the link.
fn collect(node: &TopologyNode, rates: &mut Vec<(f64, bool)>) {
    for child in &node.children {
        let rate = child.link_rate.map(BytesPerSecond::as_megabytes);
        rates.extend(rate.filter(|rate| *rate > 0.0).map(|rate| (rate, child.on_path)));
        collect(child, rates);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(links: &[(u64, bool)]) -> Option<RateScale> {
        let node = |link: Option<(u64, bool)>, children: Vec<TopologyNode>| TopologyNode {
            label: String::new(),
            link: None,
            link_rate: link.map(|(megabytes, _)| BytesPerSecond(megabytes * 1_000_000)),
            on_path: link.is_none_or(|(_, on_path)| on_path),
            children,
            ..TopologyNode::default()
        };
        RateScale::for_tree(&node(
            None,
            links.iter().map(|link| node(Some(*link), Vec::new())).collect(),
        ))
    }

    #[test]
    fn the_path_sets_the_scale_without_cutting_its_links() {
        let cases: [(&[(u64, bool)], f64); 5] = [
            // A width of 3 for 500 MB/s means 167 MB/s per unit, which is rounded up.
            (&[(8000, false), (2000, true), (500, true)], 200.0),
            // At that scale the fastest link of the path would exceed the maximum width: 15754 / 22 = 716.
            (&[(15754, true), (600, true)], 1000.0),
            // No link is faster than the path, so the path's fastest link has the maximum width.
            (&[(600, true)], 50.0),
            // The rate of the path is not known, so the fastest of all links has the maximum width.
            (&[(8000, false)], 500.0),
            (&[(0, true), (100, true)], 5.0),
        ];
        for (links, megabytes) in cases {
            assert_eq!(scale(links), Some(RateScale { megabytes }), "{links:?}");
        }
        assert_eq!(scale(&[]), None);
        assert_eq!(scale(&[(0, true)]), None);
    }

    #[test]
    fn widths_are_in_proportion_between_the_bounds() {
        let scale = RateScale { megabytes: 200.0 };
        let width = |megabytes: u64| scale.width(BytesPerSecond(megabytes * 1_000_000));
        assert_eq!(width(1000), 5.0);
        assert_eq!(width(2000), 2.0 * width(1000));
        assert_eq!((width(0), width(299)), (THIN, THIN));
        assert_eq!((width(4400), width(16_000)), (WIDE, WIDE));
    }
}
