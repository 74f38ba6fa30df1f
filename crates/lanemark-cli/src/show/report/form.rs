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
use crate::output::failure::Failure;
use crate::output::formats::{self, ForeignFormat};
use crate::output::outlets::{PAGE, PLOT, WORKLOAD};
use crate::output::saving::{Destination, ResultSaver};

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
                .hint(format!(
                    "use a name that ends in {endings}, or a folder with / at its end; for a PNG, use the button \
                     next to a chart on the page"
                ))
        })
    }

    /// Reserves the name of the file, before results are read.
    pub(super) fn reserve(self, out: &Path) -> Result<Reservation, Failure> {
        Ok(match self {
            Self::Page => Reservation::Marked(OutputFile::open(out, &PAGE)?),
            Self::Chart => Reservation::Marked(OutputFile::open(out, &PLOT)?),
            Self::Workload => Reservation::Marked(OutputFile::open(out, &WORKLOAD)?),
            Self::FioJson | Self::Csv | Self::Text => {
                refuse_other(out)?;
                Reservation::New(ReservedName::with_folders(out)?)
            }
            Self::Saved | Self::FioFolder => Reservation::Later,
        })
    }

    /// Writes the results in this form.
    pub(super) fn write(
        self,
        args: &ReportArgs,
        set: &ResultSet,
        out: &Path,
        reservation: &Reservation,
    ) -> Result<(), Failure> {
        match self {
            Self::Page => {
                let runs: Vec<&RunResult> = set.runs.iter().collect();
                reservation.write(&lanemark_report::html(set.study.as_ref(), &runs))
            }
            Self::Chart => reservation.write(&draw(args, set)?),
            Self::Saved => {
                let run = set.only_run()?;
                let what = format!("report-{}", run.workload.id);
                let started_at = &run.provenance.started_at;
                let saver = ResultSaver::open(Destination::Requested(out), &what, started_at)?;
                Ok(saver.save_run(run)?)
            }
            Self::FioJson => {
                let run = set.only_run()?;
                check_requests(run)?;
                reservation.write(&fio_json(run))
            }
            Self::FioFolder => write_folder(set.only_run()?, out),
            Self::Csv => reservation.write(&super::csv(args, set.only_run()?)),
            Self::Text => reservation.write(&super::table(set)?),
            Self::Workload => {
                let run = set.only_run()?;
                if !matches!(run.target, Target::Database(_)) {
                    let message = "only a run on a database becomes a workload";
                    return Err(
                        Failure::input(message).hint("use a result that `lanemark oltp run` saved")
                    );
                }
                reservation.write(&lanemark_oltp::workload(run)?)
            }
        }
    }
}

/// The reserved name of a file.
pub(super) enum Reservation {
    /// A file that may replace a file of the same type.
    Marked(OutputFile),
    /// A new file.
    New(ReservedName),
    /// The names depend on the results.
    Later,
}

impl Reservation {
    fn write(&self, text: &str) -> Result<(), Failure> {
        match self {
            Self::Marked(file) => Ok(file.write(text)?),
            Self::New(file) => Ok(file.write(text.as_bytes())?),
            Self::Later => Ok(()),
        }
    }
}

fn fio_json(run: &RunResult) -> String {
    formats::foreign(run, ForeignFormat::FioJson)
}

/// Returns the drawing of the requested chart.
fn draw(args: &ReportArgs, set: &ResultSet) -> Result<String, Failure> {
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
    Ok(plot.svg)
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
