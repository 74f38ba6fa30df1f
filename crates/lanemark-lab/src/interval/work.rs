//! The short tests that the draws of several systems need.

use std::ops::Range;

use lanemark_schema::result::{HopId, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::workload::Test;
use lanemark_sim::link::LinkModel;
use lanemark_sim::run_test_watched;
use lanemark_sim::spec::{ProtocolKind, SystemSpec};
use lanemark_study::System;

use super::short::{
    RatioByLength, ShortLength, is_brief_enough_for_tail, shortened, sufficient_length,
};
use super::unmodelled::UnmodelledFactors;
use crate::cancel::CancelFlag;

/// Number of draws of the uncertain values. The lower bound of an 80% interval lies between the third and the fourth
/// smallest value, and the upper bound between the third and the fourth largest.
pub const DRAWS: usize = 32;
/// Number of draws with which a short test is compared with a brief test. The second draw mirrors the first.
pub(super) const PROBES: usize = 2;

/// Number of draws after which a test that does not depend on the values is not run with further draws. Half of these
/// draws mirror the other half.
pub(super) const SCREENED: usize = DRAWS / 2;
/// Maximum effect of the screened draws on a figure that does not depend on the values, in the logarithm. The minimum
/// width of an interval is 14 times as much, so that it would become wider by 0.3%.
const NO_EFFECT: f64 = 0.01;

/// The latency percentiles that have intervals.
pub(super) const TAILS: [f64; 2] = [99.0, 99.9];

#[derive(Clone, Debug)]
pub(super) struct DrawnOutcomes {
    /// The short test with the values in the files.
    pub(super) middle: Option<NominalTest>,
    /// The figures with the values in the files, from a test that is as long as the tests of the draws.
    pub(super) base: Option<ShortFigures>,
    /// The figures of each draw; `None` for a draw that does not result in a valid system.
    pub(super) drawn: Vec<Option<ShortFigures>>,
    /// Whether the tests of the draws are long enough for each of [`TAILS`].
    pub(super) has_tails: [bool; TAILS.len()],
    /// Whether only the screened draws were run, because the values do not affect the figures.
    pub(super) is_unaffected: bool,
}

impl DrawnOutcomes {
    /// Returns the figures of a draw. A draw that was not run, because the values do not affect the figures, results in
    /// the figures with the values in the files.
    pub(super) fn figures(&self, draw: usize) -> Option<ShortFigures> {
        match draw {
            SCREENED.. if self.is_unaffected => self.base,
            _ => self.drawn.get(draw).copied().flatten(),
        }
    }

    /// Returns whether all screened draws leave all figures unchanged, within [`NO_EFFECT`].
    pub(super) fn are_draws_without_effect(&self) -> bool {
        let Some(base) = self.base else { return false };
        let has_no_effect = |drawn: f64, base: f64| libm::log(drawn / base).abs() <= NO_EFFECT;
        self.drawn[..SCREENED].iter().all(|drawn| {
            drawn.is_some_and(|drawn| {
                let mut tails = drawn.tails.into_iter().zip(base.tails).zip(self.has_tails);
                has_no_effect(drawn.rate, base.rate)
                    && tails.all(|((drawn, base), has)| match drawn.zip(base) {
                        Some((drawn, base)) => !has || has_no_effect(drawn, base),
                        None => true,
                    })
            })
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ShortFigures {
    /// Requests a second.
    pub(super) rate: f64,
    /// The latency in ns at each of [`TAILS`]; `None` if no request is beyond the percentile.
    pub(super) tails: [Option<f64>; TAILS.len()],
}

impl ShortFigures {
    fn from_sample(sample: &Sample) -> Self {
        let latency = sample.latency();
        let tail = |percentile: f64| latency.percentile_ns(percentile).map(|ns| ns as f64);
        Self { rate: sample.iops(), tails: TAILS.map(tail) }
    }
}

/// A short test with the values in the files.
#[derive(Clone, Copy, Debug)]
pub(super) struct NominalTest {
    pub(super) figures: ShortFigures,
    /// The factors for unmodelled effects that contain 80% of predictions.
    pub(super) left_out: UnmodelledFactors,
    /// The maximum rate of the links divided by the predicted rate.
    pub(super) headroom: f64,
}

/// The factor by which a path with SATA or SAS links may exceed the formulas of its links: the formulas agree with
/// measurements within this factor.
const LAW: f64 = 1.03;
/// Bytes of a PCIe packet in addition to its payload: 12 to 16 for the header, and 8 for framing.
const PACKET_OVERHEAD: f64 = 24.0;

/// Returns the factor by which a system may exceed the formulas of its links. Platforms seldom state the payload size
/// of their ports, so a PCIe link may have the next size.
pub(crate) fn formula_margin(system: &SystemSpec) -> f64 {
    if system.first().protocol.kind != ProtocolKind::Nvme {
        return LAW;
    }
    let links = system.first().port_paths().flat_map(|path| system.links(path));
    let margins = links.filter_map(|link| {
        let LinkModel::Pcie(link) = &link.model else { return None };
        let payload = link.payload_max().get() as f64;
        Some(2.0 * (payload + PACKET_OVERHEAD) / (2.0 * payload + PACKET_OVERHEAD))
    });
    margins.fold(LAW, f64::max)
}

/// Returns the maximum rate of the links of `system`, divided by the rate of `sample`.
fn headroom(system: &System, sample: &Sample) -> f64 {
    let hops = sample.path.as_ref().map_or(&[][..], |path| &path.hops);
    let links = hops.iter().filter(|hop| matches!(hop.id, HopId::Link(_) | HopId::SecondLink(_)));
    let busiest = links.map(|hop| hop.utilisation).fold(0.0, f64::max);
    formula_margin(&system.spec) / busiest.clamp(1e-9, 1.0)
}

/// One short test: a side, one of its tests, the values of a draw or in the files, and the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShortRun {
    pub(super) side: usize,
    pub(super) test: usize,
    /// The number of a draw; `None` for the values in the files.
    pub(super) draw: Option<usize>,
    pub(super) length: ShortLength,
}

/// The systems whose short tests are simulated.
pub(super) struct DrawnSystems<'w> {
    /// The system of each side with the values in the files.
    pub(super) bases: &'w [System],
    /// The systems of each side, one per draw; `None` for a draw that does not result in a valid system.
    pub(super) systems: &'w [Vec<Option<System>>],
    /// The tests of each side, each with the predicted requests a second.
    pub(super) sides: &'w [&'w [(Test, f64)]],
    pub(super) seed: u64,
}

impl DrawnSystems<'_> {
    /// Returns a value for each test of each side.
    fn by_test<T>(&self, mut of: impl FnMut(usize, usize) -> T) -> Vec<Vec<T>> {
        let sides = self.sides.iter().enumerate();
        sides.map(|(side, tests)| (0..tests.len()).map(|test| of(side, test)).collect()).collect()
    }

    /// Returns, for each test of each side, the number of the first test of that side with the same short and brief
    /// tests. Tests that differ only in their volume are often equal when shortened, and their draws run only once.
    pub(super) fn originals(&self) -> Vec<Vec<usize>> {
        let short_tests = |side: usize, test: usize| {
            let (whole, rate) = &self.sides[side][test];
            [ShortLength::Short, ShortLength::Brief].map(|length| {
                let short = shortened(whole, *rate, length);
                Test { name: String::new(), ..short }
            })
        };
        self.by_test(|side, test| {
            let wanted = short_tests(side, test);
            (0..test).find(|&earlier| short_tests(side, earlier) == wanted).unwrap_or(test)
        })
    }

    /// Returns the outcomes before any test has run, with the percentiles that the `lengths` of the draws support.
    pub(super) fn no_outcomes(
        &self,
        probes: &[ShortRun],
        runs: &[Option<NominalTest>],
        lengths: &[Vec<ShortLength>],
    ) -> Vec<Vec<DrawnOutcomes>> {
        self.by_test(|side, test| {
            let has_tails = std::array::from_fn(|tail| match lengths[side][test] {
                ShortLength::Short => true,
                ShortLength::Brief => {
                    let of = |figures: &ShortFigures| figures.tails[tail];
                    is_brief_enough_for_tail(&self.ratios(side, test, probes, runs, of))
                }
            });
            DrawnOutcomes {
                middle: None,
                base: None,
                drawn: vec![None; DRAWS],
                has_tails,
                is_unaffected: false,
            }
        })
    }

    /// Returns the first valid draw of `side` whose mirrored draw is also valid.
    fn first_pair(&self, side: usize) -> Option<usize> {
        let pairs = self.systems[side].chunks(PROBES);
        let valid = |pair: &[Option<System>]| pair.iter().all(Option::is_some);
        pairs.map(valid).position(|valid| valid).map(|pair| pair * PROBES)
    }

    /// Returns the short and the brief tests with the values in the files and with a pair of draws; a test that is not
    /// one of the `originals` runs only with the values in the files.
    pub(super) fn probes(&self, originals: &[Vec<usize>]) -> Vec<ShortRun> {
        let probes_by_test = self.by_test(|side, test| {
            if originals[side][test] != test {
                return vec![ShortRun { side, test, draw: None, length: ShortLength::Short }];
            }
            let drawn = self.first_pair(side).into_iter().flat_map(|first| first..first + PROBES);
            let values: Vec<Option<usize>> = [None].into_iter().chain(drawn.map(Some)).collect();
            let both = [ShortLength::Short, ShortLength::Brief].into_iter();
            both.flat_map(move |length| {
                let of = move |draw| ShortRun { side, test, draw, length };
                values.clone().into_iter().map(of)
            })
            .collect::<Vec<ShortRun>>()
        });
        probes_by_test.into_iter().flatten().flatten().collect()
    }

    /// Returns the length that the draws of each test need, given the `runs` of the probes.
    pub(super) fn lengths(
        &self,
        probes: &[ShortRun],
        runs: &[Option<NominalTest>],
        originals: &[Vec<usize>],
    ) -> Vec<Vec<ShortLength>> {
        self.by_test(|side, test| {
            let test = originals[side][test];
            sufficient_length(&self.ratios(side, test, probes, runs, |figures| Some(figures.rate)))
        })
    }

    /// Returns the ratio of each drawn probe's figure to the figure with the values in the files, for both lengths.
    fn ratios(
        &self,
        side: usize,
        test: usize,
        probes: &[ShortRun],
        runs: &[Option<NominalTest>],
        of: impl Fn(&ShortFigures) -> Option<f64>,
    ) -> Vec<Option<RatioByLength>> {
        let figure = |draw: Option<usize>, length: ShortLength| {
            let wanted = ShortRun { side, test, draw, length };
            let at = probes.iter().position(|piece| *piece == wanted)?;
            of(&runs[at]?.figures)
        };
        let drawn = probes.iter().filter(|piece| {
            (piece.side, piece.test, piece.length) == (side, test, ShortLength::Brief)
        });
        let ratios = drawn.filter(|piece| piece.draw.is_some()).map(|piece| {
            let ratio = |length| Some(figure(piece.draw, length)? / figure(None, length)?);
            Some(RatioByLength {
                short: ratio(ShortLength::Short)?,
                brief: ratio(ShortLength::Brief)?,
            })
        });
        ratios.collect()
    }

    /// Returns the runs of `draws`, without the `probes`, for each test for which `is_run` returns true. Each run has
    /// the length of its test.
    pub(super) fn draws(
        &self,
        draws: Range<usize>,
        probes: &[ShortRun],
        lengths: &[Vec<ShortLength>],
        is_run: impl Fn(usize, usize) -> bool,
    ) -> Vec<ShortRun> {
        let runs_by_test = self.by_test(|side, test| {
            if !is_run(side, test) {
                return Vec::new();
            }
            let length = lengths[side][test];
            let of = move |draw| ShortRun { side, test, draw: Some(draw), length };
            draws.clone().map(of).filter(|piece| !probes.contains(piece)).collect::<Vec<ShortRun>>()
        });
        runs_by_test.into_iter().flatten().flatten().collect()
    }

    /// Returns the outcome of one short test, or `None` if its system is not valid or the run is cancelled.
    pub(super) fn run(&self, piece: ShortRun, cancel: &CancelFlag) -> Option<NominalTest> {
        if cancel.is_cancelled() {
            return None;
        }
        let ShortRun { side, test: number, draw, length } = piece;
        let system = match draw {
            Some(draw) => self.systems[side][draw].as_ref()?,
            None => &self.bases[side],
        };
        let key = StreamKey { seed: self.seed, test: number as u32, repeat: 0, thread: 0 };
        let (test, rate) = &self.sides[side][number];
        let test = shortened(test, *rate, length).checked().ok()?;
        let go_on = &mut |_: &_| !cancel.is_cancelled();
        let sample = run_test_watched(&system.spec, &test, key, go_on).ok()?;
        let left_out = UnmodelledFactors::for_prediction(system, &test, &sample, *rate);
        let headroom = headroom(system, &sample);
        Some(NominalTest { figures: ShortFigures::from_sample(&sample), left_out, headroom })
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::DirectionResult;
    use lanemark_schema::units::{Bytes, Duration};

    use super::*;

    #[test]
    fn draws_without_effect_move_neither_the_rate_nor_a_known_percentile() {
        let figures = |rate: f64, tails: [Option<f64>; TAILS.len()]| ShortFigures { rate, tails };
        let base = figures(1000.0, [Some(50.0), None]);
        let of = |last: Option<ShortFigures>, has_tails: [bool; TAILS.len()]| {
            let mut drawn = vec![Some(base); DRAWS];
            drawn[SCREENED - 1] = last;
            DrawnOutcomes { middle: None, base: Some(base), drawn, has_tails, is_unaffected: true }
        };
        let none = [false, false];
        let first = [true, false];
        for (last, has_tails, expected) in [
            (Some(base), first, true),
            (Some(figures(1009.0, base.tails)), first, true),
            (Some(figures(991.0, base.tails)), first, true),
            (Some(figures(1011.0, base.tails)), first, false),
            (Some(figures(989.0, base.tails)), first, false),
            (Some(figures(0.0, base.tails)), first, false),
            (Some(figures(1000.0, [Some(51.0), None])), first, false),
            (Some(figures(1000.0, [Some(51.0), None])), none, true),
            (Some(figures(1000.0, [None, Some(60.0)])), first, true),
            (None, first, false),
        ] {
            let outcomes = of(last, has_tails);
            assert_eq!(outcomes.are_draws_without_effect(), expected, "{last:?} {has_tails:?}");
            // The screened draws are used unchanged, and the others do not affect the figures.
            assert_eq!(outcomes.figures(SCREENED - 1), last);
            assert_eq!(outcomes.figures(SCREENED), Some(base));
        }
        let mut affected = of(None, none);
        affected.is_unaffected = false;
        affected.drawn[SCREENED] = None;
        assert_eq!((affected.figures(SCREENED), affected.figures(DRAWS)), (None, None));
        affected.base = None;
        assert!(!affected.are_draws_without_effect());
    }

    #[test]
    fn a_percentile_needs_a_request_beyond_it() {
        // Each case contains the numbers of requests that take 1, 2, 3 µs and so on, and the percentiles.
        for (count, expected) in [
            (0, [None, None]),
            (99, [None, None]),
            (100, [Some(99e3), None]),
            (200, [Some(198e3), None]),
            (999, [Some(990e3), None]),
            (1_000, [Some(990e3), Some(999e3)]),
            (2_000, [Some(1_980e3), Some(1_998e3)]),
        ] {
            let mut reads = DirectionResult::new();
            (1..=count).for_each(|us| reads.record(Bytes(4096), Duration::from_microseconds(us)));
            let sample = Sample {
                elapsed: Duration::from_seconds(1),
                reads: Some(reads),
                ..Sample::empty()
            };
            let figures = ShortFigures::from_sample(&sample);
            assert!((figures.rate - count as f64).abs() < 1e-9);
            for (found, expected) in figures.tails.into_iter().zip(expected) {
                assert_eq!(found.is_some(), expected.is_some(), "{count}: {found:?}");
                let ratio = found.zip(expected).map_or(1.0, |(found, expected)| found / expected);
                assert!((ratio - 1.0).abs() < 0.002, "{count}: {found:?}, {expected:?}");
            }
        }
    }
}
