//! Empty, broken or hostile corpora cause errors that state a file, a line and a reason.

mod ten_rows;

use std::fs::{self, File};

use lanemark_validation::corpus::{CLASSES, Corpus, MEASUREMENTS, RATINGS};

use ten_rows::measurements;

/// Returns the error for a corpus with these measurements.
fn error(measurements: &str) -> String {
    Corpus::parse(measurements, ten_rows::RATINGS).unwrap_err().to_string()
}

/// Returns the ten rows with one string replaced.
fn with(from: &str, to: &str) -> String {
    let text = measurements();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

#[test]
fn ten_rows_are_read_with_their_ratings() {
    let mut corpus = Corpus::parse(&measurements(), ten_rows::RATINGS).unwrap();
    assert_eq!(corpus.rows.len(), 10);
    let row = &corpus.rows[0];
    assert_eq!((row.text("id"), row.number("value")), ("T01", Some(500.0)));
    assert_eq!((row.text("no such column"), row.number("duration_s")), ("", None));
    let rated = corpus.ratings_of(row).unwrap();
    assert_eq!(rated.number("seq_read_mb_s"), Some(560.0));
    corpus.thin(3);
    let ids: Vec<&str> = corpus.rows.iter().map(|row| row.text("id")).collect();
    assert_eq!(ids, ["T03", "T06", "T09"]);
}

#[test]
fn an_empty_corpus_is_an_error() {
    assert!(error("").contains("measurements.csv:1: columns are missing: id, drive"));
    let header = format!("{}\n", ten_rows::COLUMNS);
    assert_eq!(error(&header), "measurements.csv:1: there are no measurements");
    let no_ratings = Corpus::parse(&measurements(), "").unwrap_err().to_string();
    assert!(no_ratings.starts_with("measured-drives.csv:1: columns are missing: drive"));
}

#[test]
fn a_missing_column_is_named() {
    let message = error(&with("queue_depth,threads", "depth,jobs"));
    assert_eq!(message, "measurements.csv:1: columns are missing: queue_depth, threads");
}

#[test]
fn numbers_that_are_not_finite_or_out_of_bounds_are_errors() {
    for (value, location) in [
        ("NaN", "throughput,500"),
        ("inf", "throughput,500"),
        ("-5", "throughput,500"),
        ("0", "throughput,500"),
        ("1e300", "throughput,500"),
        ("fast", "throughput,500"),
    ] {
        let message = error(&with(location, &format!("throughput,{value}")));
        let wanted = format!("measurements.csv:2: `value` is `{value}`, not a number from ");
        assert!(message.starts_with(&wanted), "{message}");
    }
    let empty = error(&with("throughput,500", "throughput,"));
    assert_eq!(empty, "measurements.csv:2: the column `value` is empty");
    let drives = error(&with("hdd,1,", "hdd,1000000000000000000,"));
    assert!(
        drives.starts_with("measurements.csv:9: `drives` is `1000000000000000000`"),
        "{drives}"
    );
    let depth = error(&with("131072,8,1", "131072,99999999999,1"));
    assert!(depth.starts_with("measurements.csv:2: `queue_depth`"), "{depth}");
}

#[test]
fn rows_of_other_shapes_are_errors_with_their_line() {
    let short = error(&with("iops,9000,IOPS,one-at-a-time,A", "iops,9000"));
    assert!(short.starts_with("measurements.csv:3: "), "{short}");
    let class = error(&with("saturated,C", "tape,C"));
    assert!(class.contains(": the class `tape` is not one of path-limited"), "{class}");
}

#[test]
fn files_that_cannot_be_read_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let message = || Corpus::open(folder.path()).unwrap_err().to_string();
    assert!(message().contains(MEASUREMENTS), "{}", message());
    fs::write(folder.path().join(MEASUREMENTS), [0xff, 0xfe, b'\n']).unwrap();
    assert!(message().contains(MEASUREMENTS), "{}", message());
    // The file is sparse: it exceeds the maximum length of a corpus, but does not occupy disk space.
    File::create(folder.path().join(MEASUREMENTS)).unwrap().set_len(65 << 20).unwrap();
    assert!(message().contains(MEASUREMENTS), "{}", message());
    fs::write(folder.path().join(MEASUREMENTS), measurements()).unwrap();
    fs::write(folder.path().join(RATINGS), ten_rows::RATINGS).unwrap();
    assert_eq!(Corpus::open(folder.path()).unwrap().rows.len(), 10);
}

#[test]
fn the_project_has_a_corpus_without_faults() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reference");
    let corpus = Corpus::open(folder.as_ref()).unwrap();
    assert!(corpus.rows.len() >= 600);
    assert!(CLASSES.iter().all(|class| corpus.rows.iter().any(|row| row.text("class") == *class)));
}
