//! The ratings of drives: each rating can be run, the model meets the quick ratings, and the page of ratings names
//! every drive.

use std::fs;
use std::path::{Path, PathBuf};

use lanemark_schema::result::FigureRole;
use lanemark_schema::workload::Pattern;
use lanemark_study::document::Document;
use lanemark_study::library::{LibraryKind, open_file};
use lanemark_study::ratings::{self, MISS, RatedDrive};
use lanemark_study::{Library, workload};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rated(library: &Library) -> Vec<RatedDrive> {
    let file = project().join("reference/drive-ratings.toml");
    ratings::read(library, &open_file(&file).unwrap()).unwrap()
}

#[test]
fn ratings_can_be_run_and_set_values_of_the_drive() {
    let library = Library::built_in();
    for drive in rated(&library) {
        let document = library.open(LibraryKind::Drive, &drive.parts.drive).unwrap();
        for rating in &drive.ratings {
            drive.system(&library, rating.steady).unwrap();
            let Some(set) = &rating.sets else { continue };
            let place = document.location_of_parameter("drive", set);
            assert!(place.position.is_some(), "{}: no {set}", drive.parts);
        }
    }
}

/// Tests with single requests are quick to simulate. The model meets calibrated ratings, and is close to predicted
/// ratings.
#[test]
fn ratings_at_queue_depth_1_are_met() {
    let library = Library::built_in();
    let mut checked = 0;
    for drive in rated(&library) {
        for rating in drive.ratings.iter().filter(|rating| rating.test.contains("Q1T1")) {
            let error = drive.run(&library, rating).unwrap().error.abs();
            let bound = match rating.role() {
                FigureRole::Calibrated => 0.05,
                FigureRole::Predicted => MISS,
            };
            assert!(
                error < bound || rating.miss.is_some(),
                "{}: {}: {error}",
                drive.parts,
                rating.test
            );
            checked += 1;
        }
    }
    assert!(checked >= 10, "only {checked}");
}

#[test]
fn the_page_about_the_library_has_every_rating() {
    let library = Library::built_in();
    let page = fs::read_to_string(project().join("docs/library.md")).unwrap();
    let (own, _) = page.split_once("## Rated drives").unwrap();
    let rows = own.lines().filter(|line| line.starts_with("| ")).count();
    let drives = rated(&library);
    let expected = 1 + drives.iter().map(|drive| drive.ratings.len()).sum::<usize>();
    assert_eq!(rows, expected, "run `make library`");
    for drive in drives {
        assert!(
            page.contains(&format!("`{}`", drive.parts)),
            "{}: run `make library`",
            drive.parts
        );
    }
}

#[test]
fn the_tests_that_ratings_name_match_data_sheets() {
    let tests = workload::open(&Library::built_in(), "data-sheet").unwrap().tests;
    for test in &tests {
        assert!(!test.reads() || !test.writes(), "{}: a rating is of one direction", test.name);
        let sequential = test.pattern() == Some(&Pattern::Sequential);
        assert_eq!(sequential, test.name.starts_with("SEQ"), "{}", test.name);
    }
}

#[test]
fn errors_of_a_rating_are_reported() {
    let library = Library::built_in();
    let says = |rating: &str, expected: &str| {
        let system = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
        let text = format!(
            "[[drive]]\nsystem = \"{system}\"\nrated_by = \"x\"\nratings = [{{ {rating} }}]\n"
        );
        let document = Document::parse("r.toml", &text).unwrap();
        let error = ratings::read(&library, &document).unwrap_err().to_string();
        assert!(error.starts_with("r.toml:4:") && error.contains(expected), "{error}");
    };
    says(r#"test = "RND4K Q1T1 raed", iops = 1"#, "unknown test `RND4K Q1T1 raed`");
    says(r#"test = "RND4K Q1T1 read""#, "a rating must have exactly one of");
    says(
        r#"test = "RND4K Q1T1 read", iops = 1, latency = "1 us""#,
        "a rating must have exactly one of",
    );
    says(r#"test = "RND4K Q1T1 read", latency = "0 us""#, "above zero");
    says(r#"test = "RND4K Q1T1 read", iops = 1, load = "stready""#, "unknown load `stready`");
    says(r#"test = "RND4K Q1T1 read", iops = 1, set = "x""#, "unknown key `set`");
    says(r#"test = "RND4K Q1T1 read", iops = 1"#, "`rests_on` something else");
    says(r#"test = "RND4K Q1T1 read", iops = 1, sets = "x", rests_on = "y""#, "`rests_on`");
}
