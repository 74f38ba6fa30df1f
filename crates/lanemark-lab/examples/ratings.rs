//! Holds the library's drives against what they are rated at, and prints `docs/library.md`.
//!
//! `cargo run --release -p lanemark-lab --example ratings -- library reference/drive-ratings.toml [DRIVE]`,
//! with the name of a drive for that one alone.

use std::error::Error;
use std::path::Path;

use lanemark_lab::Lab;
use lanemark_lab::ratings::{REACHED, RatingMet};
use lanemark_schema::result::{Metric, Role};
use lanemark_study::library::{LibraryKind, open_file};
use lanemark_study::ratings::{self, MISS, Rated, RatedDrive, Rating};
use lanemark_study::{Library, rated};

const INTRODUCTION: &str = "\
# The drives of the library against their ratings

`make library` writes this page from `reference/drive-ratings.toml`. Each row compares a figure of a data sheet or
review with the model. **Calibrated** figures were used to set a value of the drive's file, so meeting them shows
only that the arithmetic is right. **Predicted** figures were not used for anything; what each of them rests on stands
beside it, since one that a calibrated figure all but implies proves little. *Steady* means random writes
over the whole drive, after enough of them for the steady state; all other writes go to a drive with erased flash.
Ratings are mostly \"up to\" figures of a series, so a model that meets one exactly may still be faster than the
drive that one can buy.
";

const ALONE: &str = "\
## Drives of their ratings alone

Values of these drives follow from what is printed of them (`[rated]`) and from priors, by the rules of docs/model/rated-drives.md. A rating
that is met proves nothing, since the values were set from it; one that is missed contradicts another rating or a law.
Steady ratings are not run here: they take a drive that was written for hours.
";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (library, file, only) = match arguments.as_slice() {
        [library, file] => (library, file, None),
        [library, file, drive] => (library, file, Some(drive)),
        _ => return Err("usage: ratings LIBRARY FILE [DRIVE]".into()),
    };
    let library = Library::in_folder(Path::new(library))?;
    let mut drives = ratings::read(&library, &open_file(Path::new(file))?)?;
    drives.retain(|drive| only.is_none_or(|only| drive.parts.drive == *only));
    let mut rows = Vec::new();
    for drive in &drives {
        eprintln!("{}", drive.parts);
        for rating in &drive.ratings {
            rows.push((drive, rating, drive.run(&library, rating)?));
        }
    }
    println!("{INTRODUCTION}");
    summary(&rows);
    println!("| drive | test | rated | model | error | |");
    println!("|---|---|---:|---:|---:|---|");
    let mut last = "";
    for (drive, rating, rated) in &rows {
        let name = match last == drive.parts.drive {
            true => String::new(),
            false => library.summary(LibraryKind::Drive, &drive.parts.drive)?,
        };
        last = &drive.parts.drive;
        println!("{}", row(&name, rating, rated));
    }
    println!("\n## Misses of more than a tenth, with their likely cause\n");
    for (drive, rating, rated) in &rows {
        if rated.error.abs() > MISS {
            let name = library.summary(LibraryKind::Drive, &drive.parts.drive)?;
            let Some(cause) = &rating.miss else {
                let test = &rating.test;
                return Err(
                    format!("{name}, {test}: misses by a tenth, and no `miss` says why").into()
                );
            };
            println!("- **{name}, {}** ({:+.0}%): {cause}", what(rating), rated.error * 100.0);
        }
    }
    println!("\n## Where each was run, and who rated it\n");
    for drive in &drives {
        println!("- `{}`: {}", drive.parts, drive.source);
    }
    alone(&library, only.map(String::as_str))
}

/// Prints for each drive that has only ratings which of them its model reaches.
fn alone(library: &Library, only: Option<&str>) -> Result<(), Box<dyn Error>> {
    println!("\n{ALONE}");
    let (mut reached, mut all, mut lines) = (0, 0, Vec::new());
    for name in library.names(LibraryKind::Drive) {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let Some(rated) = rated::explain(library, &name)?.rated else { continue };
        eprintln!("{name}");
        let met = Lab::default().ratings_met(library, &name, &rated)?;
        let missed: Vec<&RatingMet> =
            met.iter().filter(|one| one.error().abs() > REACHED).collect();
        (reached, all) = (reached + met.len() - missed.len(), all + met.len());
        let told: Vec<String> = missed.into_iter().map(out_of_reach).collect();
        let told = if told.is_empty() { "–".to_owned() } else { told.join("; ") };
        lines.push(format!("| `{name}` | {} | {told} |", met.len()));
    }
    println!("{reached} of {all} ratings of {} drives are met within 1%.\n", lines.len());
    println!("| drive | ratings | out of reach: rated, model |\n|---|---:|---|");
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn out_of_reach(met: &RatingMet) -> String {
    let (rated, model) = (met.rated, met.simulated);
    format!(
        "{} {rated:.0} {unit}, {model:.0} ({:+.0}%)",
        met.what,
        met.error() * 100.0,
        unit = met.unit
    )
}

fn summary(rows: &[(&RatedDrive, &Rating, Rated)]) {
    for role in [Role::Calibrated, Role::Predicted] {
        let mut errors: Vec<f64> = rows
            .iter()
            .filter(|(_, rating, _)| rating.role() == role)
            .map(|(_, _, rated)| rated.error.abs() * 100.0)
            .collect();
        errors.sort_by(f64::total_cmp);
        let Some((worst, others)) = errors.split_last() else { continue };
        let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        println!(
            "{} {}: mean absolute error {:.1}%, {:.1}% without the worst, which is {worst:.0}%; median {:.1}%.",
            errors.len(),
            name(role),
            mean(&errors),
            mean(others),
            errors[errors.len() / 2]
        );
    }
    println!();
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Calibrated => "calibrated",
        Role::Predicted => "predicted",
    }
}

/// Returns the rating's test, and how it is run.
fn what(rating: &Rating) -> String {
    let mut what = rating.test.clone();
    if rating.steady {
        what += ", steady";
    }
    if let Some(after) = rating.after {
        what += &format!(", after {after}");
    }
    if rating.compressibility.get() > 0.0 {
        what += ", of zeros";
    }
    what
}

fn row(drive: &str, rating: &Rating, rated: &Rated) -> String {
    let (unit, digits) = (rating.metric.unit(), usize::from(rating.metric == Metric::Latency));
    format!(
        "| {drive} | {} | {:.digits$} {unit} | {:.digits$} {unit} | {:+.1}% | {} |",
        what(rating),
        rating.published,
        rated.simulated,
        rated.error * 100.0,
        match &rating.rests_on {
            Some(on) => format!("predicted; rests on {on}"),
            None => name(rating.role()).to_owned(),
        }
    )
}
