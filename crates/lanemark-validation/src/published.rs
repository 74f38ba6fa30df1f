//! The experiment with published measurements: each row of the corpus is predicted and compared with its measurement.
//!
//! Scores are computed by class for each half of the corpus, for all rows and for the rows with a known machine. Lines
//! of single rows are listed for the training set only.

use std::io::Write;
use std::path::Path;

use lanemark_files::private::PrivateFolder;
use lanemark_lab::Lab;
use lanemark_study::Library;

use crate::corpus::{Corpus, CorpusHalf};
use crate::error::ValidationError;
use crate::figures::{ALL, Grades, PublishedFigures, PublishedRow, TAILS, WITHOUT_RESCTL_BENCH};
use crate::prediction::{Comparison, compare};
use crate::report;
use crate::score::Score;

/// The predictions of a corpus.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// The rows that were simulated.
    pub comparisons: Vec<Comparison>,
    /// The rows that cannot be simulated, each with the reason.
    pub skipped: Vec<String>,
}

impl Predictions {
    /// Predicts each row of `corpus` on all threads of the laboratory, with its interval if `intervals` is set. Priors
    /// and hosts come from the library in `folder`, or from the program.
    ///
    /// # Errors
    /// Returns an error if no temporary folder can be made, or if `folder` is not a library. A row that cannot be
    /// simulated is added to `skipped`.
    pub fn of(
        corpus: &Corpus,
        folder: Option<&Path>,
        intervals: bool,
    ) -> Result<Self, ValidationError> {
        let library = || folder.map_or_else(|| Ok(Library::built_in()), Library::in_folder);
        library()?;
        let scratch = PrivateFolder::new("lanemark-validate-")?;
        let all = Lab::default().pool.map(corpus.rows.len(), |index| {
            let row = &corpus.rows[index];
            let folder = scratch.path().join(index.to_string());
            let library = library().map_err(|error| error.to_string())?;
            compare(&library, row, corpus.ratings_of(row), &folder, intervals)
                .map_err(|reason| format!("{}: {reason}", row.text("id")))
        });
        let mut predictions = Self { comparisons: Vec::new(), skipped: Vec::new() };
        for one in all {
            match one {
                Ok(comparison) => predictions.comparisons.push(comparison),
                Err(reason) => predictions.skipped.push(reason),
            }
        }
        Ok(predictions)
    }

    /// Returns the scores by half, grades and class.
    pub fn figures(&self) -> PublishedFigures {
        let mut rows = Vec::new();
        for half in [CorpusHalf::Development, CorpusHalf::Validation] {
            for grades in [Grades::All, Grades::AAndB] {
                let comparisons: Vec<&Comparison> = self
                    .comparisons
                    .iter()
                    .filter(|comparison| comparison.half == half)
                    .filter(|comparison| {
                        grades == Grades::All || comparison.is_of_a_known_machine()
                    })
                    .collect();
                rows.extend(scores(half, grades, &comparisons));
            }
        }
        PublishedFigures { rows }
    }

    /// Writes the tables, and with `lines` the rows of the training set.
    ///
    /// # Errors
    /// Returns the error of `out`.
    pub fn write(&self, out: &mut dyn Write, lines: bool) -> Result<(), ValidationError> {
        if lines {
            for comparison in self
                .comparisons
                .iter()
                .filter(|comparison| comparison.half == CorpusHalf::Development)
            {
                writeln!(out, "{}", comparison.line)?;
            }
        }
        writeln!(out, "{} rows compared, {} skipped", self.comparisons.len(), self.skipped.len())?;
        if lines {
            for reason in &self.skipped {
                writeln!(out, "skipped: {reason}")?;
            }
        }
        write!(out, "{}", report::published_text(&self.figures()))?;
        Ok(())
    }
}

/// Returns the scores of each class in alphabetical order, then the scores of tails and of the classes together.
fn scores(half: CorpusHalf, grades: Grades, comparisons: &[&Comparison]) -> Vec<PublishedRow> {
    let mut classes: Vec<&str> =
        comparisons.iter().map(|comparison| comparison.class.as_str()).collect();
    classes.sort_unstable();
    classes.dedup();
    let scored = |class: &str| {
        let belongs = |comparison: &&&Comparison| match class {
            ALL => true,
            TAILS => comparison.is_tail,
            WITHOUT_RESCTL_BENCH => !comparison.is_of_resctl_bench,
            class => comparison.class == class,
        };
        let rows: Vec<&Comparison> = comparisons.iter().filter(belongs).copied().collect();
        PublishedRow { half, grades, class: class.to_owned(), score: Score::of(&rows) }
    };
    let tails = comparisons.iter().any(|comparison| comparison.is_tail).then_some(TAILS);
    classes.into_iter().chain(tails).chain([WITHOUT_RESCTL_BENCH, ALL]).map(scored).collect()
}
