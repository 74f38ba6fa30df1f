//! The experiment with published measurements: predicts each row of the corpus, and compares the prediction with the
//! measurement.
//!
//! For each set of the corpus, scores by class are computed for all rows and for the rows with a known machine.
//! Individual rows are listed only for the training set.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use lanemark_files::private::PrivateFolder;
use lanemark_lab::Lab;
use lanemark_study::Library;

use crate::corpus::{CLASSES, Corpus, CorpusSet};
use crate::error::ValidationError;
use crate::figures::{
    ALL, FLUSHES, GradeSelection, PublishedFigures, PublishedRow, TAILS, VERIFIED_RATINGS,
    WITHOUT_RESCTL_BENCH,
};
use crate::pairs::{PairFigures, PairRow, learned_factors, pairs_of};
use crate::prediction::{FIGURES, PredictedMeasurement, compare};
use crate::report;
use crate::score::Score;

/// Options that select the rows to predict and the output.
#[derive(Args, Clone, Debug)]
pub struct PublishedOptions {
    /// List the rows of the training set, and the rows that are not simulated
    #[arg(long)]
    pub rows: bool,
    /// Do not compute intervals; the figures are not saved
    #[arg(long)]
    pub no_interval: bool,
    /// Predict only the rows of the training set; the figures are not saved
    #[arg(long)]
    pub training: bool,
    /// Predict only rows of this class; the figures are not saved
    #[arg(long, value_name = "CLASS", value_parser = clap::builder::PossibleValuesParser::new(CLASSES))]
    pub class: Option<String>,
    /// Predict only rows of this figure; the figures are not saved
    #[arg(long, value_name = "FIGURE", value_parser = clap::builder::PossibleValuesParser::new(FIGURES))]
    pub figure: Option<String>,
    /// Use the library in this folder instead of the program's library; the figures are not saved
    #[arg(long, value_name = "FOLDER")]
    pub library: Option<PathBuf>,
    /// Predict only every Nth row; the figures are not saved
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub every: Option<u32>,
}

impl PublishedOptions {
    /// Removes the rows of `corpus` that are not predicted.
    pub fn select(&self, corpus: &mut Corpus) {
        if let Some(every) = self.every {
            corpus.thin(every as usize);
        }
        if self.training {
            corpus.rows.retain(|row| row.set() == CorpusSet::Training);
        }
        if let Some(class) = &self.class {
            corpus.rows.retain(|row| row.text("class") == class);
        }
        if let Some(figure) = &self.figure {
            corpus.rows.retain(|row| row.text("figure") == figure);
        }
    }

    /// Returns whether all rows are predicted with their intervals and with the program's library, in which case the
    /// figures are saved.
    pub fn is_whole(&self) -> bool {
        let is_selection = self.class.is_some() || self.figure.is_some();
        let is_part = self.training || is_selection || self.library.is_some();
        self.every.is_none() && !self.no_interval && !is_part
    }
}

/// The predictions of a corpus.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// The rows that were simulated.
    pub comparisons: Vec<PredictedMeasurement>,
    /// The rows that cannot be simulated, each with the reason.
    pub skipped: Vec<String>,
}

impl Predictions {
    /// Predicts each row of `corpus`, with its interval if `intervals` is set, on all threads of the laboratory. Priors
    /// and hosts come from the library in `folder`, or from the program's library.
    ///
    /// # Errors
    /// Returns an error if a temporary folder cannot be created, or if `folder` is not a library. A row that cannot be
    /// simulated is added to `skipped`.
    pub fn predict(
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
                .map(|comparison| PredictedMeasurement { row: index, ..comparison })
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

    /// Returns the scores by set, grades and class.
    pub fn figures(&self) -> PublishedFigures {
        let mut rows = Vec::new();
        for set in CorpusSet::ALL {
            for grades in [GradeSelection::All, GradeSelection::AAndB] {
                let comparisons: Vec<&PredictedMeasurement> = self
                    .comparisons
                    .iter()
                    .filter(|comparison| comparison.set == set)
                    .filter(|comparison| {
                        grades == GradeSelection::All || comparison.is_of_a_known_machine()
                    })
                    .collect();
                rows.extend(scores(set, grades, &comparisons));
            }
        }
        PublishedFigures { rows }
    }

    /// Returns the scores of the pairs of `corpus`, from which the predictions were made.
    pub fn pair_figures(&self, corpus: &Corpus) -> PairFigures {
        let mut sets = CorpusSet::ALL.map(|set| (set, pairs_of(corpus, &self.comparisons, set)));
        let omitted = learned_factors(&sets[0].1);
        for pair in sets.iter_mut().flat_map(|(_, pairs)| pairs) {
            let learned =
                omitted.iter().find(|(kind, group, _)| (*kind, *group) == (pair.kind, pair.group));
            pair.omitted = learned.map_or(1.0, |(.., factor)| *factor);
        }
        let rows = sets.iter().flat_map(|(set, pairs)| PairRow::of_set(*set, pairs, &omitted));
        PairFigures { rows: rows.collect() }
    }

    /// Writes the tables, and the rows of the training set if `lines` is set.
    ///
    /// # Errors
    /// Returns the error of `out`.
    pub fn write(&self, out: &mut dyn Write, lines: bool) -> Result<(), ValidationError> {
        if lines {
            for comparison in
                self.comparisons.iter().filter(|comparison| comparison.set == CorpusSet::Training)
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

/// Returns the scores of each class in alphabetical order, followed by the scores of the tails and of all classes
/// together.
fn scores(
    set: CorpusSet,
    grades: GradeSelection,
    comparisons: &[&PredictedMeasurement],
) -> Vec<PublishedRow> {
    let mut classes: Vec<&str> =
        comparisons.iter().map(|comparison| comparison.class.as_str()).collect();
    classes.sort_unstable();
    classes.dedup();
    let scored = |class: &str| {
        let belongs = |comparison: &&&PredictedMeasurement| match class {
            ALL => true,
            TAILS => comparison.is_tail,
            FLUSHES => comparison.waits_for_flushes(),
            VERIFIED_RATINGS => comparison.has_verified_ratings,
            WITHOUT_RESCTL_BENCH => !comparison.is_of_resctl_bench,
            class => comparison.class == class,
        };
        let rows: Vec<&PredictedMeasurement> =
            comparisons.iter().filter(belongs).copied().collect();
        PublishedRow { set, grades, class: class.to_owned(), score: Score::from_rows(&rows) }
    };
    let tails = comparisons.iter().any(|comparison| comparison.is_tail).then_some(TAILS);
    let flushes =
        comparisons.iter().any(|comparison| comparison.waits_for_flushes()).then_some(FLUSHES);
    classes
        .into_iter()
        .chain(tails)
        .chain(flushes)
        .chain([VERIFIED_RATINGS, WITHOUT_RESCTL_BENCH, ALL])
        .map(scored)
        .collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::corpus::CorpusRow;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        options: PublishedOptions,
    }

    fn options(words: &[&str]) -> PublishedOptions {
        Command::try_parse_from(["published"].iter().chain(words)).unwrap().options
    }

    #[test]
    fn only_figures_of_all_rows_with_their_intervals_are_saved() {
        let class = CLASSES[0];
        let figure = FIGURES[0];
        for (words, is_whole) in [
            (&["--rows"][..], true),
            (&[], true),
            (&["--no-interval"], false),
            (&["--training"], false),
            (&["--class", class], false),
            (&["--figure", figure], false),
            (&["--library", "folder"], false),
            (&["--every", "1"], false),
            (&["--rows", "--training", "--class", class], false),
        ] {
            assert_eq!(options(words).is_whole(), is_whole, "{words:?}");
        }
    }

    #[test]
    fn options_select_rows_by_number_set_class_and_figure() {
        let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference");
        let all = Corpus::open(&reference).unwrap().rows;
        let class = all[0].text("class");
        let figure = all[0].text("figure");
        let selected = |words: &[&str]| {
            let mut corpus = Corpus::open(&reference).unwrap();
            options(words).select(&mut corpus);
            corpus.rows
        };
        let ids = |rows: &[CorpusRow]| -> Vec<String> {
            rows.iter().map(|row| row.text("id").to_owned()).collect()
        };
        let wanted = |is: &dyn Fn(&CorpusRow) -> bool| -> Vec<String> {
            all.iter().filter(|row| is(row)).map(|row| row.text("id").to_owned()).collect()
        };
        assert_eq!(ids(&selected(&["--rows", "--no-interval"])), ids(&all));
        let thin = selected(&["--every", "3"]);
        assert_eq!(thin.len(), all.len() / 3);
        assert_eq!(thin[0].text("id"), all[2].text("id"));
        let training = wanted(&|row| row.set() == CorpusSet::Training);
        assert_eq!(ids(&selected(&["--training"])), training);
        let of_class = wanted(&|row| row.text("class") == class);
        assert_eq!(ids(&selected(&["--class", class])), of_class);
        let of_figure = wanted(&|row| row.text("figure") == figure);
        assert_eq!(ids(&selected(&["--figure", figure])), of_figure);
        for part in [training, of_class, of_figure] {
            assert!(!part.is_empty() && part.len() < all.len(), "{} rows", part.len());
        }
    }
}
