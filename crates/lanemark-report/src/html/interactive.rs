//! A page with interactive charts: the static page, plus the data of its charts and a chart library.
//!
//! The library is Vega-Lite with its dependencies, in one script that the caller provides (`make charts`). The page
//! contains this script and its own script in compressed form, the compressed data, and a short script that unpacks
//! them. The page's policy allows no other script and no outside request. Without scripts, or in a browser that cannot
//! unpack (before 2023), the page shows its static pictures.

use std::io::Write;

use base64::prelude::{BASE64_STANDARD, Engine};
use flate2::Compression;
use flate2::write::GzEncoder;
use lanemark_schema::result::{RunResult, StudyOutcome};
use maud::{Markup, PreEscaped, html as markup};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::chart::{families, interactive_panels};
use super::lines::{AxisUnit, LineAxis, LineChart, LineSeries};
use super::series::{self, InteractiveRate};
use super::{family_chart, labelled, latency};

/// The script that unpacks the other scripts and the data.
const LOADER: &str = include_str!("unpack.js");
/// The page's own script.
const SCRIPT: &str = include_str!("interactive.js");
pub(super) const STYLE: &str = include_str!("interactive.css");
/// Significant digits of a value in the data.
const DIGITS: usize = 5;
/// Significant digits of the number of nines in a percentile; a percentile with several nines needs many digits.
const DIGITS_OF_NINES: usize = 9;

/// The page's notice about the packed library.
const NOTICE: &str = "Vega, Vega-Lite and vega-interpreter: Copyright (c) 2015-2025, University of \
    Washington Interactive Data Lab and contributors, BSD-3-Clause. The packed script contains the \
    whole licence.";

/// A chart library as text that is safe inside a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartScript(String);

impl ChartScript {
    /// Creates the library from the text of its script.
    ///
    /// # Errors
    /// Returns a text that the script contains and that would end the enclosing element.
    pub fn new(script: String) -> Result<Self, &'static str> {
        let lower = script.to_ascii_lowercase();
        match ["</script", "<!--"].into_iter().find(|end| lower.contains(end)) {
            Some(end) => Err(end),
            None => Ok(Self(script)),
        }
    }
}

/// The parts of a page other than its sections.
pub(super) struct InteractiveParts {
    policy: String,
    /// Compressed data, in base64.
    data: String,
    script: String,
}

impl InteractiveParts {
    /// Packs the charts of a study and runs together with the library that draws them.
    pub(super) fn new(
        study: Option<&StudyOutcome>,
        runs: &[&RunResult],
        library: &ChartScript,
    ) -> Self {
        let script = format!("{}\n{SCRIPT}", library.0);
        let digest = |script: &str| BASE64_STANDARD.encode(Sha256::digest(script.as_bytes()));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}' 'sha256-{}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
            digest(LOADER),
            digest(&script)
        );
        let data = Value::Array(charts(study, runs)).to_string();
        Self { policy, data: packed(&data), script: packed(&script) }
    }

    pub(super) fn head(&self) -> Markup {
        markup! { meta http-equiv="Content-Security-Policy" content=(self.policy); }
    }

    pub(super) fn scripts(&self) -> Markup {
        markup! {
            (PreEscaped(format!("<!-- {NOTICE} -->")))
            script type="text/plain" id="lanemark-charts" { (PreEscaped(&self.data)) }
            script type="text/plain" id="lanemark-library" { (PreEscaped(&self.script)) }
            script { (PreEscaped(LOADER)) }
        }
    }
}

/// Compresses a text with gzip and encodes it in base64, which cannot contain an end tag.
fn packed(text: &str) -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    BASE64_STANDARD.encode(written.expect("a vector accepts all data"))
}

/// Returns the data of all charts of a page.
fn charts(study: Option<&StudyOutcome>, runs: &[&RunResult]) -> Vec<Value> {
    let runs = labelled(runs, study.is_some());
    let mut all: Vec<(String, &RunResult)> = Vec::new();
    if let Some(study) = study {
        all.extend(study.systems.iter().map(|system| (system.label.clone(), &system.run)));
    }
    all.extend(runs.iter().cloned());
    let lines = families(study, &runs)
        .into_iter()
        .chain(family_chart::load_charts(&all))
        .chain(latency::charts(&all));
    let lines = lines.map(|chart| data(&chart.alt_text(), &chart));
    let rates = series::charts(&all);
    let bars = interactive_panels(study, &runs).into_iter().map(|panel| {
        let bars: Vec<Value> = panel.bars.iter().map(|(top, text)| json!([top, text])).collect();
        json!({"label": panel.label, "height": panel.height, "bars": bars})
    });
    lines.chain(rates.iter().map(rate)).chain(bars).collect()
}

/// Returns the data of a rate over time; the time axis is aligned with the rest of the drawing.
fn rate(rate: &InteractiveRate) -> Value {
    let mut value = data(&rate.label, &rate.chart);
    value["rest"] = json!(rate.rest);
    if rate.rest.is_some() {
        value["sides"] = json!([rounded(rate.sides.0), rounded(rate.sides.1)]);
    }
    value
}

/// Returns the data of a chart; `label` describes the drawing.
fn data(label: &str, chart: &LineChart) -> Value {
    let x_text = |x: f64| {
        digits(x, if chart.across.unit == AxisUnit::Nines { DIGITS_OF_NINES } else { DIGITS })
    };
    let line = |line: &LineSeries| {
        let points: Vec<Value> =
            line.points.iter().map(|&(x, y)| json!([x_text(x), rounded(y)])).collect();
        let intervals: Vec<Value> = line
            .intervals
            .iter()
            .map(|&(at, low, high)| json!([x_text(at), rounded(low), rounded(high)]))
            .collect();
        json!({"name": line.name, "style": line.style, "rings": line.rings, "points": points,
            "intervals": intervals})
    };
    json!({
        "label": label,
        "across": axis(&chart.across),
        "up": axis(&chart.up),
        "series": chart.lines.iter().map(line).collect::<Vec<_>>(),
        "marks": chart.marks.iter().map(|mark| json!({"at": rounded(mark.at), "name": mark.name}))
            .collect::<Vec<_>>(),
    })
}

fn axis(scale: &LineAxis) -> Value {
    let unit = match scale.unit {
        AxisUnit::Number => "number",
        AxisUnit::Latency => "latency",
        AxisUnit::Nines => "nines",
        AxisUnit::Size => "size",
    };
    let exact = |value| digits(value, DIGITS_OF_NINES);
    let ends = [exact(scale.ends.0), exact(scale.ends.1)];
    let mut axis =
        json!({"name": scale.name, "log": scale.logarithmic, "ends": ends, "unit": unit});
    // On these axes only the given ticks are meaningful: named percentiles, and the request sizes and queue depths of
    // the tests.
    if scale.unit != AxisUnit::Latency && (scale.logarithmic || scale.unit == AxisUnit::Nines) {
        axis["ticks"] = scale.ticks.iter().map(|tick| exact(tick.0)).collect();
    }
    axis
}

/// Rounds a value to the number of digits that a chart can show.
fn rounded(value: f64) -> Value {
    digits(value, DIGITS)
}

fn digits(value: f64, digits: usize) -> Value {
    let short = format!("{value:.*e}", digits - 1).parse::<f64>().unwrap_or(value);
    match short.abs() < 1e15 && short.fract() == 0.0 {
        true => json!(short as i64),
        false => json!(short),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_would_end_its_element_is_refused() {
        assert_eq!(ChartScript::new("a('</SCRIPT>')".to_owned()), Err("</script"));
        assert_eq!(ChartScript::new("a('<!-- b')".to_owned()), Err("<!--"));
        assert!(ChartScript::new("a < b".to_owned()).is_ok());
    }

    #[test]
    fn an_axis_has_its_ticks_if_no_others_would_mean_anything() {
        for (unit, name, logarithmic, has_ticks) in [
            (AxisUnit::Number, "number", false, false),
            (AxisUnit::Number, "number", true, true),
            (AxisUnit::Size, "size", false, false),
            (AxisUnit::Size, "size", true, true),
            (AxisUnit::Nines, "nines", false, true),
            (AxisUnit::Nines, "nines", true, true),
            (AxisUnit::Latency, "latency", false, false),
            (AxisUnit::Latency, "latency", true, false),
        ] {
            let ticks = vec![(1.0, "one".to_owned()), (4.0, "four".to_owned())];
            let scale =
                LineAxis { name: "x".to_owned(), ends: (1.0, 4.0), logarithmic, unit, ticks };
            let mut wanted = json!({"name": "x", "log": logarithmic, "ends": [1, 4], "unit": name});
            if has_ticks {
                wanted["ticks"] = json!([1, 4]);
            }
            assert_eq!(axis(&scale), wanted, "{name}, {logarithmic}");
        }
    }

    #[test]
    fn values_keep_five_digits() {
        assert_eq!(rounded(123_456.7).to_string(), "123460");
        assert_eq!(rounded(0.012_345_67).to_string(), "0.012346");
        assert_eq!(rounded(3.0).to_string(), "3");
    }
}
