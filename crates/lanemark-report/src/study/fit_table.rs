//! The model of a fitted drive: its values with their intervals, the values that the measurements leave undetermined,
//! and the errors of the fit.

use lanemark_schema::result::{
    Determination, FigureKind, FittedDrive, FittedFigure, FittedParameter,
};

use crate::terminal::warnings::write_warnings;
use crate::terminal::{Style, TerminalText};
use crate::text::number::{ABSENT, LatencyUnit, fixed, percent, percent_signed, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// Relative error above which a figure is marked.
const ERROR_LARGE: f64 = 0.10;

/// Writes a table of the fitted drive's values and a comparison of measured and modelled figures, then the undetermined
/// values and the warnings.
pub fn fit_table(fitted: &FittedDrive, style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    let FittedDrive { measured, platform, port, template, .. } = fitted;
    sheet.answer(&answer(fitted));
    sheet.heading(&format!("{measured}, fitted in {port} of {platform}, like {template}"));
    sheet.blank();
    sheet.table(&values(fitted));
    for setting in &fitted.host {
        let parameter = &setting.parameter;
        let value = &setting.value;
        let reason = setting.reason.as_deref().unwrap_or("as measured");
        sheet.item("- ", &format!("{parameter} = {value}: {reason}"), CellEmphasis::Faint);
    }
    sheet.blank();
    sheet.heading("Measured, and predicted by the fitted model");
    sheet.blank();
    sheet.table(&figures(fitted));
    sheet.blank();
    sheet.paragraph(&format!("The fit ran {} short simulations.", fitted.simulations));
    open(&mut sheet, fitted);
    let listed: Vec<(String, Option<&'static str>)> = fitted
        .warnings
        .iter()
        .map(|warning| (warning.to_string(), Some(warning.advice())))
        .collect();
    write_warnings(&mut sheet, &listed);
    sheet.finish()
}

/// Returns a sentence such as `The fitted model of Drive X is within 1.3% of the throughput in half of 12 tests; its
/// largest error is 4.2%; …`.
fn answer(fitted: &FittedDrive) -> String {
    let errors = fitted.errors();
    let is_identified =
        |parameter: &&FittedParameter| parameter.standing == Determination::Identified;
    let set = fitted.parameters.iter().filter(is_identified).count();
    let all = fitted.parameters.len();
    let of = format!("the measurements determine {set} of {all} values");
    let name = &fitted.measured;
    match errors.as_slice() {
        [] => format!("No tests remain for fitting {name}; {of}."),
        [only] => format!(
            "The fitted model of {name} is within {} of the throughput in the only test; {of}.",
            percent(*only)
        ),
        [.., most] => format!(
            "The fitted model of {name} is within {} of the throughput in half of {} tests; its largest \
             error is {}; {of}.",
            percent(errors[errors.len() / 2]),
            errors.len(),
            percent(*most)
        ),
    }
}

fn values(fitted: &FittedDrive) -> Table {
    let mut table = Table::new(vec![
        Column::name("value"),
        Column::text("fitted"),
        Column::text("80% from"),
        Column::text("to"),
        Column::text("template").optional(2),
        Column::text("identified").optional(1),
    ]);
    let absent = || ABSENT.to_owned();
    for parameter in &fitted.parameters {
        let FittedParameter { value, range_80, template, standing, .. } = parameter;
        let (low, high) = range_80.clone().unwrap_or_else(|| (absent(), absent()));
        let (ink, text) = match standing {
            Determination::Identified => (CellEmphasis::Strong, ""),
            Determination::Open { kept_template: true, .. } => {
                (CellEmphasis::Faint, "no: template value")
            }
            Determination::Open { .. } => (CellEmphasis::Plain, "no: a bound"),
        };
        let no_limit_text = || "no limit".to_owned();
        table.push(vec![
            Cell::plain(&parameter.parameter),
            Cell::inked(value.clone().unwrap_or_else(no_limit_text), ink),
            Cell::plain(low),
            Cell::plain(high),
            Cell::inked(template.clone().unwrap_or_else(no_limit_text), CellEmphasis::Faint),
            Cell::inked(text, CellEmphasis::Faint),
        ]);
    }
    table
}

/// Builds one row per test, and a second row for the writes of a mixed test.
fn figures(fitted: &FittedDrive) -> Table {
    let means = [FigureKind::ReadMean, FigureKind::WriteMean];
    let latencies = fitted.figures.iter().filter(|figure| means.contains(&figure.kind));
    let unit = LatencyUnit::fitting(latencies.map(|figure| figure.measured));
    let mut table = Table::new(vec![
        Column::name("test"),
        Column::number("MB/s", "10^6 B/s"),
        Column::number("model", "10^6 B/s"),
        Column::number("error", ""),
        Column::number("IOPS", "1/s").optional(2),
        Column::number("model", "1/s").optional(2),
        Column::number("mean", unit.name()).optional(1),
        Column::number("model", unit.name()).optional(1),
        Column::number("error", "").optional(1),
        Column::number("p99 error", "").optional(3),
    ]);
    let mut tests: Vec<&str> = Vec::new();
    for figure in &fitted.figures {
        if !tests.contains(&figure.test.as_str()) {
            tests.push(&figure.test);
        }
    }
    for test in tests {
        let figure_of_kind =
            |kind| fitted.figures.iter().find(|figure| figure.test == test && figure.kind == kind);
        let directions = [
            (FigureKind::ReadMean, FigureKind::ReadTail),
            (FigureKind::WriteMean, FigureKind::WriteTail),
        ];
        let there = directions.into_iter().filter(|(mean, _)| figure_of_kind(*mean).is_some());
        for (row, (mean, tail)) in there.enumerate() {
            let rate = if row == 0 { figure_of_kind(FigureKind::Throughput) } else { None };
            let name = if row == 0 { test.to_owned() } else { format!("{test}, its writes") };
            let mut cells = vec![Cell::plain(name)];
            cells.extend(pair(rate, |rate| significant(rate / 1e6)));
            cells.push(error(rate));
            let request = rate.map_or(1.0, |rate| rate.request_bytes);
            cells.extend(pair(rate, |rate| fixed(rate / request, 0)));
            cells.extend(pair(figure_of_kind(mean), |ns| significant(unit.convert(ns))));
            cells.push(error(figure_of_kind(mean)));
            cells.push(error(figure_of_kind(tail)));
            table.push(cells);
        }
    }
    table
}

fn pair(figure: Option<&FittedFigure>, text: impl Fn(f64) -> String) -> [Cell; 2] {
    match figure {
        Some(figure) => [figure.measured, figure.modelled].map(|value| Cell::plain(text(value))),
        None => [ABSENT, ABSENT].map(Cell::plain),
    }
}

fn error(figure: Option<&FittedFigure>) -> Cell {
    match figure {
        Some(figure) if figure.error().abs() > ERROR_LARGE => {
            Cell::inked(percent_signed(figure.error()), CellEmphasis::Warning)
        }
        Some(figure) => Cell::plain(percent_signed(figure.error())),
        None => Cell::plain(ABSENT),
    }
}

/// Writes the undetermined values and the measurements that would determine them.
fn open(sheet: &mut TerminalText, fitted: &FittedDrive) {
    sheet.blank();
    sheet.heading("Not determined by these measurements");
    for parameter in &fitted.parameters {
        let Determination::Open { kept_template, with, needs } = &parameter.standing else {
            continue;
        };
        let value = parameter.value.as_deref().unwrap_or("no limit");
        let kept_value_phrase =
            if *kept_template { "the template's" } else { "the closest value that fits" };
        let goes = with.as_ref().map(|with| format!(", tied to {with}")).unwrap_or_default();
        let name = &parameter.parameter;
        sheet.item(
            "- ",
            &format!(
                "{name}: {value} is {kept_value_phrase}{goes}. It can be determined with {needs}."
            ),
            CellEmphasis::Plain,
        );
    }
    for unseen in &fitted.unseen {
        sheet.item("- ", &format!("{}: {}.", unseen.parameter, unseen.needs), CellEmphasis::Faint);
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::{ParameterOverride, Provenance, UndeterminedValue};

    use super::*;

    fn parameter(name: &str, value: Option<&str>, standing: Determination) -> FittedParameter {
        let range = |value: &str| (format!("{value} low"), format!("{value} high"));
        FittedParameter {
            parameter: name.to_owned(),
            value: value.map(str::to_owned),
            interval_95: None,
            range_80: value.map(range),
            template: Some("50 us".to_owned()),
            standing,
        }
    }

    fn figure(test: &str, kind: FigureKind, measured: f64, modelled: f64) -> FittedFigure {
        FittedFigure { test: test.to_owned(), kind, request_bytes: 4096.0, measured, modelled }
    }

    fn fitted() -> FittedDrive {
        let open = |kept_template, with: Option<&str>| Determination::Open {
            kept_template,
            with: with.map(str::to_owned),
            needs: "a longer test".to_owned(),
        };
        FittedDrive {
            schema_version: 1,
            provenance: Provenance::default(),
            measured: "the drive".to_owned(),
            results: vec!["run.json".to_owned()],
            template: "generic-nvme".to_owned(),
            platform: "a-board".to_owned(),
            port: "m2".to_owned(),
            parameters: vec![
                parameter("drive.flash.read", Some("52.1 us"), Determination::Identified),
                parameter("drive.flash.program", Some("600 us"), open(true, None)),
                parameter("drive.data_path.read", None, open(false, Some("drive.flash.read"))),
            ],
            host: vec![ParameterOverride {
                parameter: "platform.nvme.driver_time".to_owned(),
                value: "2.8 us".to_owned(),
                figure: None,
                reason: None,
            }],
            figures: vec![
                figure("reads", FigureKind::Throughput, 40.96e6, 45.056e6),
                figure("reads", FigureKind::ReadMean, 100e3, 111e3),
                figure("reads", FigureKind::ReadTail, 200e3, 190e3),
                figure("mixed", FigureKind::Throughput, 20.48e6, 20.48e6),
                figure("mixed", FigureKind::ReadMean, 150e3, 150e3),
                figure("mixed", FigureKind::WriteMean, 50e3, 49e3),
            ],
            unseen: vec![UndeterminedValue {
                parameter: "drive.flash.erase".to_owned(),
                needs: "steady writes".to_owned(),
            }],
            warnings: Vec::new(),
            simulations: 1234,
        }
    }

    /// Returns the cells of the first line that contains `name`, without spaces.
    fn row(text: &str, name: &str) -> Vec<String> {
        let line = text.lines().find(|line| line.contains(name));
        let line = line.unwrap_or_else(|| panic!("{name} in {text}"));
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_value_figure_and_gap_of_a_fit_is_printed() {
        let text = fit_table(&fitted(), &Style { width: 240, colour: false });
        assert!(text.contains("the drive, fitted in m2 of a-board, like generic-nvme"), "{text}");
        let read = row(&text, "drive.flash.read");
        let wanted = ["drive.flash.read", "52.1", "us", "52.1", "us", "low", "52.1", "us", "high"];
        assert_eq!(read[..9], wanted, "{text}");
        assert!(row(&text, "drive.flash.program").concat().ends_with("no:templatevalue"), "{text}");
        let path = row(&text, "drive.data_path.read").concat();
        assert!(path.contains("nolimit") && path.ends_with("no:abound"), "{text}");
        for part in [
            "platform.nvme.driver_time = 2.8 us: as measured",
            "drive.flash.program: 600 us is the template's. It can be determined with a longer test.",
            "drive.data_path.read: no limit is the closest value that fits, tied to drive.flash.read. It can be determined with",
            "drive.flash.erase: steady writes.",
            "The fit ran 1234 short simulations.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // Throughput, requests a second and latency are listed as measured, as modelled, and with the error.
        let reads = row(&text, "reads ");
        let wanted = [
            "reads", "41.0", "45.1", "+10.0%", "10,000", "11,000", "100", "111", "+11.0%", "-5.0%",
        ];
        assert_eq!(reads, wanted, "{text}");
        let mixed = row(&text, "mixed, its writes").concat();
        assert!(mixed.contains("50.0") && mixed.contains("49.0"), "{text}");
    }

    #[test]
    fn a_fit_without_figures_says_so() {
        let fitted = FittedDrive { figures: Vec::new(), parameters: Vec::new(), ..fitted() };
        let text = fit_table(&fitted, &Style { width: 80, colour: false });
        assert!(text.contains("No tests remain for fitting"), "{text}");
    }
}
