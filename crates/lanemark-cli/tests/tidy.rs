//! The tree holds itself to the house rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand};
use lanemark_study::library::{Kind, open_file};
use lanemark_study::system::{NamedAt, SystemName};
use lanemark_study::{Library, Location, Study, System, workload};

/// Who may import whom: the table of ARCHITECTURE.md.
const IMPORTS: [(&str, &[&str]); 11] = [
    ("lanemark-core", &[]),
    ("lanemark-study", &["lanemark-core"]),
    ("lanemark-report", &["lanemark-core"]),
    ("lanemark-measure", &["lanemark-core"]),
    ("lanemark-predict", &["lanemark-core", "lanemark-study"]),
    ("lanemark-inspect", &["lanemark-core"]),
    ("lanemark-trace", &["lanemark-core"]),
    ("lanemark-formats", &["lanemark-core"]),
    ("lanemark-oltp", &["lanemark-core"]),
    ("lanemark-testbed", &[]),
    (
        "lanemark-cli",
        &[
            "lanemark-core",
            "lanemark-formats",
            "lanemark-inspect",
            "lanemark-measure",
            "lanemark-oltp",
            "lanemark-predict",
            "lanemark-report",
            "lanemark-study",
            "lanemark-trace",
        ],
    ),
];
/// The longest file that is still read in one sitting; tests and data may be longer.
const LINES_MAX: usize = 560;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn crates_import_only_whom_they_may() {
    let metadata = MetadataCommand::new()
        .manifest_path(project().join("Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap();
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in &metadata.packages {
        let ours = seen.entry(package.name.as_str()).or_default();
        for dependency in &package.dependencies {
            if dependency.kind == DependencyKind::Normal && dependency.name.starts_with("lanemark")
            {
                ours.insert(&dependency.name);
            }
        }
    }
    let allowed: BTreeMap<&str, BTreeSet<&str>> =
        IMPORTS.iter().map(|(name, imports)| (*name, imports.iter().copied().collect())).collect();
    assert_eq!(seen, allowed, "crates or their imports differ from the table here");
}

#[test]
fn every_file_says_what_it_is_and_is_short_enough_to_read() {
    for path in files_below(&project().join("crates"), "rs") {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(text.starts_with("//!"), "{}: begins without a module doc", path.display());
        assert!(
            !["utils", "helpers", "common", "manager"].contains(&name),
            "{}: named for nothing in particular",
            path.display()
        );
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{}: {lines} lines", path.display());
    }
}

/// `eprintln!` panics where stderr is gone; messages go through `messages.rs` of the command.
#[test]
fn nothing_is_told_by_a_macro_that_panics() {
    for path in files_below(&project().join("crates"), "rs") {
        let of_source = path.components().any(|part| part.as_os_str() == "src");
        let text = fs::read_to_string(&path).unwrap();
        // Unit tests and what only they use may.
        let told = text.split("#[cfg(test)]").next().unwrap_or_default();
        let own = path.ends_with("messages.rs") || path.ends_with("verify/trials/mod.rs");
        for word in ["eprintln!(", "eprint!(", "println!(", "print!("] {
            let line = told
                .lines()
                .position(|line| line.contains(word) && !line.trim_start().starts_with("//"));
            assert!(!of_source || own || line.is_none(), "{}:{line:?}: {word}", path.display());
        }
    }
}

#[test]
fn every_figure_of_every_study_is_in_the_references_as_printed() {
    let mut file =
        csv::Reader::from_path(project().join("reference/published-figures.csv")).unwrap();
    let references: BTreeMap<String, csv::StringRecord> = file
        .records()
        .map(|record| record.unwrap())
        .map(|record| (record[0].to_owned(), record))
        .collect();
    let mut checked = 0;
    for path in files_below(&project().join("studies"), "toml") {
        let document = open_file(&path).unwrap();
        let root = document.root("study", None);
        let paper = root.table("study").unwrap().text("document").unwrap();
        for figure in root.tables("figure").unwrap() {
            let id = figure.text("id").unwrap();
            let printed =
                references.get(id.as_str()).unwrap_or_else(|| panic!("{id}: no reference"));
            let value = figure.text("value").unwrap();
            assert_eq!(value, format!("{} {}", &printed[7], &printed[6]), "{id}");
            assert_eq!(paper, &printed[1], "{id}");
            assert_eq!(figure.text("test").unwrap(), &printed[4], "{id}");
            assert_eq!(figure.text("place").unwrap(), &printed[8], "{id}");
            checked += 1;
        }
        // Whatever a study leaves out must be a figure of its document.
        for entry in root.tables("not_modelled").unwrap() {
            for id in entry.texts("figures").unwrap() {
                assert!(references.get(&id).is_some_and(|printed| printed[1] == *paper), "{id}");
            }
        }
    }
    assert!(checked >= 32, "only {checked} figures were checked");
}

#[test]
fn every_library_file_can_be_used() {
    let library = Library::in_folder(&project().join("library")).unwrap();
    let named_at = NamedAt::all(&Location::file("any"));
    let mut fitting = 0;
    for drive in library.names(Kind::Drive) {
        let mut fits = 0;
        for platform in library.names(Kind::Platform) {
            for port in ports(&library, &platform) {
                let (drive, platform) = (drive.clone(), platform.clone());
                let parts = SystemName { drive, platform, port, beside: Vec::new(), volume: None };
                fits +=
                    u32::from(System::assemble(&library, &parts, &named_at, "any", &[]).is_ok());
            }
        }
        assert!(fits > 0, "{drive} fits no port of any platform");
        fitting += fits;
    }
    assert!(fitting > 0);
    for name in library.names(Kind::Workload) {
        assert!(!workload::open(&library, &name).unwrap().tests.is_empty());
    }
    for study in files_below(&project().join("studies"), "toml") {
        Study::open(&library, &study).unwrap();
    }
}

fn ports(library: &Library, platform: &str) -> Vec<String> {
    let document = library.open(Kind::Platform, platform).unwrap();
    let ports = document.root("platform", None).tables("port").unwrap();
    ports.iter().map(|port| port.text("name").unwrap()).collect()
}
