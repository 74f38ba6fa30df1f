//! Files of other programs on the command line: notes about imported workloads, and results in other formats.

use clap::ValueEnum;
use lanemark_formats::crystaldiskmark::{self, LineEnd};
use lanemark_formats::{SupportLevel, continuous, fio_json};
use lanemark_lab::columns::{Column, ColumnValues, RunTable};
use lanemark_lab::json;
use lanemark_lab::opened::OpenedWorkload;
use lanemark_schema::result::RunResult;
use lanemark_schema::text::{csv_text, shown};

use crate::output;
use crate::output::failure::Failure;
use crate::output::messages::tell;

/// A format for another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForeignFormat {
    /// The JSON that fio prints with --output-format=json+
    FioJson,
    /// The text that CrystalDiskMark copies to the clipboard, with medians
    #[value(name = "crystaldiskmark")]
    CrystalDiskMark,
    /// Bencher Metric Format: requests per second and mean latency
    Bencher,
    /// The rates for github-action-benchmark, tool customBiggerIsBetter
    GithubBenchmark,
    /// Columns as CSV, with one row per test
    Csv,
}

/// Prints on stderr the settings that are applied only approximately.
pub(crate) fn tell_notes(opened: &OpenedWorkload) {
    for note in opened.notes.iter().filter(|note| note.kept == SupportLevel::Nearly) {
        tell!("note: {note}");
    }
    let needless = opened.notes.iter().filter(|note| note.kept == SupportLevel::Needless);
    let mut names: Vec<&str> = needless.map(|note| note.option.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        tell!("note: these options are not used here: {}", names.join(", "));
    }
}

/// Prints the notes of [`tell_notes`], and the settings that a job file does not state and for which fio and Lanemark
/// have different defaults.
pub(crate) fn tell(opened: &OpenedWorkload, buffered: bool) {
    tell_notes(opened);
    if opened.settings.as_ref().is_some_and(|settings| settings.direct.is_none()) && !buffered {
        tell!(
            "note: the page cache is bypassed, but fio would use it by default; to use it, add --buffered"
        );
    }
    if opened.needs_page_cache() {
        tell!("note: the page cache is used, because direct I/O requires multiples of 512 B");
    }
}

/// Returns the result in another program's format.
pub(crate) fn foreign(result: &RunResult, format: ForeignFormat) -> String {
    match format {
        ForeignFormat::Csv => csv(&RunTable::Tests.columns(result)),
        ForeignFormat::FioJson => {
            let began = humantime::parse_rfc3339(&result.provenance.started_at).ok();
            let since = began.and_then(|began| began.duration_since(std::time::UNIX_EPOCH).ok());
            fio_json::write(result, since.map_or(0, |since| since.as_secs()))
        }
        ForeignFormat::CrystalDiskMark => crystaldiskmark::write(result, LineEnd::CrLf),
        ForeignFormat::Bencher => continuous::bencher(result),
        ForeignFormat::GithubBenchmark => continuous::github_benchmark(result),
    }
}

/// Returns columns as CSV, in which every row is one line; an unknown value is empty.
pub(crate) fn csv(columns: &[Column]) -> String {
    let rows = columns.first().map_or(0, |column| match &column.values {
        ColumnValues::Whole(values) => values.len(),
        ColumnValues::MaybeWhole(values) => values.len(),
        ColumnValues::Numbers(values) => values.len(),
        ColumnValues::Texts(values) => values.len(),
    });
    let cell = |column: &Column, row: usize| match &column.values {
        ColumnValues::Whole(values) => values[row].to_string(),
        ColumnValues::MaybeWhole(values) => {
            values[row].map_or(String::new(), |value| value.to_string())
        }
        ColumnValues::Numbers(values) => {
            values[row].map_or(String::new(), |value| value.to_string())
        }
        ColumnValues::Texts(values) => {
            values[row].as_deref().map_or(String::new(), |text| shown(text).into_owned())
        }
    };
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let row = |row: usize| columns.iter().map(|column| cell(column, row)).collect();
    csv_text(std::iter::once(names).chain((0..rows).map(row)))
}

/// The sections that are printed below a table on request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestedSections {
    /// The details of each test.
    pub(crate) detail: bool,
    /// The sources of a model's values.
    pub(crate) evidence: bool,
}

/// Appends `more` to a text, separated by an empty line, unless `more` is empty.
pub(crate) fn with(text: String, more: &str) -> String {
    if more.is_empty() { text } else { format!("{text}\n{more}") }
}

/// Formats a result for stdout: another program's format, JSON, or a table followed by the requested parts.
pub(crate) fn result_text(
    result: &RunResult,
    json: bool,
    format: Option<ForeignFormat>,
    requested: RequestedSections,
) -> Result<String, Failure> {
    if let Some(format) = format {
        return Ok(foreign(result, format));
    }
    if json {
        return Ok(json::text(result)?);
    }
    let style = output::style();
    let mut text = lanemark_report::run_table(result, &style);
    if requested.detail {
        text = with(text, &lanemark_report::test_details(result, &style));
    }
    if requested.evidence {
        text = with(text, &lanemark_report::run_evidence(result, &style));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_rows_with_quoted_texts_and_empty_unknowns() {
        let text = |text: &str| Some(text.to_owned());
        let columns = [
            Column {
                name: "a, b".to_owned(),
                values: ColumnValues::Texts(vec![text("x"), None, text("\"y\", z"), text("p\nq")]),
            },
            Column { name: "count".to_owned(), values: ColumnValues::Whole(vec![7, -3, 0, 12]) },
            Column {
                name: "rate".to_owned(),
                values: ColumnValues::Numbers(vec![Some(1.5), None, Some(2.0), Some(-0.25)]),
            },
        ];
        let wanted = "\"a, b\",count,rate\nx,7,1.5\n,-3,\n\"\"\"y\"\", z\",0,2\np q,12,-0.25\n";
        assert_eq!(csv(&columns), wanted);
        assert_eq!(csv(&columns[1..]), "count,rate\n7,1.5\n-3,\n0,2\n12,-0.25\n");
        // A reader would skip an empty line.
        assert_eq!(csv(&columns[2..]), "rate\n1.5\n\"\"\n2\n-0.25\n");
    }

    #[test]
    fn more_text_follows_after_an_empty_line() {
        assert_eq!(with("a\n".to_owned(), "b\n"), "a\n\nb\n");
        assert_eq!(with("a\n".to_owned(), ""), "a\n");
    }
}
