//! The ratio of two predictions, which state the same interval in every view.

use super::change::{RequestGroup, changes, omitted_factor};
use super::{
    DrawnRates, FigureMetric, HopUse, PathSection, PathUse, RatioEstimate, SimulatedTarget, Target,
    TestResult,
};
use crate::workload::Test;

/// Utilisation from which a hop limits a path.
const BUSY: f64 = 0.9;
/// Largest difference between the service times of a hop that both paths share.
const SAME_SERVICE: f64 = 0.01;

/// A predicted rate, and the prediction from which it comes.
#[derive(Clone, Copy, Debug)]
pub struct PredictedRate<'r> {
    /// The modelled system.
    pub target: &'r SimulatedTarget,
    /// The test as it ran.
    pub test: &'r Test,
    /// The rate, in any unit.
    pub rate: f64,
    /// The rates in all draws.
    pub drawn: &'r DrawnRates,
    /// The use of the path, if it is known.
    pub path: Option<&'r PathUse>,
}

impl PredictedRate<'_> {
    /// Returns `other / self`. A value that both systems share does not widen the interval of their ratio. The effects
    /// that the model omits widen it by the learned factor for the kind of change.
    #[must_use]
    pub fn ratio_to(&self, other: &Self) -> RatioEstimate {
        let is_same_system = self.target == other.target && self.test == other.test;
        if is_same_system && self.rate == other.rate && self.drawn == other.drawn {
            return RatioEstimate::Identical;
        }
        let tests = [self.test, other.test];
        let changes = changes([self.target, other.target], tests);
        let share = changed_share([self.path, other.path]);
        let omitted = omitted_factor(&changes, RequestGroup::of(tests), share);
        self.drawn.ratio_to(other.drawn, other.rate / self.rate, omitted)
    }
}

impl FigureMetric {
    /// Returns the ratio of the second of two results to the first, without an interval if there is no
    /// [predicted ratio](Self::predicted_ratio). `None` if a figure is absent or zero.
    #[must_use]
    pub fn simulated_ratio(self, sides: [(&Target, &TestResult); 2]) -> Option<RatioEstimate> {
        let [one, two] = sides.map(|(_, result)| {
            let figure = self.value_in(result);
            Some(figure.value).filter(|value| figure.count > 0 && *value > 0.0)
        });
        let ratio = two? / one?;
        let plain = RatioEstimate::Uncertain { ratio, interval_80: None };
        Some(self.predicted_ratio(sides).unwrap_or(plain))
    }

    /// Returns the ratio of the second of two predictions to the first, if this metric is a rate or its inverse, a mean
    /// latency; `None` if a side is measured or was simulated without intervals.
    #[must_use]
    pub fn predicted_ratio(self, sides: [(&Target, &TestResult); 2]) -> Option<RatioEstimate> {
        let is_inverse = match self {
            Self::Throughput | Self::Iops | Self::Transactions => false,
            Self::Latency => true,
            Self::ProcessorShare
            | Self::Gain
            | Self::Power
            | Self::BatteryLife
            | Self::ReadLatency
            | Self::WriteLatency
            | Self::ProcessorUse => return None,
        };
        let rate = |result: &TestResult| {
            let figure = self.value_in(result);
            let value = Some(figure.value).filter(|value| figure.count > 0 && *value > 0.0)?;
            Some(if is_inverse { 1.0 / value } else { value })
        };
        let [one, two] = sides.map(|(target, result)| {
            let Target::Simulated(target) = target else { return None };
            let drawn = result.drawn.as_ref()?;
            let path = result.samples.first().and_then(|sample| sample.path.as_ref());
            Some(PredictedRate { target, test: &result.test, rate: rate(result)?, drawn, path })
        });
        let ratio = one?.ratio_to(&two?);
        Some(if is_inverse { ratio.inverse() } else { ratio })
    }
}

/// Returns the share of a request's time at links, adapters and protocols that differ between two paths; 1 if such a
/// hop limits one of the paths, or if a path is not known.
#[must_use]
pub fn changed_share(paths: [Option<&PathUse>; 2]) -> f64 {
    let [Some(one), Some(two)] = paths else { return 1.0 };
    share_not_in(one, two).max(share_not_in(two, one))
}

fn share_not_in(path: &PathUse, other: &PathUse) -> f64 {
    let is_same = |hop: &HopUse, other: &HopUse| {
        let difference = (hop.service_ns - other.service_ns).abs();
        hop.id == other.id && difference <= SAME_SERVICE * hop.service_ns.max(other.service_ns)
    };
    let is_changed = |hop: &HopUse| {
        PathSection::from_hop(hop.id) != PathSection::Drive
            && !other.hops.iter().any(|other| is_same(hop, other))
    };
    if path.busiest_hop().is_some_and(|hop| hop.utilisation >= BUSY && is_changed(hop)) {
        return 1.0;
    }
    let time = |hop: &HopUse| hop.wait_ns + hop.service_ns;
    let changed: f64 = path.hops.iter().filter(|hop| is_changed(hop)).map(time).sum();
    let all: f64 = path.hops.iter().map(time).sum();
    (changed / all.max(1e-9)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{ChangeKind, HopId};

    fn path(hops: &[(HopId, f64, f64, f64)]) -> PathUse {
        let hops = hops.iter().map(|&(id, utilisation, wait_ns, service_ns)| HopUse {
            id,
            name: String::new(),
            utilisation,
            ceiling: None,
            wait_ns,
            service_ns,
        });
        PathUse::new(hops.collect(), 0)
    }

    #[test]
    fn only_the_changed_links_of_another_port_are_uncertain() {
        let [cpu, link, media] = [HopId::Cpu, HopId::Link(0), HopId::Media];
        let near = path(&[(cpu, 0.2, 0.0, 10.0), (link, 0.1, 0.0, 2.0), (media, 0.3, 0.0, 88.0)]);
        let far = path(&[(cpu, 0.2, 0.0, 10.0), (link, 0.1, 1.0, 4.0), (media, 0.3, 5.0, 80.0)]);
        let share = changed_share([Some(&near), Some(&far)]);
        assert!((share - 0.05).abs() < 1e-12, "{share}");
        assert_eq!(share, changed_share([Some(&far), Some(&near)]));
        assert_eq!(changed_share([Some(&near), Some(&near)]), 0.0);
        let full = path(&[(cpu, 0.2, 0.0, 10.0), (link, 0.95, 1.0, 4.0), (media, 0.3, 0.0, 88.0)]);
        assert_eq!(changed_share([Some(&near), Some(&full)]), 1.0);
        assert_eq!(changed_share([Some(&near), None]), 1.0);
        let group = RequestGroup::Plain;
        let port = |share| omitted_factor(&[ChangeKind::Port], group, share);
        assert!((port(0.5) - ChangeKind::Port.omitted(group).sqrt()).abs() < 1e-12);
        assert_eq!((port(0.0), port(1.0)), (1.02, ChangeKind::Port.omitted(group)));
        let drive = ChangeKind::Drive.omitted(group);
        assert_eq!(omitted_factor(&[ChangeKind::Drive], group, 0.0), drive);
    }
}
