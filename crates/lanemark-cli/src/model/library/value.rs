//! A value of the library and its origin, as text.

use lanemark_report::DriveValue;
use lanemark_study::{Origin, ValueRecord};
use serde::Serialize;

/// A value of an entry, for output as JSON.
#[derive(Serialize)]
pub(crate) struct ValueJson {
    pub(crate) parameter: String,
    pub(crate) value: String,
    pub(crate) origin: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    /// The bounds of the 80% range of values of this kind, divided by the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    range_ratios: Option<[f64; 2]>,
}

impl ValueJson {
    /// Converts a value and its origin.
    pub(crate) fn from_record(record: &ValueRecord) -> Self {
        let origin = record.origin.name();
        let note = record.origin.note().unwrap_or_default().to_owned();
        let parameter = record.parameter.clone();
        let value = record.text.clone();
        let range_ratios = record.range.map(|range| [range.low, range.high]);
        Self { parameter, value, origin, note, range_ratios }
    }
}

/// Converts a value for display.
pub(crate) fn shown_value(record: &ValueRecord) -> DriveValue {
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

#[cfg(test)]
mod tests {
    use lanemark_study::origin::ValueRange;

    use super::*;

    #[test]
    fn a_value_is_shown_with_its_origin_and_its_range() {
        let record = |origin, range| ValueRecord {
            parameter: "drive.read".to_owned(),
            text: "50 us".to_owned(),
            origin,
            range,
        };
        let text = |text: &str| text.to_owned();
        for (origin, word, note, shown) in [
            (Origin::Sourced(text("a sheet")), "sourced", "a sheet", "a sheet"),
            (Origin::Derived(text("a sum")), "derived", "a sum", "derived from a sum"),
            (Origin::Assumed(Some(text("usual"))), "assumed", "usual", "assumed: usual"),
            (Origin::Assumed(None), "assumed", "", ""),
            (Origin::Overridden, "set", "", "set"),
        ] {
            let record = record(origin, None);
            let value = ValueJson::from_record(&record);
            assert_eq!((value.origin, value.note.as_str()), (word, note));
            assert_eq!((value.parameter.as_str(), value.value.as_str()), ("drive.read", "50 us"));
            assert_eq!(value.range_ratios, None);
            let seen = shown_value(&record);
            assert_eq!((seen.origin.as_str(), seen.text.as_str()), (shown, "50 us"));
        }
        let record = record(Origin::Overridden, Some(ValueRange { low: 0.75, high: 1.4 }));
        assert_eq!(shown_value(&record).text, "50 us (-25% to +40%)");
        assert_eq!(ValueJson::from_record(&record).range_ratios, Some([0.75, 1.4]));
    }
}
