//! Pairs of published measurements that differ in exactly one thing, and the accuracy of their predicted ratios.
//!
//! Two rows form a pair of a kind if all their columns are equal except the columns of this kind: the drive, the port,
//! the machine, the operating system and program, the number of outstanding requests, their size, or their direction.
//! Two measurements of one machine name it, or come from one page. A pair belongs to a set of the corpus if both rows
//! belong to it; pairs of a training row and a validation row are not used.
//!
//! The effects that the model omits are learned from the training pairs ([`learned_factors`]).

mod figures;
mod learned;
mod report;
mod score;

use std::collections::BTreeMap;

use lanemark_lab::interval::{DRAWS, carried_share, host_share};
use lanemark_schema::result::{ChangeKind, RatioEstimate, RequestGroup, SIDES_80, changed_share};
use lanemark_schema::rng::Rng;

use crate::corpus::{Corpus, CorpusRow, CorpusSet};
use crate::prediction::PredictedMeasurement;

pub use figures::{PAIRS, PairFigures};
pub use learned::{UNITS_MIN, learned_factors};
pub use report::{buyer_table, pairs_table};
pub use score::{CarriedScore, PairRow, PairScore, RankScore};

/// The columns that all pairs have in common.
const FIXED: [&str; 6] = ["drives", "pattern", "flush", "span_bytes", "state", "figure"];
/// The programs' interfaces to the operating system.
const ENGINES: [&str; 5] = ["libaio", "io_uring", "psync", "pvsync", "sync"];

/// A measurement with its prediction.
#[derive(Clone, Copy, Debug)]
pub struct PairSide<'p> {
    row: &'p CorpusRow,
    prediction: &'p PredictedMeasurement,
}

/// Two measurements that differ in one thing, with their predictions.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredPair<'p> {
    /// The kind of the difference.
    pub kind: ChangeKind,
    pub group: RequestGroup,
    one: PairSide<'p>,
    two: PairSide<'p>,
    /// The weight within a unit: n drives form n (n - 1) / 2 pairs, but contain only n - 1 independent ratios.
    pub weight: f64,
    /// The factor for the effects that the model omits in the ratio.
    pub omitted: f64,
}

impl PairSide<'_> {
    /// Returns the logarithm of a figure as a rate.
    fn log(&self, figure: f64) -> f64 {
        let log = figure.max(1e-9).ln();
        if self.row.text("figure").starts_with("latency") { -log } else { log }
    }

    fn measured(&self) -> f64 {
        self.log(self.prediction.published)
    }

    fn predicted(&self) -> f64 {
        self.log(self.prediction.predicted)
    }

    fn rule(&self) -> f64 {
        self.log(self.prediction.rule)
    }

    /// Returns the logarithms of the ends of the interval of the rate, relative to the prediction.
    fn interval(&self) -> Option<(f64, f64)> {
        let interval = self.prediction.interval.as_ref()?;
        let ends = [interval.low, interval.high].map(|ratio| self.log(ratio));
        Some((ends[0].min(ends[1]), ends[0].max(ends[1])))
    }
}

impl MeasuredPair<'_> {
    /// Returns the logarithm of the measured ratio.
    pub fn measured(&self) -> f64 {
        self.two.measured() - self.one.measured()
    }

    /// Returns the logarithm of the predicted ratio.
    pub fn predicted(&self) -> f64 {
        self.two.predicted() - self.one.predicted()
    }

    /// Returns the logarithm of the ratio according to the rule of thumb.
    pub fn rule(&self) -> f64 {
        self.two.rule() - self.one.rule()
    }

    /// Returns the name of the drive, or of the publication of two drives. Its pairs share most of the effects that the
    /// model omits, so each unit has the same weight in scores and learned factors.
    pub fn unit(&self) -> &str {
        self.one.row.text(match self.kind {
            ChangeKind::Drive => "url",
            ChangeKind::Port
            | ChangeKind::Platform
            | ChangeKind::Host
            | ChangeKind::Depth
            | ChangeKind::BlockSize
            | ChangeKind::Direction => "model",
        })
    }

    /// Returns the predicted ratio with its interval, as `compare` reports it.
    pub fn estimate(&self) -> RatioEstimate {
        self.estimate_with(self.left_out())
    }

    /// Returns the factor for omitted effects. It applies to another port only for the time at its changed links.
    fn left_out(&self) -> f64 {
        let paths = [self.one, self.two].map(|side| side.prediction.path.as_ref());
        self.kind.of_changed_part(self.omitted, changed_share(paths))
    }

    /// Returns the predicted ratio with its interval for a factor for omitted effects.
    fn estimate_with(&self, omitted: f64) -> RatioEstimate {
        let ratio = self.predicted().exp();
        match (&self.one.prediction.rates, &self.two.prediction.rates) {
            (Some(one), Some(two)) => one.ratio_to(two, ratio, omitted),
            _ => RatioEstimate::Uncertain { ratio, interval_80: None },
        }
    }

    /// Counts how often the interval contains a true ratio that the ranges of the model and the omitted effects
    /// determine. Each pair of draws serves as the truth for the interval from all other draws. Returns the number of
    /// truths in their intervals, and of all truths.
    fn synthetic_coverage(&self, rng: &mut Rng) -> (usize, usize) {
        let both = self.one.prediction.rates.as_ref().zip(self.two.prediction.rates.as_ref());
        let Some((one, two)) = both else { return (0, 0) };
        let mut counts = (0, 0);
        for pair in 0..DRAWS / 2 {
            let estimate =
                one.without_pair(pair).ratio_to(&two.without_pair(pair), 1.0, self.left_out());
            let Some((low, high)) = estimate.interval_80() else { continue };
            for draw in [2 * pair, 2 * pair + 1] {
                let Some((from, to)) = one.log_ratio(draw).zip(two.log_ratio(draw)) else {
                    continue;
                };
                let truth = to - from + self.left_out().ln() / SIDES_80 * rng.normal();
                counts.0 += usize::from(low.ln() <= truth && truth <= high.ln());
                counts.1 += 1;
            }
        }
        counts
    }

    /// Returns the pair in the opposite order.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { one: self.two, two: self.one, ..self }
    }

    /// Returns the logarithm of the second figure as predicted from the measurement of the first figure, and the ends
    /// of its interval.
    fn carried(&self) -> Option<(f64, (f64, f64))> {
        let host = self.one.prediction.path.as_ref().map_or(0.0, host_share);
        let share = carried_share(&[self.kind], host);
        let deviation = self.one.measured() - self.one.predicted();
        let log = self.two.predicted() + share * deviation;
        let (low, high) = if share == 1.0 {
            let (low, high) = self.estimate().interval_80()?;
            (low.ln() - self.predicted(), high.ln() - self.predicted())
        } else {
            self.two.interval()?
        };
        Some((log, (log + low, log + high)))
    }
}

/// Returns all pairs of a set of the corpus, in the order of [`ChangeKind::ALL`].
pub fn pairs_of<'p>(
    corpus: &'p Corpus,
    predictions: &'p [PredictedMeasurement],
    set: CorpusSet,
) -> Vec<MeasuredPair<'p>> {
    let is_mean = |row: &CorpusRow| {
        let figure = row.text("figure");
        !figure.starts_with("latency") || figure == "latency_mean"
    };
    let sides: Vec<PairSide<'p>> = predictions
        .iter()
        .filter(|prediction| prediction.set == set)
        .map(|prediction| PairSide { row: &corpus.rows[prediction.row], prediction })
        .filter(|side| is_mean(side.row))
        .collect();
    ChangeKind::ALL.into_iter().flat_map(|kind| pairs_of_kind(&sides, kind)).collect()
}

fn pairs_of_kind<'p>(sides: &[PairSide<'p>], kind: ChangeKind) -> Vec<MeasuredPair<'p>> {
    let mut alike: BTreeMap<Vec<String>, Vec<PairSide<'p>>> = BTreeMap::new();
    for side in sides {
        alike.entry(common_columns(side.row, kind)).or_default().push(*side);
    }
    alike.into_values().flat_map(|sides| pairs_of_group(&sides, kind)).collect()
}

/// Returns the pairs of measurements that are alike except for `kind`.
fn pairs_of_group<'p>(sides: &[PairSide<'p>], kind: ChangeKind) -> Vec<MeasuredPair<'p>> {
    let mut pairs = Vec::new();
    let mut used = vec![false; sides.len()];
    for (first, one) in sides.iter().enumerate() {
        for (second, two) in sides.iter().enumerate().skip(first + 1) {
            if differs(one.row, two.row, kind) && is_known(one.row, two.row, kind) {
                (used[first], used[second]) = (true, true);
                let group = RequestGroup::of([&one.prediction.test, &two.prediction.test]);
                let pair =
                    MeasuredPair { kind, group, one: *one, two: *two, weight: 1.0, omitted: 1.0 };
                pairs.push(pair);
            }
        }
    }
    let independent = used.iter().filter(|used| **used).count().saturating_sub(1) as f64;
    let weight = independent / pairs.len().max(1) as f64;
    pairs.iter_mut().for_each(|pair| pair.weight = weight);
    pairs
}

/// Returns the columns that belong to a kind of change.
fn columns(kind: ChangeKind) -> &'static [&'static str] {
    match kind {
        ChangeKind::Drive => &["drive", "model", "drive_kind", "interface"],
        ChangeKind::Port => &["path"],
        ChangeKind::Platform => &["platform"],
        ChangeKind::Host => &["os", "tool", "target"],
        ChangeKind::Depth => &["queue_depth", "threads"],
        ChangeKind::BlockSize => &["block_bytes"],
        ChangeKind::Direction => &["read_percent"],
    }
}

/// Returns a column in the form in which it is compared: versions of programs and systems do not count.
fn compared(row: &CorpusRow, column: &str) -> String {
    let text = row.text(column).to_lowercase();
    match column {
        "os" if text.contains("windows") => "windows".to_owned(),
        "os" if text.contains("linux") => "linux".to_owned(),
        "tool" => {
            let name: String =
                text.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            let engine = ENGINES.into_iter().find(|engine| text.contains(engine));
            name + engine.unwrap_or_default()
        }
        _ => text,
    }
}

/// Returns the columns that two rows of a pair of `kind` have in common.
fn common_columns(row: &CorpusRow, kind: ChangeKind) -> Vec<String> {
    let others = ChangeKind::ALL.into_iter().filter(|other| *other != kind);
    let columns = others.flat_map(columns).chain(&FIXED);
    let mut common: Vec<String> = columns.map(|column| compared(row, column)).collect();
    // Only sustained writes depend on their duration.
    let is_sustained = row.text("class").starts_with("writes-s");
    common.push(if is_sustained { row.text("duration_s").to_owned() } else { String::new() });
    common
}

fn differs(one: &CorpusRow, two: &CorpusRow, kind: ChangeKind) -> bool {
    columns(kind).iter().any(|column| compared(one, column) != compared(two, column))
}

/// Returns whether the rows identify their machines.
fn is_known(one: &CorpusRow, two: &CorpusRow, kind: ChangeKind) -> bool {
    let is_named = |row: &CorpusRow| {
        let platform = row.text("platform");
        !platform.is_empty() && !platform.starts_with("unnamed")
    };
    let are_named = is_named(one) && is_named(two);
    match kind {
        ChangeKind::Drive | ChangeKind::Platform => are_named,
        ChangeKind::Port
        | ChangeKind::Host
        | ChangeKind::Depth
        | ChangeKind::BlockSize
        | ChangeKind::Direction => are_named || one.text("url") == two.text("url"),
    }
}
