//! A drive as the library describes it: its ratings next to the model's figures, and the origin of each value.

use std::path::Path;

use lanemark_lab::Lab;
use lanemark_lab::ratings::{REACHED, RatingComparison};
use lanemark_report::{DriveRating, DriveValue, OriginCounts};
use lanemark_schema::result::SCHEMA_VERSION;
use lanemark_study::endurance::{self, EnduranceRating};
use lanemark_study::{Library, Origin, rated};
use serde::Serialize;

use super::value::{ValueJson, shown_value};
use crate::output;
use crate::output::failure::Failure;
use crate::output::formats::with;

/// The value that the file of each drive with flash states.
pub(crate) const FLASH: &str = "drive.flash.technology";

/// A drive's model, for output as JSON and as text.
#[derive(Serialize)]
pub(crate) struct DescribedModel {
    schema_version: u32,
    answer: String,
    name: String,
    ratings: Vec<RatingComparison>,
    /// The rated endurance of a library drive, if its maker prints one.
    #[serde(skip_serializing_if = "Option::is_none")]
    endurance: Option<EnduranceJson>,
    #[serde(skip)]
    endurance_text: Option<String>,
    pub(crate) values: Vec<ValueJson>,
    #[serde(skip)]
    pub(crate) rows: Vec<DriveValue>,
    #[serde(skip)]
    origins: OriginCounts,
}

/// The rated endurance of a drive, for output as JSON.
#[derive(Serialize)]
pub(crate) struct EnduranceJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    terabytes_written: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drive_writes_per_day: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warranty_years: Option<f64>,
    source: String,
    grade: String,
}

impl EnduranceJson {
    pub(crate) fn from_rating(rating: &EnduranceRating) -> Self {
        Self {
            terabytes_written: rating.tbw,
            drive_writes_per_day: rating.dwpd,
            warranty_years: rating.warranty_years,
            source: rating.source.clone(),
            grade: rating.grade.clone(),
        }
    }
}

pub(crate) fn describe(library: &Library, drive: &str) -> Result<DescribedModel, Failure> {
    if !drive.ends_with(".toml") && Path::new(drive).is_file() {
        let hint = format!("`lanemark inspect {drive}` names the drives in another tool's list");
        return Err(Failure::input(format!("{drive} is not a drive file")).hint(hint));
    }
    let explained = rated::explain(library, drive)?;
    let ratings = match &explained.rated {
        Some(rated) => Lab::default().ratings_met(library, drive, rated)?,
        None => Vec::new(),
    };
    let mut origins = OriginCounts::default();
    for record in &explained.values {
        match record.origin {
            Origin::Sourced(_) | Origin::Overridden => origins.stated += 1,
            Origin::Derived(_) => origins.derived += 1,
            Origin::Assumed(_) => origins.assumed += 1,
        }
    }
    let (unverified, count) = explained.unverified_ratings();
    origins.unverified = unverified.into_iter().map(str::to_owned).collect();
    origins.ratings = count;
    let name = explained.name;
    let endurance = endurance::of_drive(drive);
    let has_flash = explained.values.iter().any(|value| value.parameter == FLASH);
    let unknown = has_flash.then(|| "unknown".to_owned());
    Ok(DescribedModel {
        endurance: endurance.as_ref().map(EnduranceJson::from_rating),
        endurance_text: endurance.map(|rating| rating.to_string()).or(unknown),
        schema_version: SCHEMA_VERSION,
        answer: lanemark_report::drive_answer(&name, &rating_rows(&ratings), &origins),
        ratings,
        values: explained.values.iter().map(ValueJson::from_record).collect(),
        rows: explained.values.iter().map(shown_value).collect(),
        origins,
        name,
    })
}

fn rating_rows(ratings: &[RatingComparison]) -> Vec<DriveRating> {
    let rating = |met: &RatingComparison| DriveRating {
        what: met.what.to_owned(),
        unit: met.unit,
        rated: met.rated,
        simulated: met.simulated,
    };
    ratings.iter().map(rating).collect()
}

pub(crate) fn print(described: &DescribedModel, explain: bool, json: bool) -> Result<(), Failure> {
    if json {
        return output::print_json(described);
    }
    let DescribedModel { name, ratings, rows: values, origins, .. } = described;
    let style = output::style();
    let mut text =
        lanemark_report::ratings_text(name, &rating_rows(ratings), origins, REACHED, &style);
    if let Some(rating) = &described.endurance_text {
        text += &lanemark_report::paragraph(&format!("Rated endurance: {rating}."), &style);
    }
    if explain {
        text = with(text, &lanemark_report::drive_text(name, values, &style));
    }
    output::print(&text)
}
