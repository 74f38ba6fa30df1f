//! The saved figures of both experiments: CSV files in `reference/validation/`, from which the tables of the documents
//! are written.
//!
//! A figure is saved with as many digits as in the tables. An empty cell means that the figure is unknown. A row that
//! was copied from a document contains only the figures of that document.

use std::collections::BTreeMap;
use std::path::Path;

use lanemark_lab::input;
use lanemark_lab::reserved::ReservedName;
use lanemark_schema::text::csv_text;

use crate::corpus::CorpusSet;
use crate::error::ValidationError;
use crate::score::{PredictionErrors, Score};

/// Path of the file with the figures of published measurements, from the project's root.
pub const PUBLISHED: &str = "reference/validation/published.csv";
/// Path of the file with the figures of grids, from the project's root.
pub const GRIDS: &str = "reference/validation/grids.csv";

/// The class that contains all rows.
pub const ALL: &str = "all";
/// The class that contains all rows except the rows of resctl-bench.
pub const WITHOUT_RESCTL_BENCH: &str = "no resctl-bench";
/// The class that contains all rows of drives whose ratings were all found in an opened publication.
pub const VERIFIED_RATINGS: &str = "verified ratings";
/// The class that contains all rows whose figure is the 99th or a higher percentile of the latency.
pub const TAILS: &str = "tails";
/// The class that contains all rows whose writes wait for flushes.
pub const FLUSHES: &str = "flushes";

/// Maximum length of a file of figures, in bytes.
pub(crate) const LENGTH_MAX: u64 = 4 << 20;

const PUBLISHED_COLUMNS: [&str; 19] = [
    "set",
    "grades",
    "class",
    "rows",
    "model_median_percent",
    "model_mean_percent",
    "model_factor",
    "rule_median_percent",
    "rule_mean_percent",
    "rule_factor",
    "limits_median_percent",
    "limits_mean_percent",
    "limits_factor",
    "nearer_percent",
    "tied_percent",
    "rule_nearer_percent",
    "coverage_percent",
    "bias",
    "width",
];
const GRID_COLUMNS: [&str; 14] = [
    "run",
    "drives",
    "kind",
    "cells",
    "model_median_percent",
    "model_mean_percent",
    "rule_median_percent",
    "rule_mean_percent",
    "nearer_percent",
    "alike_percent",
    "coverage_percent",
    "below_percent",
    "above_percent",
    "width",
];

/// The grades of the rows in a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradeSelection {
    All,
    /// Grades A and B, whose rows state settings and machine.
    AAndB,
}

/// The figures of published measurements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishedFigures {
    /// The scores, in the order of the program's output.
    pub rows: Vec<PublishedRow>,
}

/// The score of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedRow {
    pub set: CorpusSet,
    pub grades: GradeSelection,
    /// Class of the rows, [`TAILS`], [`FLUSHES`], [`VERIFIED_RATINGS`],
    /// [`WITHOUT_RESCTL_BENCH`] or [`ALL`].
    pub class: String,
    pub score: Score,
}

/// The figures of grids. The runs are in the order in which they were first saved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridFigures {
    /// The scores of all runs.
    pub rows: Vec<GridRow>,
}

/// The score of a kind of cells in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRow {
    pub run: String,
    pub drives: u64,
    /// Kind of the cells; [`ALL`] for all cells.
    pub kind: String,
    pub score: GridScore,
}

/// The score of cells of grids.
#[derive(Clone, Debug, PartialEq)]
pub struct GridScore {
    pub cells: usize,
    /// Median of the model's relative errors in percent.
    pub model_median_percent: f64,
    /// Mean of the model's relative errors in percent.
    pub model_mean_percent: f64,
    /// Median of the rule's relative errors in percent.
    pub rule_median_percent: f64,
    /// Mean of the rule's relative errors in percent.
    pub rule_mean_percent: f64,
    /// Share of cells in which the model is strictly nearer to the truth than the rule.
    pub nearer_percent: f64,
    /// Share of cells in which the model and the rule differ by less than the noise.
    pub alike_percent: Option<f64>,
    /// Share of cells whose truth is in the 80% interval.
    pub coverage_percent: f64,
    /// Share of cells whose truth is below the interval.
    pub below_percent: Option<f64>,
    /// Share of cells whose truth is above the interval.
    pub above_percent: Option<f64>,
    /// Median width of the intervals: the upper bound divided by the lower bound.
    pub width: Option<f64>,
}

impl GradeSelection {
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::AAndB => "A and B",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::All, Self::AAndB].into_iter().find(|grades| grades.name() == name)
    }
}

impl PublishedFigures {
    pub fn score(&self, set: CorpusSet, grades: GradeSelection, class: &str) -> Option<&Score> {
        let is_wanted =
            |row: &&PublishedRow| row.set == set && row.grades == grades && row.class == class;
        self.rows.iter().find(is_wanted).map(|row| &row.score)
    }

    /// Reads the figures from their file under the project's root.
    ///
    /// # Errors
    /// Returns the first error with its file and line.
    pub fn open(root: &Path) -> Result<Self, ValidationError> {
        Self::parse(&input::text(&root.join(PUBLISHED), LENGTH_MAX)?)
    }

    /// Reads the figures from text.
    ///
    /// # Errors
    /// Returns the first error with its line.
    pub fn parse(text: &str) -> Result<Self, ValidationError> {
        let mut figures = Self::default();
        for cells in rows(PUBLISHED, text, &PUBLISHED_COLUMNS)? {
            let errors = |of: &str| {
                let number = |what: &str| cells.number(&format!("{of}_{what}"));
                Ok::<_, ValidationError>(PredictionErrors {
                    median_percent: number("median_percent")?,
                    mean_percent: number("mean_percent")?,
                    factor: number("factor")?,
                })
            };
            let score = Score {
                rows: cells.count("rows")? as usize,
                model: errors("model")?,
                rule: errors("rule")?,
                limits: errors("limits")?,
                nearer_percent: cells.number("nearer_percent")?,
                tied_percent: cells.number("tied_percent")?,
                rule_nearer_percent: cells.number("rule_nearer_percent")?,
                coverage_percent: cells.optional("coverage_percent")?,
                bias: cells.optional("bias")?,
                width: cells.optional("width")?,
            };
            let set = CorpusSet::named(cells.text("set")).ok_or_else(|| cells.unknown("set"))?;
            let grades = GradeSelection::named(cells.text("grades"))
                .ok_or_else(|| cells.unknown("grades"))?;
            let class = cells.text("class").to_owned();
            if figures.score(set, grades, &class).is_some() {
                return Err(cells.fault("an earlier line has the same set, grades and class"));
            }
            figures.rows.push(PublishedRow { set, grades, class, score });
        }
        Ok(figures)
    }

    /// Returns the figures as the text of their file.
    pub fn text(&self) -> String {
        let mut lines = vec![PUBLISHED_COLUMNS.map(str::to_owned).to_vec()];
        for PublishedRow { set, grades, class, score } in &self.rows {
            let mut line = vec![set.name().to_owned(), grades.name().to_owned(), class.clone()];
            line.push(score.rows.to_string());
            for errors in [score.model, score.rule, score.limits] {
                line.push(format!("{:.1}", errors.median_percent));
                line.push(format!("{:.1}", errors.mean_percent));
                line.push(format!("{:.2}", errors.factor));
            }
            for share in [score.nearer_percent, score.tied_percent, score.rule_nearer_percent] {
                line.push(format!("{share:.0}"));
            }
            line.push(optional(score.coverage_percent, 0));
            line.push(optional(score.bias, 2));
            line.push(optional(score.width, 1));
            lines.push(line);
        }
        csv_text(lines)
    }
}

impl GridFigures {
    /// Reads the figures from their file under the project's root.
    ///
    /// # Errors
    /// Returns the first error with its file and line.
    pub fn open(root: &Path) -> Result<Self, ValidationError> {
        Self::parse(&input::text(&root.join(GRIDS), LENGTH_MAX)?)
    }

    /// Reads the figures from text.
    ///
    /// # Errors
    /// Returns the first error with its line.
    pub fn parse(text: &str) -> Result<Self, ValidationError> {
        let mut figures = Self::default();
        for cells in rows(GRIDS, text, &GRID_COLUMNS)? {
            let score = GridScore {
                cells: cells.count("cells")? as usize,
                model_median_percent: cells.number("model_median_percent")?,
                model_mean_percent: cells.number("model_mean_percent")?,
                rule_median_percent: cells.number("rule_median_percent")?,
                rule_mean_percent: cells.number("rule_mean_percent")?,
                nearer_percent: cells.number("nearer_percent")?,
                alike_percent: cells.optional("alike_percent")?,
                coverage_percent: cells.number("coverage_percent")?,
                below_percent: cells.optional("below_percent")?,
                above_percent: cells.optional("above_percent")?,
                width: cells.optional("width")?,
            };
            let run = cells.text("run").to_owned();
            let kind = cells.text("kind").to_owned();
            if figures.rows.iter().any(|row| row.run == run && row.kind == kind) {
                return Err(cells.fault("an earlier line has the same run and kind"));
            }
            figures.rows.push(GridRow { run, drives: cells.count("drives")?, kind, score });
        }
        Ok(figures)
    }

    /// Returns the figures as the text of their file.
    pub fn text(&self) -> String {
        let mut lines = vec![GRID_COLUMNS.map(str::to_owned).to_vec()];
        for GridRow { run, drives, kind, score } in &self.rows {
            lines.push(vec![
                run.clone(),
                drives.to_string(),
                kind.clone(),
                score.cells.to_string(),
                format!("{:.1}", score.model_median_percent),
                format!("{:.1}", score.model_mean_percent),
                format!("{:.1}", score.rule_median_percent),
                format!("{:.1}", score.rule_mean_percent),
                format!("{:.0}", score.nearer_percent),
                optional(score.alike_percent, 0),
                format!("{:.0}", score.coverage_percent),
                optional(score.below_percent, 0),
                optional(score.above_percent, 0),
                optional(score.width, 2),
            ]);
        }
        csv_text(lines)
    }

    /// Replaces the rows of a run in place, or appends the rows of a new run.
    pub fn replace(&mut self, run: &str, rows: Vec<GridRow>) {
        let at = self.rows.iter().position(|row| row.run == run).unwrap_or(self.rows.len());
        self.rows.retain(|row| row.run != run);
        self.rows.splice(at..at, rows);
    }
}

/// A file of figures whose name is reserved before an experiment begins.
#[derive(Debug)]
pub struct FiguresFile(ReservedName);

impl FiguresFile {
    /// Reserves the file `path` under the project's root, and creates its folder.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or if another run has reserved it.
    pub fn reserve(root: &Path, path: &str) -> Result<Self, ValidationError> {
        Ok(Self(ReservedName::with_folders(&root.join(path))?))
    }

    /// Replaces the whole content of the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written; in this case, the former content remains.
    pub fn write(&self, text: &str) -> Result<(), ValidationError> {
        Ok(self.0.write(text.as_bytes())?)
    }
}

/// The cells of a line, by column.
pub(crate) struct LineCells {
    file: &'static str,
    line: u64,
    cells: BTreeMap<&'static str, String>,
}

impl LineCells {
    pub(crate) fn text(&self, column: &str) -> &str {
        self.cells.get(column).map_or("", String::as_str)
    }

    pub(crate) fn fault(&self, reason: impl Into<String>) -> ValidationError {
        ValidationError::data(self.file, self.line, reason)
    }

    pub(crate) fn unknown(&self, column: &str) -> ValidationError {
        self.fault(format!("`{column}` is `{}`, which is not known", self.text(column)))
    }

    pub(crate) fn optional(&self, column: &str) -> Result<Option<f64>, ValidationError> {
        match self.text(column) {
            "" => Ok(None),
            text => match text.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 => Ok(Some(number)),
                _ => Err(self.fault(format!("`{column}` is `{text}`, not a number of 0 or more"))),
            },
        }
    }

    pub(crate) fn number(&self, column: &str) -> Result<f64, ValidationError> {
        self.optional(column)?.ok_or_else(|| self.fault(format!("`{column}` is empty")))
    }

    pub(crate) fn count(&self, column: &str) -> Result<u64, ValidationError> {
        let text = self.text(column);
        text.parse().map_err(|_| self.fault(format!("`{column}` is `{text}`, not a count")))
    }
}

/// Returns the rows of a file with exactly these columns.
pub(crate) fn rows(
    file: &'static str,
    text: &str,
    columns: &[&'static str],
) -> Result<Vec<LineCells>, ValidationError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let broken = |error: &csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        ValidationError::data(file, line, error.to_string())
    };
    let header = reader.headers().map_err(|error| broken(&error))?;
    if !header.iter().eq(columns.iter().copied()) {
        let reason = format!("the columns must be {}", columns.join(","));
        return Err(ValidationError::data(file, 1, reason));
    }
    let mut all = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| broken(&error))?;
        let line = record.position().map_or(1, csv::Position::line);
        let cells = columns.iter().copied().zip(record.iter().map(str::to_owned)).collect();
        all.push(LineCells { file, line, cells });
    }
    Ok(all)
}

pub(crate) fn optional(number: Option<f64>, digits: usize) -> String {
    number.map_or(String::new(), |number| format!("{number:.digits$}"))
}
