//! A drive of the library: each value with its origin, and each rating compared with the model's figure.

use crate::terminal::{Style, TerminalText};
use crate::text::number::{percent, significant};
use crate::text::table::{Cell, CellEmphasis, Column, Table};

/// A value of a drive, ready to show.
#[derive(Clone, Debug)]
pub struct DriveValue {
    /// Path of the value, `drive.flash.read`.
    pub parameter: String,
    /// The value as written in the file, and its range if the file states one.
    pub text: String,
    pub origin: String,
}

/// A rating of a drive, ready to show.
#[derive(Clone, Debug)]
pub struct DriveRating {
    /// The rated quantity.
    pub what: String,
    /// Unit of both figures.
    pub unit: &'static str,
    pub rated: f64,
    pub simulated: f64,
}

/// Number of a drive's values by origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginCounts {
    /// Values that a source states.
    pub stated: usize,
    /// Values that are derived from stated values.
    pub derived: usize,
    /// Values for which no source was found.
    pub assumed: usize,
    /// Names of the ratings that were found in no opened publication.
    pub unverified: Vec<String>,
    /// Number of all ratings in the file.
    pub ratings: usize,
}

/// Returns the answer about a drive's model: how closely it meets the ratings, and the origins of its values.
pub fn drive_answer(name: &str, ratings: &[DriveRating], origins: &OriginCounts) -> String {
    let OriginCounts { stated, derived, assumed, unverified, ratings: rated } = origins;
    let total_count = stated + derived + assumed;
    let of = format!(
        "{stated} of its {total_count} values are stated, {derived} derived and {assumed} assumed"
    );
    let unverified = match unverified.len() {
        0 => String::new(),
        count => format!(" {count} of {rated} ratings not verified: {}.", unverified.join(", ")),
    };
    let worst =
        ratings.iter().max_by(|one, other| one.error().abs().total_cmp(&other.error().abs()));
    match worst {
        None => format!("{name}: {of}.{unverified}"),
        Some(worst) => {
            let among = match ratings.len() {
                1 => "error against its rating".to_owned(),
                count => format!("largest error against its {count} ratings"),
            };
            let error = percent(worst.error().abs());
            format!("{name}: the model's {among} is {error} ({}); {of}.{unverified}", worst.what)
        }
    }
}

/// Writes the answer about a drive's model, and the ratings compared with the model's figures. If the model misses a
/// rating by more than `reached`, the rating is marked as out of reach.
pub fn ratings_text(
    name: &str,
    ratings: &[DriveRating],
    origins: &OriginCounts,
    reached: f64,
    style: &Style,
) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.answer(&drive_answer(name, ratings, origins));
    if ratings.is_empty() {
        return sheet.finish();
    }
    let mut table = Table::new(vec![
        Column::name("rating"),
        Column::number("rated", ""),
        Column::number("model", ""),
        Column::text("unit"),
        Column::number("off", ""),
    ]);
    let mut missed = Vec::new();
    for rating in ratings {
        let error = rating.error();
        let is_missed = error.abs() > reached;
        if is_missed {
            missed.push(rating.what.as_str());
        }
        table.push(vec![
            Cell::plain(&rating.what),
            Cell::plain(significant(rating.rated)),
            Cell::strong(significant(rating.simulated)),
            Cell::plain(rating.unit),
            Cell::inked(
                percent(error),
                if is_missed { CellEmphasis::Warning } else { CellEmphasis::Faint },
            ),
        ]);
    }
    sheet.table(&table);
    if !missed.is_empty() {
        sheet.blank();
        let text = format!(
            "{}: the model does not reach this rating with the assumed flash, link and protocol; check the origins of its values with `lanemark library`, or set them in the file",
            missed.join(", ")
        );
        sheet.item("! ", &text, CellEmphasis::Warning);
    }
    sheet.finish()
}

/// Writes the values of a drive, platform or host, each with its origin.
pub fn drive_text(name: &str, values: &[DriveValue], style: &Style) -> String {
    let mut sheet = TerminalText::new(style);
    sheet.heading(name);
    sheet.blank();
    for value in values {
        let since =
            if value.origin.is_empty() { String::new() } else { format!(": {}", value.origin) };
        sheet.item(
            "- ",
            &format!("{} = {}{since}", value.parameter, value.text),
            CellEmphasis::Plain,
        );
    }
    sheet.finish()
}

impl DriveRating {
    /// Returns the relative error of the model.
    fn error(&self) -> f64 {
        self.simulated / self.rated - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rating(what: &str, simulated: f64) -> DriveRating {
        DriveRating { what: what.to_owned(), unit: "MB/s", rated: 100.0, simulated }
    }

    #[test]
    fn the_answer_names_the_rating_that_is_missed_most() {
        let mut origins =
            OriginCounts { stated: 3, derived: 4, assumed: 5, ..OriginCounts::default() };
        let answer = drive_answer("X", &[rating("reads", 101.0), rating("writes", 90.0)], &origins);
        let wanted = "X: the model's largest error against its 2 ratings is 10.0% (writes); 3 of its 12 values are stated, 4 derived and 5 assumed.";
        assert_eq!(answer, wanted);
        let bare = drive_answer("X", &[], &origins);
        assert_eq!(bare, "X: 3 of its 12 values are stated, 4 derived and 5 assumed.");
        (origins.unverified, origins.ratings) = (vec!["read".to_owned(), "write".to_owned()], 7);
        let answer = drive_answer("X", &[], &origins);
        assert!(
            answer.ends_with(" 5 assumed. 2 of 7 ratings not verified: read, write."),
            "{answer}"
        );
    }

    #[test]
    fn a_missed_rating_is_marked_below_the_table() {
        let style = Style { width: 100, colour: false };
        let of = |simulated| {
            ratings_text("X", &[rating("reads", simulated)], &OriginCounts::default(), 0.01, &style)
        };
        assert!(!of(100.5).contains("! reads"), "{}", of(100.5));
        assert!(of(90.0).contains("! reads: the model does not reach this rating"), "{}", of(90.0));
    }
}
