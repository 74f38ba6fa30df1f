//! The gate of `--fail-if`: fails a command if the intervals exclude a smaller loss than the one that is allowed.

use std::str::FromStr;

use lanemark_schema::result::{ComparedRuns, FigureMetric, RatioEstimate, WhatIf};
use lanemark_schema::units::Ratio;

/// A loss of throughput that fails the command, `slower by 5%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LossGate {
    loss: f64,
}

impl FromStr for LossGate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let share = text.trim().strip_prefix("slower by ").and_then(|share| {
            share
                .trim()
                .parse::<Ratio>()
                .ok()
                .map(Ratio::get)
                .filter(|share| (0.0..1.0).contains(share))
        });
        share
            .map(|loss| Self { loss })
            .ok_or("expected `slower by` and a share, such as `slower by 5%`".to_owned())
    }
}

/// The decision of a gate.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct GateDecision {
    /// The reason to fail: the test whose interval excludes a smaller loss by the widest margin.
    pub(crate) reason: Option<String>,
    /// The tests without an interval, which were not judged.
    pub(crate) unjudged: Vec<String>,
}

impl LossGate {
    /// Decides about two runs.
    pub(crate) fn check_runs(self, compared: &ComparedRuns) -> GateDecision {
        let throughput =
            compared.figures.iter().filter(|one| one.metric == FigureMetric::Throughput);
        self.decide(&throughput.map(|one| (one.test.as_str(), one.ratio)).collect::<Vec<_>>())
    }

    /// Decides about two systems.
    pub(crate) fn check_systems(self, compared: &WhatIf) -> GateDecision {
        let tests = compared.tests.iter().map(|one| (one.test.as_str(), one.change));
        self.decide(&tests.collect::<Vec<_>>())
    }

    fn decide(self, tests: &[(&str, RatioEstimate)]) -> GateDecision {
        let is_unjudged = |(_, ratio): &&(&str, RatioEstimate)| {
            matches!(ratio, RatioEstimate::Uncertain { interval_80: None, .. })
        };
        let unjudged = tests.iter().filter(is_unjudged).map(|(test, _)| (*test).to_owned());
        GateDecision { reason: self.reason(tests.iter().copied()), unjudged: unjudged.collect() }
    }

    fn reason<'t>(self, tests: impl Iterator<Item = (&'t str, RatioEstimate)>) -> Option<String> {
        let lost = tests.filter_map(|(test, ratio)| {
            let (low, high) = ratio.interval_80()?;
            (high < 1.0 - self.loss).then_some((test, ratio.ratio(), low, high))
        });
        let mut lost: Vec<(&str, f64, f64, f64)> = lost.collect();
        lost.sort_by(|one, two| one.3.total_cmp(&two.3));
        let (test, ratio, low, high) = *lost.first()?;
        let share = |ratio: f64| format!("{:.1}%", (1.0 - ratio) * 100.0);
        let more = match lost.len() - 1 {
            0 => String::new(),
            1 => "; 1 more test is slower, too".to_owned(),
            more => format!("; {more} more tests are slower, too"),
        };
        Some(format!(
            "{test} is slower by {} ({} to {}), which excludes a loss below {:.1}%{more}",
            share(ratio),
            share(high),
            share(low),
            self.loss * 100.0,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_interval_beyond_the_allowed_loss_fails() {
        let gate: LossGate = "slower by 5%".parse().unwrap();
        let reason = |ratio: RatioEstimate| gate.reason([("read", ratio)].into_iter());
        assert_eq!(reason(RatioEstimate::Identical), None);
        assert_eq!(reason(RatioEstimate::within(0.9, 0.85, 0.96)), None);
        let unknown = RatioEstimate::Uncertain { ratio: 0.5, interval_80: None };
        let unjudged = gate.decide(&[("read", RatioEstimate::Identical), ("write", unknown)]);
        assert_eq!((unjudged.reason, unjudged.unjudged), (None, vec!["write".to_owned()]));
        assert_eq!(reason(RatioEstimate::within(1.2, 1.1, 1.3)), None);
        let text = reason(RatioEstimate::within(0.9, 0.88, 0.92)).unwrap();
        assert_eq!(
            text,
            "read is slower by 10.0% (8.0% to 12.0%), which excludes a loss below 5.0%"
        );
        for wrong in ["slower", "slower by", "slower by 100%", "faster by 5%", "slower by -5%"] {
            assert!(wrong.parse::<LossGate>().is_err(), "{wrong}");
        }
    }
}
