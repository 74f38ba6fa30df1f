//! A drive of the library: each value with its origin, and its ratings compared with the model's figures.

use crate::Style;
use crate::number::{percent, significant};
use crate::table::{Cell, Column, Ink, Table};
use crate::terminal::Sheet;

/// A value of a drive, ready to show.
#[derive(Clone, Debug)]
pub struct DriveValue {
    /// Path of the value, `drive.flash.read`.
    pub parameter: String,
    /// The value as written in the file, with its range if it has one.
    pub text: String,
    /// Origin of the value.
    pub origin: String,
}

/// A rating of a drive, ready to show.
#[derive(Clone, Debug)]
pub struct DriveRating {
    /// The rated quantity.
    pub what: String,
    /// Unit of both figures.
    pub unit: &'static str,
    /// The rating.
    pub rated: f64,
    /// The simulated figure.
    pub simulated: f64,
}

/// Writes the values of a drive, and its ratings compared with the model's figures; a rating is marked as out of reach
/// if the model misses it by more than `reached`.
pub fn drive_text(
    name: &str,
    values: &[DriveValue],
    ratings: &[DriveRating],
    reached: f64,
    style: &Style,
) -> String {
    let mut sheet = Sheet::new(style);
    sheet.heading(name);
    sheet.blank();
    for one in values {
        let since = if one.origin.is_empty() { String::new() } else { format!(": {}", one.origin) };
        sheet.item("- ", &format!("{} = {}{since}", one.parameter, one.text), Ink::Plain);
    }
    if ratings.is_empty() {
        return sheet.finish();
    }
    sheet.blank();
    let mut table = Table::new(vec![
        Column::name("rating"),
        Column::number("rated", ""),
        Column::number("model", ""),
        Column::text("unit"),
        Column::number("off", ""),
    ]);
    let mut missed = Vec::new();
    for one in ratings {
        let error = one.simulated / one.rated - 1.0;
        let is_missed = error.abs() > reached;
        if is_missed {
            missed.push(one.what.as_str());
        }
        table.push(vec![
            Cell::plain(&one.what),
            Cell::plain(significant(one.rated)),
            Cell::strong(significant(one.simulated)),
            Cell::plain(one.unit),
            Cell::inked(percent(error), if is_missed { Ink::Doubt } else { Ink::Faint }),
        ]);
    }
    sheet.table(&table);
    if !missed.is_empty() {
        sheet.blank();
        let text = format!(
            "{}: the model does not reach this rating with the assumed flash, link and protocol: \
             check their origins above, or set them in the file",
            missed.join(", ")
        );
        sheet.item("! ", &text, Ink::Doubt);
    }
    sheet.finish()
}
