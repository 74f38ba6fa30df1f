//! Compares the library's drives with their ratings, and prints `docs/library.md`.
//!
//! Usage: `cargo run --release -p lanemark-lab --example ratings -- library reference/drive-ratings.toml [DRIVE]`. The
//! name of a drive selects only that drive.

use std::error::Error;
use std::path::Path;

use lanemark_lab::Lab;
use lanemark_lab::ratings::{REACHED, RatingComparison};
use lanemark_schema::result::{FigureMetric, FigureRole};
use lanemark_study::library::{LibraryKind, open_file};
use lanemark_study::ratings::{self, MISS, ModelledRating, RatedDrive, Rating};
use lanemark_study::{Library, rated};

const INTRODUCTION: &str = "\
# The library's drives compared with their ratings

`make library` writes this page from `reference/drive-ratings.toml`. Each row compares a figure from a data sheet or a
review with the model. **Calibrated** figures were used to set a value in the drive's file, so a match only shows that
the arithmetic is right. **Predicted** figures were not used for this purpose. For predicted figures, the last column
lists the values on which the prediction depends, because a prediction that a calibrated figure almost implies is weak
evidence. *Steady* means random writes over the whole drive in the steady state; all other writes go to a drive with
erased flash. Most ratings are \"up to\" figures for a series, so a model that matches a rating may still be faster than
a retail drive.
";

const ALONE: &str = "\
## Rated drives

The values of these drives are derived from their printed ratings (`[rated]`) and from priors, by the rules for
[rated drives](model/rated-drives.md). A matched rating proves nothing, because a value was set from it. A missed rating
contradicts another rating or the model. Steady ratings are not simulated here, because they require hours of writes.
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
        let name = if last == drive.parts.drive {
            String::new()
        } else {
            library.summary(LibraryKind::Drive, &drive.parts.drive)?
        };
        last = &drive.parts.drive;
        println!("{}", row(&name, rating, rated));
    }
    println!("\n## Errors above 10% and their likely causes\n");
    for (drive, rating, rated) in &rows {
        if rated.error.abs() > MISS {
            let name = library.summary(LibraryKind::Drive, &drive.parts.drive)?;
            let Some(cause) = &rating.miss else {
                let test = &rating.test;
                return Err(
                    format!("{name}, {test}: differs by a tenth, and the key `miss` with the cause is absent").into()
                );
            };
            println!("- **{name}, {}** ({:+.0}%): {cause}", what(rating), rated.error * 100.0);
        }
    }
    println!("\n## System and source of each rating\n");
    for drive in &drives {
        println!("- `{}`: {}", drive.parts, drive.source);
    }
    print_reachable(&library, only.map(String::as_str))
}

/// Prints the ratings of each rated drive that the drive's model reaches.
fn print_reachable(library: &Library, only: Option<&str>) -> Result<(), Box<dyn Error>> {
    println!("\n{ALONE}");
    let mut reached = 0;
    let mut all = 0;
    let mut lines = Vec::new();
    for name in library.names(LibraryKind::Drive) {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let Some(rated) = rated::explain(library, &name)?.rated else { continue };
        eprintln!("{name}");
        let met = Lab::default().ratings_met(library, &name, &rated)?;
        let missed: Vec<&RatingComparison> =
            met.iter().filter(|one| one.error().abs() > REACHED).collect();
        (reached, all) = (reached + met.len() - missed.len(), all + met.len());
        let missed: Vec<String> = missed.into_iter().map(out_of_reach).collect();
        let missed = if missed.is_empty() { "–".to_owned() } else { missed.join("; ") };
        lines.push(format!("| `{name}` | {} | {missed} |", met.len()));
    }
    println!(
        "The model matches {reached} of {all} ratings of {} drives to within 1%.\n",
        lines.len()
    );
    println!("| drive | ratings | missed: rated, model |\n|---|---:|---|");
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn out_of_reach(met: &RatingComparison) -> String {
    let rated = met.rated;
    let model = met.simulated;
    format!(
        "{} {rated:.0} {unit}, {model:.0} ({:+.0}%)",
        met.what,
        met.error() * 100.0,
        unit = met.unit
    )
}

fn summary(rows: &[(&RatedDrive, &Rating, ModelledRating)]) {
    for role in [FigureRole::Calibrated, FigureRole::Predicted] {
        let mut errors: Vec<f64> = rows
            .iter()
            .filter(|(_, rating, _)| rating.role() == role)
            .map(|(_, _, rated)| rated.error.abs() * 100.0)
            .collect();
        errors.sort_by(f64::total_cmp);
        let Some((worst, others)) = errors.split_last() else { continue };
        let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        println!(
            "{} {} figures: mean absolute error {:.1}%, or {:.1}% without the worst error of {worst:.0}%; median {:.1}%.",
            errors.len(),
            name(role),
            mean(&errors),
            mean(others),
            errors[errors.len() / 2]
        );
    }
    println!();
}

fn name(role: FigureRole) -> &'static str {
    match role {
        FigureRole::Calibrated => "calibrated",
        FigureRole::Predicted => "predicted",
    }
}

/// Returns the rating's test, and the way in which the test is run.
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

fn row(drive: &str, rating: &Rating, rated: &ModelledRating) -> String {
    let unit = rating.metric.unit();
    let digits = usize::from(rating.metric == FigureMetric::Latency);
    format!(
        "| {drive} | {} | {:.digits$} {unit} | {:.digits$} {unit} | {:+.1}% | {} |",
        what(rating),
        rating.published,
        rated.simulated,
        rated.error * 100.0,
        match &rating.rests_on {
            Some(on) => format!("predicted from {on}"),
            None => name(rating.role()).to_owned(),
        }
    )
}
