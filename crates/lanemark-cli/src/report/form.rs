//! The forms in which results are written, selected by the name of the file.

use std::path::Path;

use lanemark_lab::ResultSet;
use lanemark_lab::reserved::ReservedName;
use lanemark_lab::results::OutputFile;
use lanemark_report::{PlotStyle, ResultChart};
use lanemark_schema::result::{RunResult, Target};
use lanemark_study::workload;

use super::check_requests;
use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::formats::{self, OutputFormat};
use crate::outlets::{PAGE, PLOT, WORKLOAD};
use crate::saving::{Destination, ResultSaver};

/// A form of results in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutForm {
    /// A page with all results.
    Page,
    /// A drawing of one chart.
    Chart,
    /// One result as Lanemark saves it.
    Saved,
    /// One result as fio prints it.
    FioJson,
    /// A folder with one file in fio's form for each test.
    FioFolder,
    /// A table of one result.
    Csv,
    /// The text that is printed without a file.
    Text,
    /// The requests of a database run as a workload.
    Workload,
}

/// Endings of names, and the forms that they select; the first that matches applies.
const ENDINGS: [(&str, OutForm); 7] = [
    (".html", OutForm::Page),
    (".svg", OutForm::Chart),
    (".fio.json", OutForm::FioJson),
    (".json", OutForm::Saved),
    (".csv", OutForm::Csv),
    (".txt", OutForm::Text),
    (".toml", OutForm::Workload),
];

impl OutForm {
    /// Returns the form that the name of a file or folder selects.
    pub(super) fn from_name(out: &Path) -> Result<Self, Failure> {
        let name = out.to_string_lossy().to_lowercase();
        if name.ends_with('/') || out.is_dir() {
            return Ok(Self::FioFolder);
        }
        let form = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        form.map(|(_, form)| *form).ok_or_else(|| {
            let endings = ENDINGS.map(|(ending, _)| ending).join(", ");
            Failure::input(format!("--out {}: the name selects no form", out.display()))
                .hint(format!("use a name that ends in {endings}, or a folder with / at its end"))
        })
    }

    /// Writes the results in this form.
    pub(super) fn write(
        self,
        args: &ReportArgs,
        set: &ResultSet,
        out: &Path,
    ) -> Result<(), Failure> {
        match self {
            Self::Page => {
                let page = OutputFile::open(out, &PAGE)?;
                let runs: Vec<&RunResult> = set.runs.iter().collect();
                page.write(&lanemark_report::html(set.study.as_ref(), &runs))?;
            }
            Self::Chart => draw(args, set, out)?,
            Self::Saved => {
                let run = set.only_run()?;
                let what = format!("report-{}", run.workload.id);
                let started_at = &run.provenance.started_at;
                let saver = ResultSaver::open(Destination::Requested(out), &what, started_at)?;
                saver.save_run(run)?;
            }
            Self::FioJson => {
                let run = set.only_run()?;
                check_requests(run)?;
                write_new(out, &fio_json(run))?;
            }
            Self::FioFolder => write_folder(set.only_run()?, out)?,
            Self::Csv => write_new(out, &super::csv(args, set.only_run()?))?,
            Self::Text => write_new(out, &super::table(set)?)?,
            Self::Workload => {
                let run = set.only_run()?;
                if !matches!(run.target, Target::Database(_)) {
                    let message = "only a run on a database becomes a workload";
                    return Err(
                        Failure::input(message).hint("use a result that `lanemark oltp run` saved")
                    );
                }
                OutputFile::open(out, &WORKLOAD)?.write(&lanemark_oltp::workload(run)?)?;
            }
        }
        Ok(())
    }
}

fn fio_json(run: &RunResult) -> String {
    formats::foreign(run, Some(OutputFormat::FioJson)).unwrap_or_default()
}

/// Draws the requested chart.
fn draw(args: &ReportArgs, set: &ResultSet, out: &Path) -> Result<(), Failure> {
    let outlet = OutputFile::open(out, &PLOT)?;
    let chart = &args.chart;
    let runs: Vec<&RunResult> = set.runs.iter().collect();
    let style = PlotStyle { dark: chart.dark, columns: chart.columns.into() };
    let panel = chart.panel.as_deref();
    let kind = ResultChart::from(chart.chart);
    let plot = lanemark_report::plot(set.study.as_ref(), &runs, kind, panel, style);
    let plot = plot.ok_or_else(|| {
        let message =
            format!("--chart {}: the results contain no data for this chart", chart.chart);
        let failure = Failure::input(message);
        match panel {
            Some(panel) => failure.hint(format!("no panel has a title that contains `{panel}`")),
            None => failure.hint(chart.chart.needs()),
        }
    })?;
    Ok(outlet.write(&plot.svg)?)
}

/// Writes a new file.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    refuse_other(path)?;
    Ok(ReservedName::with_folders(path)?.write(text.as_bytes())?)
}

/// Writes one file per test.
fn write_folder(run: &RunResult, folder: &Path) -> Result<(), Failure> {
    check_requests(run)?;
    // All names are reserved before the first file is written.
    let mut parts: Vec<(ReservedName, usize)> = Vec::new();
    for (index, test) in run.tests.iter().enumerate() {
        let slug = workload::slug(&test.test.name);
        // The names of two tests may differ only in characters that are omitted from file names.
        let same = parts.iter().filter(|(part, _)| part.path().file_stem() == Some(slug.as_ref()));
        let name = match same.count() {
            0 => format!("{slug}.json"),
            _ => format!("{slug}-{}.json", index + 1),
        };
        let path = folder.join(name);
        refuse_other(&path)?;
        parts.push((ReservedName::with_folders(&path)?, index));
    }
    for (part, index) in &parts {
        let alone = RunResult { tests: vec![run.tests[*index].clone()], ..run.clone() };
        part.write(fio_json(&alone).as_bytes())?;
    }
    Ok(())
}

/// Refuses to replace an existing file.
fn refuse_other(path: &Path) -> Result<(), Failure> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let message = format!("{} already exists", path.display());
    Err(Failure::refused(message).hint("use a different name, or a different folder"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_matching_ending_selects_the_form() {
        let form = |name: &str| OutForm::from_name(Path::new(name)).ok();
        for (name, wanted) in [
            ("a.fio.json", Some(OutForm::FioJson)),
            ("a.json", Some(OutForm::Saved)),
            ("A.HTML", Some(OutForm::Page)),
            ("folder/", Some(OutForm::FioFolder)),
            ("a.png", None),
            ("a", None),
        ] {
            assert_eq!(form(name), wanted, "{name}");
        }
    }
}
