//! A value of the library as text, with its origin.

use lanemark_report::DriveValue;
use lanemark_study::{Origin, Record};
use serde::Serialize;

/// A value of an entry as JSON.
#[derive(Serialize)]
pub(crate) struct Value {
    pub(crate) parameter: String,
    pub(crate) value: String,
    pub(crate) origin: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    /// The bounds of the 80% range of such values, divided by the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    range_ratios: Option<[f64; 2]>,
}

impl Value {
    /// Converts a value with its origin.
    pub(crate) fn of(record: &Record) -> Self {
        let (origin, note) = match &record.origin {
            Origin::Sourced(text) => ("sourced", text.clone()),
            Origin::Derived(text) => ("derived", text.clone()),
            Origin::Assumed(text) => ("assumed", text.clone().unwrap_or_default()),
            Origin::Overridden => ("set", String::new()),
        };
        let (parameter, value) = (record.parameter.clone(), record.text.clone());
        let range_ratios = record.range.map(|range| [range.low, range.high]);
        Self { parameter, value, origin, note, range_ratios }
    }
}

/// Converts a value for display.
pub(crate) fn shown_value(record: &Record) -> DriveValue {
    let origin = match &record.origin {
        Origin::Sourced(text) => text.clone(),
        Origin::Derived(text) => format!("derived from {text}"),
        Origin::Assumed(Some(text)) => format!("assumed: {text}"),
        Origin::Assumed(None) => String::new(),
        Origin::Overridden => "set".to_owned(),
    };
    let text = match &record.range {
        Some(range) => {
            let end = |ratio: f64| format!("{:+.0}%", 100.0 * (ratio - 1.0));
            format!("{} ({} to {})", record.text, end(range.low), end(range.high))
        }
        None => record.text.clone(),
    };
    DriveValue { parameter: record.parameter.clone(), text, origin }
}
