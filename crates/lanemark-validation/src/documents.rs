//! Writes the tables in the documents from the saved figures, and compares them with these figures.
//!
//! A table is between two lines, `<!-- validate:NAME -->` and `<!-- end -->`. `lanemark-validate render` writes the
//! text between them, and so does each experiment after it has saved its figures. [`PUBLISHED_PAGE`] contains the table
//! of published measurements, [`PAIRS_PAGE`] the tables of compared measurements, [`GRIDS_PAGE`] the table of grids,
//! and README two summaries. README's paragraph on accuracy is a template, `reference/validation/accuracy.template.md`:
//! a placeholder such as `{validation.A and B.all.coverage}` names a set, grades, a class and a figure, and is
//! replaced with the saved figure. A placeholder that ends in `:0` is rounded to a whole number.

use std::collections::BTreeMap;
use std::path::Path;

use lanemark_lab::{LabError, input, reserved};

use crate::corpus::CorpusSet;
use crate::error::ValidationError;
use crate::figures::{GRIDS, GradeSelection, GridFigures, PUBLISHED, PublishedFigures};
use crate::pairs::{self, PAIRS, PairFigures};
use crate::report;
use crate::score::Score;

/// The command that writes the tables from the saved figures.
pub const RENDER: &str = "cargo run -p lanemark-validation -- render";
/// Path of the template for README's paragraph, from the project's root.
pub const TEMPLATE: &str = "reference/validation/accuracy.template.md";

/// Path of the page with the table of published measurements, from the project's root.
pub const PUBLISHED_PAGE: &str = "docs/validation/published.md";
/// Path of the page with the tables of compared measurements, from the project's root.
pub const PAIRS_PAGE: &str = "docs/validation/pairs.md";
/// Path of the page with the table of grids between paths, from the project's root.
pub const GRIDS_PAGE: &str = "docs/validation/grids.md";

/// Maximum length of a document in bytes.
const LENGTH_MAX: u64 = 16 << 20;
/// The line after a table.
const END: &str = "<!-- end -->";

#[derive(Clone, Copy, Debug)]
struct DocumentTable {
    document: &'static str,
    /// Name in the marker.
    name: &'static str,
    /// Path of the file with the figures that the table shows.
    figures: &'static str,
    content: TableContent,
}

#[derive(Clone, Copy, Debug)]
enum TableContent {
    Published,
    Grids,
    Pairs,
    Buyer,
    Accuracy,
}

const BLOCKS: [DocumentTable; 5] = [
    DocumentTable {
        document: PUBLISHED_PAGE,
        name: "published",
        figures: PUBLISHED,
        content: TableContent::Published,
    },
    DocumentTable {
        document: GRIDS_PAGE,
        name: "grids",
        figures: GRIDS,
        content: TableContent::Grids,
    },
    DocumentTable {
        document: PAIRS_PAGE,
        name: "pairs",
        figures: PAIRS,
        content: TableContent::Pairs,
    },
    DocumentTable {
        document: "README.md",
        name: "questions",
        figures: PAIRS,
        content: TableContent::Buyer,
    },
    DocumentTable {
        document: "README.md",
        name: "accuracy",
        figures: PUBLISHED,
        content: TableContent::Accuracy,
    },
];

/// The saved figures and the template: the sources of all tables.
struct TableSources {
    published: PublishedFigures,
    pairs: PairFigures,
    grids: GridFigures,
    template: String,
}

impl TableSources {
    fn open(root: &Path) -> Result<Self, ValidationError> {
        Ok(Self {
            published: PublishedFigures::open(root)?,
            pairs: PairFigures::open(root)?,
            grids: GridFigures::open(root)?,
            template: input::text(&root.join(TEMPLATE), LENGTH_MAX)?,
        })
    }

    fn text(&self, block: DocumentTable) -> Result<String, ValidationError> {
        match block.content {
            TableContent::Published => Ok(report::published_table(&self.published)),
            TableContent::Grids => Ok(report::grids_table(&self.grids)),
            TableContent::Pairs => Ok(pairs::pairs_table(&self.pairs)),
            TableContent::Buyer => Ok(pairs::buyer_table(&self.pairs, &self.published)),
            TableContent::Accuracy => fill_template(&self.template, &self.published),
        }
    }
}

impl DocumentTable {
    fn fault(self, reason: String, advice: String) -> ValidationError {
        ValidationError::Document { document: self.document, table: self.name, reason, advice }
    }

    /// Returns the byte range of the table in `text`.
    fn range(self, text: &str) -> Result<std::ops::Range<usize>, ValidationError> {
        let marker = format!("<!-- validate:{} -->\n", self.name);
        let advice = || format!("put the table between `{}` and `{END}`", marker.trim_end());
        let mut found = text.match_indices(&marker);
        let Some((at, _)) = found.next() else {
            return Err(self.fault("the marker is missing".to_owned(), advice()));
        };
        if found.next().is_some() {
            return Err(self.fault("the marker appears twice".to_owned(), advice()));
        }
        let start = at + marker.len();
        let inside = &text[start..];
        let end = inside.find(END).filter(|end| !inside[..*end].contains("<!-- validate:"));
        let end = end.ok_or_else(|| self.fault(format!("`{END}` is missing"), advice()))?;
        Ok(start..start + end)
    }
}

/// Writes all tables, and returns the documents that changed.
///
/// # Errors
/// Returns an error if the saved figures cannot be read, or if the markers of a table are missing in a document. In
/// these cases, no document is written.
pub fn render(root: &Path) -> Result<Vec<&'static str>, ValidationError> {
    let sources = TableSources::open(root)?;
    let mut documents: BTreeMap<&'static str, (String, String)> = BTreeMap::new();
    for block in BLOCKS {
        if !documents.contains_key(block.document) {
            let text = input::text(&root.join(block.document), LENGTH_MAX)?;
            documents.insert(block.document, (text.clone(), text));
        }
        let Some((_, text)) = documents.get_mut(block.document) else { continue };
        let range = block.range(text)?;
        let table = sources.text(block)?;
        text.replace_range(range, &table);
    }
    let mut changed = Vec::new();
    for (document, (before, after)) in documents {
        if before != after {
            let path = root.join(document);
            reserved::replace(&path, after.as_bytes(), false)?;
            changed.push(document);
        }
    }
    Ok(changed)
}

/// Compares all tables with the saved figures.
///
/// # Errors
/// Returns an error about the first table that differs, with its document, the first line that differs and the command
/// to run.
pub fn check(root: &Path) -> Result<(), ValidationError> {
    let sources = TableSources::open(root)?;
    for block in BLOCKS {
        let text = input::text(&root.join(block.document), LENGTH_MAX)?;
        let range = block.range(&text)?;
        let present = &text[range.clone()];
        let rendered = sources.text(block)?;
        if present != rendered {
            let first = text[..range.start].lines().count() + 1;
            let (number, is, should) = difference(present, &rendered);
            let reason = format!(
                "line {} is `{is}`, but according to {} it should be `{should}`",
                first + number,
                block.figures
            );
            let template = match block.content {
                TableContent::Accuracy => format!(" (its text is in {TEMPLATE})"),
                _ => String::new(),
            };
            return Err(block.fault(reason, format!("run `{RENDER}`{template}")));
        }
    }
    Ok(())
}

/// Returns the index of the first line in which two texts differ, and that line in each text.
fn difference<'t>(one: &'t str, other: &'t str) -> (usize, &'t str, &'t str) {
    let mut ones = one.lines();
    let mut others = other.lines();
    let mut number = 0;
    loop {
        match (ones.next(), others.next()) {
            (Some(one), Some(other)) if one == other => number += 1,
            (one, other) => return (number, one.unwrap_or_default(), other.unwrap_or_default()),
        }
    }
}

/// Returns a template with its placeholders replaced.
fn fill_template(template: &str, figures: &PublishedFigures) -> Result<String, ValidationError> {
    let mut text = String::new();
    for (index, line) in template.lines().enumerate() {
        let fault = |reason: String| ValidationError::data(TEMPLATE, index as u64 + 1, reason);
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) =
                after.split_once('}').ok_or_else(|| fault("a `{` without a `}`".to_owned()))?;
            text += before;
            text += &placeholder(name, figures)
                .ok_or_else(|| fault(format!("`{{{name}}}` does not name a saved figure")))?;
            rest = after;
        }
        text += rest;
        text.push('\n');
    }
    Ok(text)
}

/// Returns the figure that a placeholder names, with as many digits as in the tables.
fn placeholder(name: &str, figures: &PublishedFigures) -> Option<String> {
    let (name, digits) = match name.split_once(':') {
        Some((name, digits)) => (name, Some(digits.parse::<usize>().ok().filter(|n| *n < 9)?)),
        None => (name, None),
    };
    let parts: Vec<&str> = name.split('.').collect();
    let [set, grades, class, figure] = parts.as_slice() else { return None };
    let grades = [GradeSelection::All, GradeSelection::AAndB]
        .into_iter()
        .find(|candidate| candidate.name() == *grades)?;
    let score: &Score = figures.score(CorpusSet::named(set)?, grades, class)?;
    let (number, usual) = match *figure {
        "rows" => (score.rows as f64, 0),
        "rule_factor" => (score.rule.factor, 2),
        "median" => (score.model.median_percent, 1),
        "factor" => (score.model.factor, 2),
        "nearer" => (score.nearer_percent, 0),
        "tied" => (score.tied_percent, 0),
        "rule_nearer" => (score.rule_nearer_percent, 0),
        "coverage" => (score.coverage_percent?, 0),
        "width" => (score.width?, 1),
        _ => return None,
    };
    let digits = digits.unwrap_or(usual);
    Some(format!("{number:.digits$}"))
}

/// Saves figures, and writes the tables that show them.
///
/// # Errors
/// Returns an error if the file or a document cannot be written. The figures are saved before any document is written.
pub fn save(
    root: &Path,
    file: &crate::figures::FiguresFile,
    text: &str,
) -> Result<Vec<&'static str>, ValidationError> {
    file.write(text)?;
    render(root).map_err(|error| {
        let hint = format!("the figures are saved; correct this, then run `{RENDER}`");
        ValidationError::Lab(LabError::run(error.to_string()).hint(hint))
    })
}
