//! The rates of systems in all draws of their uncertain values, and the intervals of these rates and of their ratios.
//!
//! A value that two systems share has the same deviation on both, so that it does not widen the interval of their
//! ratio. The deviation depends only on the seed, the name of the part and the name of the value. Systems that are
//! drawn separately can therefore be compared in any order and number.

use lanemark_schema::result::{DRAWS_MIN, DrawnRates, PercentileInterval, PredictionInterval};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_sim::spec::CpuSpec;
use lanemark_study::{System, UncertainValue};

use super::summary::summary;
use super::unmodelled::UnmodelledFactors;
use super::work::{DRAWS, DrawnOutcomes, NominalTest, ShortFigures, TAILS};

/// The uncertain values of a system, and their deviations.
#[derive(Clone, Debug)]
pub(super) struct DrawnValues {
    pub(super) columns: Vec<UncertainColumn>,
    /// The deviations, one row per draw.
    pub(super) deviations: Vec<Vec<f64>>,
}

/// An uncertain value of a system.
#[derive(Clone, Debug)]
pub(super) struct UncertainColumn {
    /// The display name of the drive, or of the platform without its host: the processor of a machine is as fast for
    /// each of its hosts.
    of: String,
    pub(super) value: UncertainValue,
}

impl DrawnValues {
    /// Draws the deviations of `values` of `system`. Every second draw negates the deviations of the previous draw, so
    /// that the centre of the draws is the prediction.
    pub(super) fn draw(values: Vec<UncertainValue>, system: &System, seed: u64) -> Self {
        let drive = system.taken.first().map_or(&system.target.drive, |taken| &taken.drive);
        let columns = values.into_iter().map(|value| {
            let is_of_drive = value.parameter.starts_with("drive.");
            let of = if is_of_drive { drive } else { &system.platform.board };
            UncertainColumn { of: of.clone(), value }
        });
        let columns: Vec<UncertainColumn> = columns.collect();
        let mirrored = |draw: u32| (draw / 2, if draw.is_multiple_of(2) { 1.0 } else { -1.0 });
        let row = |draw: u32| {
            let (pair, sign) = mirrored(draw);
            let row = columns.iter().map(|column| column.deviation(seed, pair));
            row.map(|deviation| sign * deviation).collect()
        };
        let deviations: Vec<Vec<f64>> = (0..DRAWS as u32).map(row).collect();
        Self { columns, deviations }
    }

    /// Returns the names of the values of two systems, and the deviations of both in each draw.
    fn joined(&self, other: &Self) -> (Vec<String>, Vec<Vec<f64>>) {
        let is_own = |column: &UncertainColumn| {
            self.columns.iter().any(|own| own.stream_name() == column.stream_name())
        };
        let added: Vec<usize> =
            (0..other.columns.len()).filter(|&at| !is_own(&other.columns[at])).collect();
        let added_columns = added.iter().map(|&at| &other.columns[at]);
        let names = self.columns.iter().chain(added_columns);
        let names = names.map(|column| column.value.parameter.clone()).collect();
        let rows = self.deviations.iter().zip(&other.deviations);
        let rows = rows.map(|(own, others)| {
            own.iter().copied().chain(added.iter().map(|&at| others[at])).collect()
        });
        (names, rows.collect())
    }
}

impl UncertainColumn {
    /// Returns whether the value is a time for which the host's processor works on a request.
    fn is_of_processor(&self) -> bool {
        let key = self.value.parameter.rsplit('.').next();
        let is_time = |key: &str| key == "driver_time" || CpuSpec::REQUEST_TIMES.contains(&key);
        self.value.parameter.starts_with("platform.") && key.is_some_and(is_time)
    }

    /// Returns the name of the column's random stream. A slow processor is slow in all its work, so all its times have
    /// the same stream.
    fn stream_name(&self) -> String {
        let value = if self.is_of_processor() { "processor" } else { &self.value.parameter };
        format!("{}\n{value}", self.of)
    }

    fn deviation(&self, seed: u64, pair: u32) -> f64 {
        // The FNV-1a hash (Fowler, Noll and Vo) of the name is a different seed for each name.
        let hash = self.stream_name().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let key = StreamKey { seed: seed ^ hash, test: u32::MAX, repeat: pair, thread: 0 };
        normal(&mut Rng::new(key))
    }
}

/// Short tests with values drawn from their ranges.
#[derive(Clone, Debug)]
pub(crate) struct IntervalDraws {
    /// The uncertain values of each side.
    pub(super) values: Vec<DrawnValues>,
    /// The outcomes, by side and test.
    pub(super) outcomes: Vec<Vec<DrawnOutcomes>>,
    /// Whether all draws were simulated, that is, the run was not cancelled.
    pub(super) whole: bool,
}

impl IntervalDraws {
    /// Returns the interval of test `test` of `side`.
    pub(crate) fn interval(&self, side: usize, test: usize) -> Option<PredictionInterval> {
        let outcomes = self.outcomes.get(side)?.get(test)?;
        let NominalTest { left_out, headroom, .. } = outcomes.middle?;
        let base = outcomes.base?;
        let drawn = |of: fn(&ShortFigures, usize) -> Option<f64>, tail: usize| {
            outcomes
                .drawn
                .iter()
                .map(move |drawn| Some(of(drawn.as_ref()?, tail)? / of(&base, tail)?))
        };
        let mut interval =
            self.summary(side, drawn(|figures, _| Some(figures.rate), 0), left_out)?;
        interval.high_ratio = interval.high_ratio.min(headroom).max(1.0);
        // A slower draw completes fewer requests in its time. Without the slow draws, the interval would be too narrow.
        let is_in_all = |tail: &usize| {
            let mut drawn = outcomes.drawn.iter().flatten();
            outcomes.has_tails[*tail] && drawn.all(|figures| figures.tails[*tail].is_some())
        };
        let known = (0..TAILS.len()).filter(is_in_all);
        interval.percentiles = known
            .filter_map(|tail| {
                let drawn = drawn(|figures, tail| figures.tails[tail], tail);
                let PredictionInterval { low_ratio, high_ratio, .. } =
                    self.summary(side, drawn, left_out.of_latency())?;
                Some(PercentileInterval { percentile: TAILS[tail], low_ratio, high_ratio })
            })
            .collect();
        Some(interval)
    }

    /// Returns the rates of test `test` of `side`; `None` if the run is cancelled or the test lacks a rate.
    pub(crate) fn rates(&self, side: usize, test: usize) -> Option<DrawnRates> {
        let outcomes = self.outcomes.get(side)?.get(test).filter(|_| self.whole)?;
        let base = outcomes.base?.rate;
        let ratio = |draw: usize| Some(outcomes.figures(draw)?.rate / base);
        Some(DrawnRates::from_ratios((0..DRAWS).map(ratio)))
    }

    /// Returns the interval of side 1 divided by side 0 in test `test`, relative to the ratio of the predictions. The
    /// values that both sides share vary together. `left_out` is the factor for the effects that the model omits.
    pub(crate) fn paired_interval(&self, test: usize, left_out: f64) -> Option<PredictionInterval> {
        let [one, two] = [self.rates(0, test)?, self.rates(1, test)?];
        let [of_one, of_two] = self.values.as_slice() else { return None };
        let (names, deviations) = of_one.joined(of_two);
        let ratios = one.ratios().zip(two.ratios()).map(|(one, two)| Some(two? / one?));
        summary_of(ratios, &names, &deviations, UnmodelledFactors::on_either_side(left_out))
    }

    /// Returns the interval of test `test` on side 1, relative to its prediction, with the factor `left_out` in place
    /// of the factors for a prediction without a measurement.
    pub(crate) fn interval_with(&self, test: usize, left_out: f64) -> Option<PredictionInterval> {
        let rates = self.rates(1, test)?;
        self.summary(1, rates.ratios(), UnmodelledFactors::on_either_side(left_out))
    }

    /// Summarises draws of `side` relative to the middle, if enough of them result in valid systems.
    fn summary(
        &self,
        side: usize,
        ratios: impl Iterator<Item = Option<f64>>,
        left_out: UnmodelledFactors,
    ) -> Option<PredictionInterval> {
        let DrawnValues { columns, deviations } = self.values.get(side).filter(|_| self.whole)?;
        let names: Vec<String> =
            columns.iter().map(|column| column.value.parameter.clone()).collect();
        summary_of(ratios, &names, deviations, left_out)
    }
}

/// Summarises ratios of draws, if enough of them result in valid systems.
fn summary_of(
    ratios: impl Iterator<Item = Option<f64>>,
    names: &[String],
    deviations: &[Vec<f64>],
    left_out: UnmodelledFactors,
) -> Option<PredictionInterval> {
    // The rate of a draw without a completed request is unknown.
    let usable = |ratio: f64| (ratio.is_finite() && ratio > 0.0).then_some(ratio);
    let drawn = ratios.zip(deviations);
    let drawn: Vec<(f64, &Vec<f64>)> =
        drawn.filter_map(|(ratio, row)| Some((usable(ratio?)?, row))).collect();
    (drawn.len() >= DRAWS_MIN).then(|| summary(&drawn, names, left_out))
}

/// Returns a number from an approximately standard normal distribution: the sum of twelve uniform numbers, minus six.
/// The tails of this distribution end at six.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns the draws of a test whose rate varies by a factor of two on both systems together.
    fn shared_draws() -> IntervalDraws {
        let figures = |rate: f64| ShortFigures { rate, tails: [None; TAILS.len()] };
        let of = |scale: f64| DrawnOutcomes {
            middle: None,
            base: Some(figures(scale)),
            drawn: (0..DRAWS)
                .map(|draw| Some(figures(scale * (1.0 + draw as f64 / DRAWS as f64))))
                .collect(),
            has_tails: [false; TAILS.len()],
            is_unaffected: false,
        };
        let values = DrawnValues { columns: Vec::new(), deviations: vec![Vec::new(); DRAWS] };
        IntervalDraws {
            values: vec![values.clone(), values],
            outcomes: vec![vec![of(100.0)], vec![of(30_000.0)]],
            whole: true,
        }
    }

    /// If both systems vary together, their ratio is known within the factor for unmodelled effects.
    #[test]
    fn values_that_both_systems_share_do_not_widen_their_ratio() {
        let draws = shared_draws();
        let ratio = draws.paired_interval(0, 1.2).unwrap();
        assert!((ratio.high_ratio / 1.2 - 1.0).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.low_ratio * 1.2 - 1.0).abs() < 1e-9, "{ratio:?}");
        let alone = draws.interval_with(0, 1.2).unwrap();
        assert!(alone.high_ratio > 1.8, "{alone:?}");
        let cancelled = IntervalDraws { whole: false, ..draws };
        assert_eq!((cancelled.paired_interval(0, 1.2), cancelled.rates(0, 0)), (None, None));
    }

    #[test]
    fn hosts_of_a_machine_share_its_processor_and_equal_drives_their_values() {
        let library = lanemark_study::Library::built_in();
        let streams = |name: &str| -> BTreeSet<String> {
            let system = crate::assemble(&library, name, &[]).unwrap();
            let values = DrawnValues::draw(system.uncertain.clone(), &system, 1);
            values.columns.iter().map(UncertainColumn::stream_name).collect()
        };
        let drive = "samsung-990-pro-2tb";
        let one = streams(&format!("{drive}@workstation-x570,linux-block:m2"));
        let encrypted = streams(&format!("{drive}@workstation-x570,linux-dm-crypt:m2"));
        assert!(one.is_subset(&encrypted), "{one:?}, {encrypted:?}");
        assert!(one.iter().any(|name| name.ends_with("\nprocessor")), "{one:?}");
        let stripe = streams(&format!("stripe:{drive}@workstation-x570,linux-block:m2+m2-2"));
        assert_eq!(one, stripe);
    }

    #[test]
    fn a_value_has_the_same_deviation_on_each_system_that_contains_it() {
        let library = lanemark_study::Library::built_in();
        let drawn = |name: &str| {
            let system = crate::assemble(&library, name, &[]).unwrap();
            DrawnValues::draw(system.uncertain.clone(), &system, 1)
        };
        let one = drawn("samsung-990-pro-2tb@workstation-x570:m2");
        let two = drawn("samsung-850-pro-1tb@workstation-x570:sata");
        let mut shared = 0;
        for (at, column) in one.columns.iter().enumerate() {
            let name = column.stream_name();
            let Some(other) = two.columns.iter().position(|two| two.stream_name() == name) else {
                continue;
            };
            shared += 1;
            for (row, others) in one.deviations.iter().zip(&two.deviations) {
                assert_eq!(row[at], others[other], "{name}");
            }
        }
        assert!(shared > 0 && shared < one.columns.len(), "{shared}");
        let (names, rows) = one.joined(&two);
        assert_eq!(names.len(), one.columns.len() + two.columns.len() - shared);
        assert!(rows.iter().all(|row| row.len() == names.len()));
    }

    #[test]
    fn only_times_of_the_platform_are_of_the_processor() {
        let is = |parameter: &str| {
            let value = UncertainValue {
                parameter: parameter.to_owned(),
                text: "1 us".to_owned(),
                range: lanemark_study::origin::ValueRange { low: 0.5, high: 2.0 },
            };
            UncertainColumn { of: "a".to_owned(), value }.is_of_processor()
        };
        assert!(is("platform.cpu.request_submit") && is("platform.nvme.driver_time"));
        assert!(is("platform.cpu.write_submit") && is("platform.cpu.request_complete"));
        for other in
            ["platform.cpu.wake", "drive.cpu.request_submit", "drive.flash.read", "platform"]
        {
            assert!(!is(other), "{other}");
        }
    }
}
