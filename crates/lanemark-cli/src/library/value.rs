//! A value of the library as text, with its origin.

use lanemark_report::DriveValue;
use lanemark_study::{Origin, Record};

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
