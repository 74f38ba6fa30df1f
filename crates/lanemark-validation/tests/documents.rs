//! The documents show the saved figures, and each difference is an error that states its line and the command to run.

use std::fs;
use std::path::Path;

use lanemark_schema::result::{ChangeKind, RequestGroup};
use lanemark_validation::corpus::CorpusSet;
use lanemark_validation::documents::{
    GRIDS_PAGE, PAIRS_PAGE, PUBLISHED_PAGE, RENDER, TEMPLATE, check, render, save,
};
use lanemark_validation::figures::{FiguresFile, GRIDS, GridFigures, PUBLISHED, PublishedFigures};
use lanemark_validation::pairs::{PAIRS, PairFigures};
use tempfile::TempDir;

const FILES: [&str; 8] =
    ["README.md", PUBLISHED_PAGE, PAIRS_PAGE, GRIDS_PAGE, PUBLISHED, PAIRS, GRIDS, TEMPLATE];

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns a copy of the documents and their figures.
fn copied() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in FILES {
        fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
        fs::copy(project().join(file), folder.path().join(file)).unwrap();
    }
    folder
}

fn read(root: &Path, file: &str) -> String {
    fs::read_to_string(root.join(file)).unwrap()
}

fn replace(root: &Path, file: &str, from: &str, to: &str) {
    let text = read(root, file);
    assert!(text.contains(from), "{file}: {from}");
    fs::write(root.join(file), text.replacen(from, to, 1)).unwrap();
}

fn error(root: &Path) -> String {
    check(root).unwrap_err().to_string()
}

#[test]
fn documents_show_the_saved_figures() {
    if let Err(error) = check(project()) {
        panic!("{error}");
    }
}

#[test]
fn saved_figures_are_written_as_the_program_writes_them() {
    let published = read(project(), PUBLISHED);
    let grids = read(project(), GRIDS);
    assert_eq!(PublishedFigures::parse(&published).unwrap().text(), published);
    assert_eq!(GridFigures::parse(&grids).unwrap().text(), grids);
    let pairs = read(project(), PAIRS);
    assert_eq!(PairFigures::parse(&pairs).unwrap().text(), pairs);
}

#[test]
fn a_changed_document_is_an_error_with_its_line_and_rendering_restores_it() {
    let folder = copied();
    let root = folder.path();
    let marker = "<!-- validate:published -->\n";
    let original = read(root, PUBLISHED_PAGE);
    let (_, table) = original.split_once(marker).unwrap();
    let line = original[..original.len() - table.len()].lines().count() + 3;
    let row = table.lines().nth(2).unwrap();
    let changed = row.replacen(" | training", ", a little | training", 1);
    assert_ne!(row, changed);
    replace(root, PUBLISHED_PAGE, row, &changed);
    let message = error(root);
    for part in [
        RENDER,
        &format!("{PUBLISHED_PAGE}, table `published`: "),
        &format!("line {line} is `{changed}`"),
        &format!("according to {PUBLISHED} it should be `{row}`"),
    ] {
        assert!(message.contains(part), "no \"{part}\" in \"{message}\"");
    }
    assert_eq!(render(root).unwrap(), [PUBLISHED_PAGE]);
    assert_eq!(read(root, PUBLISHED_PAGE), original);
    assert!(render(root).unwrap().is_empty(), "a second rendering changes nothing");
    check(root).unwrap();
}

/// The laboratory's factors are the factors that the training pairs determine.
#[test]
fn factors_of_ratios_are_the_saved_factors() {
    let pairs = PairFigures::open(project()).unwrap();
    for kind in ChangeKind::ALL {
        for group in RequestGroup::ALL {
            let row = pairs.row(CorpusSet::Training, kind, Some(group)).unwrap();
            assert_eq!(row.omitted, Some(kind.omitted(group)), "{kind:?}, {group:?}");
        }
    }
}

#[test]
fn a_missing_last_row_is_an_error() {
    let folder = copied();
    let text = read(folder.path(), PUBLISHED_PAGE);
    let (before, _) = text.split_once("\n<!-- end -->").unwrap();
    let last = before.lines().last().unwrap();
    replace(folder.path(), PUBLISHED_PAGE, &format!("{last}\n"), "");
    assert!(error(folder.path()).contains("is ``, but according to"), "{}", error(folder.path()));
}

#[test]
fn changed_figures_change_every_table_that_shows_them_and_no_other_row() {
    let folder = copied();
    let root = folder.path();
    let text = read(root, PUBLISHED);
    let line = text.lines().find(|line| line.starts_with("validation,all,all,")).unwrap();
    let mut cells: Vec<&str> = line.split(',').collect();
    (cells[3], cells[4], cells[16]) = ("77", "12.3", "99");
    let file = FiguresFile::reserve(root, PUBLISHED).unwrap();
    let changed = save(root, &file, &text.replacen(line, &cells.join(","), 1)).unwrap();
    assert_eq!(changed, ["README.md", PUBLISHED_PAGE]);
    check(root).unwrap();
    let readme = read(root, "README.md");
    assert!(readme.contains("measurements, 99% are inside"));
    assert!(read(root, PUBLISHED_PAGE).contains("| all | validation | 77 | 12.3%, "));
}

#[test]
fn documents_without_their_markers_are_errors_and_stay_as_they_are() {
    for (file, from, to, part) in [
        (GRIDS_PAGE, "<!-- validate:grids -->", "", "table `grids`: the marker is missing"),
        ("README.md", "<!-- end -->", "", "table `questions`: `<!-- end -->` is missing"),
        (
            GRIDS_PAGE,
            "<!-- validate:grids -->\n",
            "<!-- validate:grids -->\n<!-- end -->\n<!-- validate:grids -->\n",
            "table `grids`: the marker appears twice",
        ),
        (PAIRS, "validation,drive", "validation,train", "`kind` is `train`"),
        (TEMPLATE, "{validation.", "{test.", "does not name a saved figure"),
        (TEMPLATE, "}", "", "accuracy.template.md:2: "),
        (PUBLISHED, "validation", "test", "`set` is `test`"),
        (GRIDS, "fresh,10,all", "fresh,ten,all", "grids.csv:2: `drives` is `ten`"),
    ] {
        let folder = copied();
        let root = folder.path();
        replace(root, file, from, to);
        let before: Vec<String> = FILES.map(|file| read(root, file)).to_vec();
        let message = error(root);
        assert!(message.contains(part), "no \"{part}\" in \"{message}\"");
        assert_eq!(render(root).unwrap_err().to_string(), message);
        assert_eq!(FILES.map(|file| read(root, file)).to_vec(), before);
    }
}

#[test]
fn figures_are_saved_even_if_a_document_cannot_be_written() {
    let folder = copied();
    let root = folder.path();
    replace(root, GRIDS_PAGE, "<!-- validate:grids -->", "");
    let text = read(root, GRIDS).replacen("fresh,10,all", "fresh,11,all", 1);
    let file = FiguresFile::reserve(root, GRIDS).unwrap();
    assert!(FiguresFile::reserve(root, GRIDS).is_err(), "another run has taken the file");
    assert!(save(root, &file, &text).unwrap_err().to_string().contains("the marker is missing"));
    assert_eq!(read(root, GRIDS), text);
    drop(file);
    assert_eq!(fs::read_dir(root.join("reference/validation")).unwrap().count(), 4);
}
