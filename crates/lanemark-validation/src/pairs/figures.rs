//! The saved scores of pairs: `reference/validation/pairs.csv`.

use std::path::Path;

use lanemark_lab::input;
use lanemark_schema::result::{ChangeKind, RequestGroup};
use lanemark_schema::text::csv_text;

use super::{CarriedScore, PairRow, PairScore, RankScore};
use crate::corpus::CorpusSet;
use crate::error::ValidationError;
use crate::figures::{ALL, LENGTH_MAX, optional, rows};

/// Path of the file with the scores of pairs, from the project's root.
pub const PAIRS: &str = "reference/validation/pairs.csv";

const COLUMNS: [&str; 26] = [
    "set",
    "kind",
    "requests",
    "pairs",
    "units",
    "judged",
    "right_percent",
    "rule_right_percent",
    "factor",
    "median_factor",
    "rule_factor",
    "equal_factor",
    "coverage_percent",
    "width",
    "synthetic_percent",
    "claims",
    "claims_right_percent",
    "large",
    "large_claimed_percent",
    "rank_right_percent",
    "rank_wrong_percent",
    "rule_rank_right_percent",
    "rule_rank_wrong_percent",
    "carried_factor",
    "carried_coverage_percent",
    "omitted",
];

/// The scores of all pairs, in the order of the program's output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairFigures {
    /// The scores by set, kind of change and kind of requests.
    pub rows: Vec<PairRow>,
}

impl PairFigures {
    /// Returns the row of a set, a kind of change and a kind of requests.
    pub fn row(
        &self,
        set: CorpusSet,
        kind: ChangeKind,
        group: Option<RequestGroup>,
    ) -> Option<&PairRow> {
        self.rows.iter().find(|row| row.set == set && row.kind == kind && row.group == group)
    }

    /// Reads the scores from their file under the project's root.
    ///
    /// # Errors
    /// Returns the first error with its file and line.
    pub fn open(root: &Path) -> Result<Self, ValidationError> {
        Self::parse(&input::text(&root.join(PAIRS), LENGTH_MAX)?)
    }

    /// Reads the scores from text.
    ///
    /// # Errors
    /// Returns the first error with its line.
    pub fn parse(text: &str) -> Result<Self, ValidationError> {
        let mut figures = Self::default();
        for cells in rows(PAIRS, text, &COLUMNS)? {
            let set = CorpusSet::named(cells.text("set")).ok_or_else(|| cells.unknown("set"))?;
            let kind = ChangeKind::ALL.into_iter().find(|kind| kind.name() == cells.text("kind"));
            let kind = kind.ok_or_else(|| cells.unknown("kind"))?;
            let group =
                RequestGroup::ALL.into_iter().find(|group| group.name() == cells.text("requests"));
            if group.is_none() && cells.text("requests") != ALL {
                return Err(cells.unknown("requests"));
            }
            let score = PairScore {
                pairs: cells.count("pairs")? as usize,
                units: cells.count("units")? as usize,
                judged: cells.count("judged")? as usize,
                right_percent: cells.number("right_percent")?,
                rule_right_percent: cells.number("rule_right_percent")?,
                factor: cells.number("factor")?,
                median_factor: cells.number("median_factor")?,
                rule_factor: cells.number("rule_factor")?,
                equal_factor: cells.number("equal_factor")?,
                coverage_percent: cells.optional("coverage_percent")?,
                width: cells.optional("width")?,
                synthetic_percent: cells.optional("synthetic_percent")?,
                claims: cells.count("claims")? as usize,
                claims_right_percent: cells.optional("claims_right_percent")?,
                large: cells.count("large")? as usize,
                large_claimed_percent: cells.optional("large_claimed_percent")?,
            };
            let rank = match cells.optional("rank_right_percent")? {
                Some(right_percent) => Some(RankScore {
                    right_percent,
                    wrong_percent: cells.number("rank_wrong_percent")?,
                    rule_right_percent: cells.number("rule_rank_right_percent")?,
                    rule_wrong_percent: cells.number("rule_rank_wrong_percent")?,
                }),
                None => None,
            };
            let carried = match cells.optional("carried_factor")? {
                Some(median_factor) => Some(CarriedScore {
                    median_factor,
                    coverage_percent: cells.number("carried_coverage_percent")?,
                }),
                None => None,
            };
            if figures.row(set, kind, group).is_some() {
                return Err(cells.fault("an earlier line has the same set, kind and requests"));
            }
            let omitted = cells.optional("omitted")?;
            figures.rows.push(PairRow { set, kind, group, score, rank, carried, omitted });
        }
        Ok(figures)
    }

    /// Returns the scores as the text of their file.
    pub fn text(&self) -> String {
        let mut lines = vec![COLUMNS.map(str::to_owned).to_vec()];
        for PairRow { set, kind, group, score, rank, carried, omitted } in &self.rows {
            let rank = rank.as_ref();
            let carried = carried.as_ref();
            lines.push(vec![
                set.name().to_owned(),
                kind.name().to_owned(),
                group.map_or(ALL, RequestGroup::name).to_owned(),
                score.pairs.to_string(),
                score.units.to_string(),
                score.judged.to_string(),
                format!("{:.0}", score.right_percent),
                format!("{:.0}", score.rule_right_percent),
                format!("{:.2}", score.factor),
                format!("{:.2}", score.median_factor),
                format!("{:.2}", score.rule_factor),
                format!("{:.2}", score.equal_factor),
                optional(score.coverage_percent, 0),
                optional(score.width, 2),
                optional(score.synthetic_percent, 0),
                score.claims.to_string(),
                optional(score.claims_right_percent, 0),
                score.large.to_string(),
                optional(score.large_claimed_percent, 0),
                optional(rank.map(|rank| rank.right_percent), 0),
                optional(rank.map(|rank| rank.wrong_percent), 0),
                optional(rank.map(|rank| rank.rule_right_percent), 0),
                optional(rank.map(|rank| rank.rule_wrong_percent), 0),
                optional(carried.map(|carried| carried.median_factor), 2),
                optional(carried.map(|carried| carried.coverage_percent), 0),
                optional(*omitted, 2),
            ]);
        }
        csv_text(lines)
    }
}
