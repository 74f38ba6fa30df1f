//! Two results of one test, and the ratio of their figures with its uncertainty.
//!
//! The uncertainty of a figure consists of its repeats (Student's t of their standard error) and, for a simulated rate,
//! of the 80% interval of the prediction. The uncertainties of both figures are independent, so the squares of their
//! logarithms are added. Two predicted rates are compared draw by draw instead, because they share uncertain values.

use lanemark_schema::result::{
    FigureMetric, FigureUncertainty, RatioEstimate, RunResult, Sample, Statistic, Target,
    TestResult, UncertainFigure,
};
use lanemark_schema::workload::{AverageMethod, LoadKind, Test};

use crate::text::number::{has_latency, known_value};

/// Two results of one test.
pub(super) type TestPair<'r> = (&'r TestResult, &'r TestResult);

/// A figure of a test, with its value in each of the two runs, and the ratio of the second to the first.
pub(super) struct FigurePair {
    pub(super) a: Option<Statistic>,
    pub(super) b: Option<Statistic>,
    /// Absent if a figure is absent.
    pub(super) ratio: Option<RatioEstimate>,
}

/// The properties of the two runs on which the uncertainty of their figures depends.
#[derive(Clone, Copy)]
pub(super) struct RunPair<'r> {
    targets: [&'r Target; 2],
    /// Whether both runs are the same result.
    is_identical: bool,
}

impl<'r> RunPair<'r> {
    pub(super) fn new(a: &'r RunResult, b: &'r RunResult) -> Self {
        Self { targets: [&a.target, &b.target], is_identical: a == b }
    }

    /// Compares a metric of one test.
    pub(super) fn figures(
        self,
        metric: FigureMetric,
        a: &TestResult,
        b: &TestResult,
    ) -> FigurePair {
        let uncertainty = |figure: &Statistic, result: &TestResult, is_simulated: bool| {
            metric.uncertainty(figure, result, is_simulated)
        };
        let pair = self.pair([(a, figure(metric, a)), (b, figure(metric, b))], uncertainty);
        match metric.predicted_ratio([(self.targets[0], a), (self.targets[1], b)]) {
            Some(ratio) if !self.is_identical => FigurePair { ratio: Some(ratio), ..pair },
            _ => pair,
        }
    }

    /// Compares a percentile of latency of one test.
    pub(super) fn percentiles(self, at: f64, a: &TestResult, b: &TestResult) -> FigurePair {
        let uncertainty = |figure: &Statistic, result: &TestResult, is_simulated: bool| {
            if is_simulated {
                let middle = result.latency().percentile_ns(at)? as f64;
                let (low, high) = result.percentile_interval_ns(at)?;
                FigureUncertainty::of_interval(middle, low, high)
            } else {
                FigureUncertainty::of_repeats(figure)
            }
        };
        self.pair([(a, percentile(a, at)), (b, percentile(b, at))], uncertainty)
    }

    fn pair(
        self,
        sides: [(&TestResult, Option<Statistic>); 2],
        uncertainty: impl Fn(&Statistic, &TestResult, bool) -> Option<FigureUncertainty>,
    ) -> FigurePair {
        let known = |side: usize| {
            let (result, figure) = &sides[side];
            let figure = figure.as_ref()?;
            let value = known_value(figure)?;
            let is_simulated = matches!(self.targets[side], Target::Simulated(_));
            let uncertainty = uncertainty(figure, result, is_simulated);
            Some(UncertainFigure { value, uncertainty })
        };
        let ratio = known(0).zip(known(1)).map(|(a, b)| RatioEstimate::of_figures(a, b));
        let ratio = ratio.filter(|ratio| ratio.ratio().is_finite());
        let [(_, a), (_, b)] = sides;
        let identical = |ratio| if self.is_identical { RatioEstimate::Identical } else { ratio };
        FigurePair { a, b, ratio: ratio.map(identical) }
    }
}

impl FigurePair {
    /// Returns both values, if both are known.
    pub(super) fn values(&self) -> Option<(f64, f64)> {
        Some((known_value(self.a.as_ref()?)?, known_value(self.b.as_ref()?)?))
    }
}

/// Returns the throughput of the test `name` in run `b` divided by that in run `a`, if both contain the test with the
/// same requests.
pub(crate) fn throughput_ratio(a: &RunResult, b: &RunResult, name: &str) -> Option<RatioEstimate> {
    let own = a.test(name)?;
    let other = b.test(name)?;
    if contradiction(&own.test, &other.test).is_some() {
        return None;
    }
    RunPair::new(a, b).figures(FigureMetric::Throughput, own, other).ratio
}

/// Returns the tests that both runs contain, matched by name. Programs give one name to different tests, so tests with
/// a [`contradiction`] do not match. If each run has one test, the two match by their requests.
pub(super) fn shared_tests<'r>(a: &'r RunResult, b: &'r RunResult) -> Vec<TestPair<'r>> {
    if let ([own], [other]) = (a.tests.as_slice(), b.tests.as_slice()) {
        // A real database and a simulated one each have one test, whose names may differ.
        let is_one_load = own.has_transactions() && other.has_transactions();
        if is_one_load || has_equal_requests(&own.test, &other.test) {
            return vec![(own, other)];
        }
    }
    named_alike(a, b)
        .filter(|(own, other)| contradiction(&own.test, &other.test).is_none())
        .collect()
}

fn named_alike<'r>(a: &'r RunResult, b: &'r RunResult) -> impl Iterator<Item = TestPair<'r>> {
    a.tests.iter().filter_map(|test| Some((test, b.test(&test.test.name)?)))
}

/// Returns whether both tests state the same direction, size, order and depth of their requests.
fn has_equal_requests(a: &Test, b: &Test) -> bool {
    let stated = |test: &Test| Some((test.read_share()?, test.order_word()?, test.queue_depth()?));
    stated(a).is_some() && stated(a) == stated(b) && (a.block, a.threads) == (b.block, b.threads)
}

/// Returns the first property in which the requests of two tests differ, such as `4 KiB against 32 KiB`, if there
/// is one among those that both state.
fn contradiction(a: &Test, b: &Test) -> Option<String> {
    if [a, b].into_iter().any(|test| matches!(test.asks, LoadKind::Trace(_))) {
        return None;
    }
    let reads =
        |test: &Test| test.read_share().map(|share| format!("{:.0}% reads", share.get() * 100.0));
    let order = |test: &Test| test.order_word().map(str::to_owned);
    let size = |test: &Test| Some(test.block.to_string());
    let differ = |word: &dyn Fn(&Test) -> Option<String>| {
        let own = word(a)?;
        let other = word(b)?;
        (own != other).then(|| format!("{own} against {other}"))
    };
    differ(&reads).or_else(|| differ(&size)).or_else(|| differ(&order))
}

/// Returns why tests of one name are not the same test, as the end of a sentence, such as `: vol0 is 4 KiB against 32
/// KiB`; empty if no names agree.
pub(super) fn why_none_is_shared(a: &RunResult, b: &RunResult) -> String {
    let mut reasons = named_alike(a, b).filter_map(|(own, other)| {
        Some(format!(": {} is {}", own.test.name, contradiction(&own.test, &other.test)?))
    });
    reasons.next().unwrap_or_default()
}

/// Returns the figure of a test, if a request was completed.
pub(super) fn figure(metric: FigureMetric, result: &TestResult) -> Option<Statistic> {
    let is_known = metric != FigureMetric::Latency || has_latency(result);
    is_known.then(|| metric.value_in(result))
}

/// Returns a latency percentile in µs, averaged over the repeats, if each repeat has enough requests for it.
fn percentile(test: &TestResult, at: f64) -> Option<Statistic> {
    let of = |sample: &Sample| Some(sample.latency().percentile_ns(at)? as f64 / 1e3);
    let values: Option<Vec<f64>> = test.samples.iter().map(of).collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(Statistic::from_values(&values, AverageMethod::Median))
}
