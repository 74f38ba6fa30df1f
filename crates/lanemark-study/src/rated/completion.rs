//! Values that complete a drive file, each with its origin, as entries in a TOML tree.

use std::ops::RangeInclusive;

use super::priors::Prior;
use crate::tree::{Entry, Node, Table, Value};

/// The values that are missing from a drive file.
#[derive(Debug, Default)]
pub(super) struct MissingValues(Vec<GivenValue>);

#[derive(Debug)]
struct GivenValue {
    /// The path of the value, such as `flash.read`.
    place: &'static str,
    text: String,
    origin: (&'static str, String),
    range: Option<[String; 2]>,
}

/// The unit with which a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RatingUnit {
    /// Seconds.
    Time,
    /// Bytes a second.
    Rate,
    /// Bytes.
    Size,
    Count,
}

impl RatingUnit {
    /// Returns `value` formatted as in a TOML file.
    pub(super) fn text(self, value: f64) -> String {
        match self {
            Self::Time => {
                let text = format!("{:.6}", (value.max(0.0) * 1e6).min(6e7));
                format!("{} us", text.trim_end_matches('0').trim_end_matches('.'))
            }
            Self::Rate => {
                let text = format!("{:.3}", value / 1e6);
                format!("{} MB/s", text.trim_end_matches('0').trim_end_matches('.'))
            }
            Self::Size => format!("{value:.0} B"),
            Self::Count => format!("{value:.0}"),
        }
    }
}

impl MissingValues {
    /// Adds a value that is computed from ratings.
    pub(super) fn add_derived(
        &mut self,
        place: &'static str,
        text: String,
        why: impl Into<String>,
    ) {
        self.0.push(GivenValue { place, text, origin: ("derived", why.into()), range: None });
    }

    /// Adds a value that is computed from ratings. Benchmarks measure the rated figure times a factor in the range
    /// `seen`.
    pub(super) fn derived_within(
        &mut self,
        place: &'static str,
        unit: RatingUnit,
        value: f64,
        seen: RangeInclusive<f64>,
        why: impl Into<String>,
    ) {
        let range = Some([seen.start(), seen.end()].map(|factor| unit.text(value * factor)));
        let origin = ("derived", why.into());
        self.0.push(GivenValue { place, text: unit.text(value), origin, range });
    }

    /// Adds a value that the figures on the box do not determine.
    pub(super) fn add_assumed(
        &mut self,
        place: &'static str,
        text: String,
        why: impl Into<String>,
    ) {
        self.0.push(GivenValue { place, text, origin: ("assumed", why.into()), range: None });
    }

    /// Adds a choice that is not a model value.
    pub(super) fn add_choice(&mut self, place: &'static str, text: &str) {
        let origin = ("assumed", String::new());
        self.0.push(GivenValue { place, text: text.to_owned(), origin, range: None });
    }

    /// Adds the value of a prior, multiplied by `scale`.
    pub(super) fn add_prior(
        &mut self,
        place: &'static str,
        unit: RatingUnit,
        prior: &Prior,
        scale: f64,
    ) {
        let range = prior.range.map(|range| range.map(|end| unit.text(end * scale)));
        let text = unit.text(prior.value * scale);
        self.0.push(GivenValue { place, text, origin: ("assumed", prior.why.clone()), range });
    }

    /// Returns the values as entries of a tree, each with the keys that lead to it. All entries have the location
    /// `offset`.
    pub(super) fn entries(self, offset: usize) -> Vec<(Vec<String>, Entry)> {
        let value = |node| Value { offset, node };
        let entry = |node| Entry { key_offset: offset, value: value(node) };
        let entry_of = |given_value: GivenValue| {
            let keys = given_value.place.split('.').map(str::to_owned).collect();
            if given_value.origin.1.is_empty() {
                return (keys, entry(Node::Text(given_value.text)));
            }
            let text = |text: String| entry(Node::Text(text));
            let mut table = Table::new();
            table.insert("value".to_owned(), text(given_value.text));
            table.insert(given_value.origin.0.to_owned(), text(given_value.origin.1));
            if let Some(range) = given_value.range {
                let ends = range.into_iter().map(|end| value(Node::Text(end))).collect();
                table.insert("range".to_owned(), entry(Node::Array(ends)));
            }
            (keys, entry(Node::Table(table)))
        };
        self.0.into_iter().map(entry_of).collect()
    }
}
