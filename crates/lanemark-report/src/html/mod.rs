//! The HTML report: one self-contained file that refers to no external file and uses no web fonts. Its only script
//! adds the buttons that save a chart (`save.js`); the page's policy allows no other script and no request.
//!
//! The page begins with the answer, followed by the evidence. It adapts to the reader's preference for light or dark
//! colours, to the width of a phone, and to paper. maud escapes all names from results; only this crate's own style
//! sheet is written into the page unescaped.

mod budget;
mod chart;
#[cfg(test)]
mod colour_tests;
mod database;
mod detail;
pub(crate) mod evidence;
mod family;
mod family_chart;
pub(crate) mod grid;
mod heat;
mod latency;
mod plot;
pub(crate) mod provenance;
mod ratios;
mod results_answer;
mod sensitivity;
mod series;
mod served;
mod short;
mod time_split;

use base64::prelude::{BASE64_STANDARD, Engine};
use lanemark_schema::result::{Provenance, RunResult, StudyOutcome, Target};
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use sha2::{Digest, Sha256};

pub(crate) use grid::typeset;
pub use plot::{PLOT_MARK, PlotStyle, ResultChart, ResultPlot, plot};
pub use results_answer::results_answer;

use crate::blocks::energy;
use crate::run::{durable, run_table, transactions, trial};
use crate::study::{figure_table, study_answer};
use crate::text::{metric, target};

/// All style rules of a page.
const STYLE: &str = concat!(
    include_str!("../charts/colours.css"),
    include_str!("style.css"),
    include_str!("../charts/marks.css")
);

/// The script whose function `save_buttons` adds the buttons to a chart. The page of the laboratory uses it, too.
pub const SAVE_BUTTONS: &str = include_str!("save.js");

/// The script of a page, which adds the buttons to each chart.
static SAVE: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
    let functions = SAVE_BUTTONS.replace("export ", "");
    format!(
        "(() => {{\n'use strict';\n{functions}document.querySelectorAll('figure').forEach((figure) => {{\n  \
         const svg = figure.querySelector('svg[role=img]');\n  save_buttons(figure, \
         figure.querySelector('figcaption')?.textContent || svg?.getAttribute('aria-label') || 'chart');\n}});\n}})();\n"
    )
});

/// Minimum number of sections for which a page has a list of contents.
const LISTED: usize = 5;

/// Maximum number of runs that are described directly under the title. If there are more, all of them are described in
/// a collapsed section.
const TOLD: usize = 6;

/// Writes one self-contained HTML file about a study, about runs, or about a study and runs.
pub fn html(study: Option<&StudyOutcome>, runs: &[&RunResult]) -> String {
    let runs = labelled(runs, study.is_some());
    let title = match (study, runs.first()) {
        (Some(study), _) => study.title.as_str(),
        (None, Some((_, run))) => run.workload.name.as_str(),
        (None, None) => "No results",
    };
    let content = markup! {
        (header(title, study, &runs))
        (sections(study, &runs))
    };
    page(title, &content)
}

pub(crate) fn page(title: &str, content: &Markup) -> String {
    let digest = BASE64_STANDARD.encode(Sha256::digest(SAVE.as_bytes()));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    );
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content="Lanemark";
                meta name="color-scheme" content="light dark";
                title { (title) " · Lanemark" }
                style { (PreEscaped(STYLE)) }
            }
            body { main {
                (content)
                footer { "Lanemark · MB is 10⁶ bytes, MiB 2²⁰. – means not known." }
            }
            script { (PreEscaped(SAVE.as_str())) }
            }
        }
    };
    short::without_end_tags(page.into_string())
}

fn header(title: &str, study: Option<&StudyOutcome>, runs: &[(String, &RunResult)]) -> Markup {
    markup! {
        header {
            h1 { (title) }
            @if let Some(study) = study {
                p class="question" { (study.question) }
                @if !study.document.citation.is_empty() {
                    p class="soft" { "Compared with " (study.document.citation) }
                }
                div class="answer" { p { (study_answer(study)) } }
            } @else {
                @let bare: Vec<&RunResult> = runs.iter().map(|(_, run)| *run).filter(|run| !run.tests.is_empty()).collect();
                @let summary = results_answer(None, &bare).filter(|_| !bare.is_empty());
                @if let Some(summary) = summary { div class="answer" { p { (summary) } } }
                @let sentences: Vec<String> = runs.iter().map(|(_, run)| target::sentence(run)).collect();
                @if runs.len() > TOLD {
                    details {
                        summary { "The " (runs.len()) " runs" }
                        ul class="soft" { @for sentence in &sentences { li { (sentence) } } }
                    }
                } @else {
                    @for sentence in &sentences { p class="soft" { (sentence) } }
                }
            }
        }
    }
}

/// The sections of a page in order.
#[derive(Default)]
struct Sections(Vec<(&'static str, Markup)>);

impl Sections {
    fn add(&mut self, heading: &'static str, content: impl Into<Option<Markup>>) {
        self.0.extend(content.into().map(|content| (heading, content)));
    }

    /// Writes the sections, after a list of contents if there are enough of them.
    fn draw(&self) -> Markup {
        markup! {
            @if self.0.len() >= LISTED {
                nav class="contents" aria-label="Contents" {
                    ul { @for (heading, _) in &self.0 { li { a href=(format!("#{}", anchor(heading))) { (heading) } } } }
                }
            }
            @for (heading, content) in &self.0 {
                section id=(anchor(heading)) { h2 { (heading) } (content) }
            }
        }
    }
}

/// Returns the anchor of a heading, such as `what-would-help`.
fn anchor(heading: &str) -> String {
    heading.to_lowercase().replace(' ', "-")
}

fn sections(study: Option<&StudyOutcome>, runs: &[(String, &RunResult)]) -> Markup {
    let mut all: Vec<(String, &RunResult)> = Vec::new();
    if let Some(study) = study {
        all.extend(study.systems.iter().map(|system| (system.label.clone(), &system.run)));
    }
    all.extend(runs.iter().cloned());
    let tested = all.iter().any(|(_, run)| !run.tests.is_empty());
    let named = named(&all);
    let mut page = Sections::default();
    match study {
        Some(study) if study.figures.is_empty() => {
            page.add("Simulated", chart::study(study, runs));
            page.add("Figures", figures(study, runs));
        }
        Some(study) => {
            page.add("Published and simulated", chart::study(study, runs));
            page.add("Figures and errors", figures(study, runs));
        }
        None if tested => {
            page.add("Trial", programs(&named));
            page.add("Transactions", database::side_by_side(&named));
            page.add("Throughput", chart::runs(runs));
        }
        None => {}
    }
    page.add("Ratios", ratios::section(&all));
    page.add("Latency over load", family_chart::over_load(&all));
    page.add("How latencies are distributed", latency::distributions(&all));
    page.add("Modelled and delivered", served::delivered_section(&all));
    page.add("Over time", series::over_time(&all));
    page.add("Where the time goes", budget::budgets(&all));
    page.add("What would help", sensitivity::gains(&all));
    page.add("Throughput and latency", tested.then(|| latencies(&named)));
    page.add("Tests in detail", detail::tests(&all));
    page.add("Power", power(&named));
    page.add("Calibrations", study.and_then(evidence::calibrations));
    page.add("Model values", evidence::models(&all));
    page.add("Not modelled", study.and_then(evidence::not_modelled));
    page.add("Notes", study.and_then(evidence::notes));
    page.add("Warnings", evidence::warnings(study, &self::named(runs)));
    let results = provenance_list(study, runs);
    page.add("Provenance", (!results.is_empty()).then(|| provenance::provenances(&results)));
    page.draw()
}

fn named<'r>(runs: &'r [(String, &'r RunResult)]) -> Vec<(&'r str, &'r RunResult)> {
    runs.iter().map(|(label, run)| (label.as_str(), *run)).collect()
}

fn figures(study: &StudyOutcome, runs: &[(String, &RunResult)]) -> Markup {
    let predicted = study.figures.iter().all(|check| study.interval(&check.figure).is_some());
    markup! {
        @if !study.figures.is_empty() { (evidence::errors(study)) }
        @for metric in figure_table::metrics(study) {
            @let heading = grid::typeset(metric::heading(metric));
            h3 { (heading) }
            (grid::grid(&figure_table::table(study, metric, runs), &heading))
        }
        p class="soft" {
            @if !study.figures.is_empty() { "Errors in parentheses belong to calibrated figures." }
            @if !predicted { " Spread is half the range over repeats." }
            @if !runs.is_empty() { " Results measured here are from other hardware, so their error is not shown." }
        }
    }
}

fn latencies(runs: &[(&str, &RunResult)]) -> Markup {
    let notes = |run: &RunResult| -> Vec<String> {
        // The first sentence of a page with one run reports its flushes.
        let flushes = if runs.len() > 1 { durable::sentences(run) } else { Vec::new() };
        let notes = run_table::notes(run).into_iter();
        notes.chain(run_table::widest_interval_note(run)).chain(flushes).collect()
    };
    markup! {
        (grid::grid(&run_table::figures(runs), "Throughput and latency"))
        @if let Some(table) = transactions::by_test(runs) { (grid::grid(&table, "Transactions")) }
        p class="soft" { "Percentiles are absent if too few requests support them." }
        @for (note, names) in shared(runs, notes) {
            p class="soft" {
                @if names.len() < runs.len() { (names.join(", ")) ": " }
                (note)
            }
        }
    }
}

/// Returns what `list` contains for any run, each item once, with the labels of its runs.
fn shared<'l, T: PartialEq>(
    runs: &[(&'l str, &RunResult)],
    list: impl Fn(&RunResult) -> Vec<T>,
) -> Vec<(T, Vec<&'l str>)> {
    let mut all: Vec<(T, Vec<&'l str>)> = Vec::new();
    for (label, run) in runs {
        for item in list(run) {
            match all.iter_mut().find(|(known, _)| *known == item) {
                Some((_, labels)) => labels.push(label),
                None => all.push((item, vec![label])),
            }
        }
    }
    all
}

/// Writes the power of the drives by test; `None` if it is unknown in all runs.
fn power(runs: &[(&str, &RunResult)]) -> Option<Markup> {
    let table = energy::by_test(runs)?;
    Some(markup! {
        p class="soft" {
            "Simulated: the power of each state and operation, multiplied by its time. Drives \
             without published power figures are not shown."
        }
        (grid::grid(&table, "Power"))
    })
}

/// Writes the table of a trial; `None` if the runs are not a trial.
fn programs(runs: &[(&str, &RunResult)]) -> Option<Markup> {
    let runs: Vec<&RunResult> = runs.iter().map(|(_, run)| *run).collect();
    let table = trial::table(&runs)?;
    Some(markup! {
        p class="soft" {
            "A program ran on each served system in turn. Waiting is the share of the program's time during which requests were outstanding on the system. Ratios are relative to the first system."
        }
        (grid::grid(&table, "Trial"))
        @for note in trial::notes(&runs) { p class="soft" { (note) } }
        @let cuts: Vec<String> = runs.iter().flat_map(|run| trial::cut_texts(run)).collect();
        @if !cuts.is_empty() { ul { @for cut in &cuts { li { (cut) } } } }
    })
}

fn provenance_list<'a>(
    study: Option<&'a StudyOutcome>,
    runs: &[(String, &'a RunResult)],
) -> Vec<(String, &'a Provenance)> {
    let study = study.map(|study| (format!("Study {}", study.id), &study.provenance));
    let runs = runs.iter().map(|(label, run)| (label.clone(), &run.provenance));
    study.into_iter().chain(runs).collect()
}

/// Labels the runs with distinct names. A single run that was measured alongside a study is called `measured here`.
fn labelled<'a>(runs: &[&'a RunResult], beside_study: bool) -> Vec<(String, &'a RunResult)> {
    let name = |run: &RunResult| {
        if matches!(run.target, Target::Measured(_)) && beside_study && runs.len() == 1 {
            "measured here".to_owned()
        } else {
            run.target_name()
        }
    };
    let mut labelled: Vec<(String, &RunResult)> = Vec::new();
    for run in runs {
        let own = name(run);
        let before = labelled.iter().filter(|(_, other)| name(other) == own).count();
        let label = if before == 0 { own } else { format!("{own} ({})", before + 1) };
        labelled.push((label, run));
    }
    labelled
}
