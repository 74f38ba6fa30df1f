//! Data of the tree: every study's figures equal the published figures, every library file is usable, and every row of
//! the corpus is read.

mod measurements;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lanemark_study::library::{LibraryKind, open_file};
use lanemark_study::system::{NameLocations, SystemName};
use lanemark_study::{Library, Location, Study, System, workload};
use lanemark_testbed::project;

/// Fails with the list of mistakes.
fn assert_empty(mistakes: &[String]) {
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
}

/// Returns the TOML files in `folder`, in order.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|own| own == "toml")).collect();
    found.sort();
    found
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
    for path in files_in(&project().join("studies")) {
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
        // Each figure that a study omits must be a figure in its document.
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
    let named_at = NameLocations::all(&Location::file("any"));
    let platforms = library.names(LibraryKind::Platform);
    let locations: Vec<(&String, String)> = platforms
        .iter()
        .flat_map(|name| ports(&library, name).into_iter().map(move |port| (name, port)))
        .collect();
    let fits = |drive: &str, (platform, port): &(&String, String)| {
        let parts = SystemName {
            drive: drive.to_owned(),
            platform: (*platform).clone(),
            port: port.clone(),
            beside: Vec::new(),
            volume: None,
        };
        System::assemble(&library, &parts, &named_at, "any", &[]).is_ok()
    };
    for drive in library.names(LibraryKind::Drive) {
        let found = locations.iter().any(|location| fits(&drive, location));
        assert!(found, "{drive} fits no port of any platform");
    }
    for location in &locations {
        let generic = ["generic-nvme", "generic-sata", "generic-sas", "transcend-ts32gssd25s-m"];
        let found = generic.iter().any(|drive| fits(drive, location));
        assert!(found, "nothing fits port {} of {}", location.1, location.0);
    }
    for host in library.names(LibraryKind::Host) {
        let platform = format!("{},{host}", platforms[0]);
        library.open(LibraryKind::Platform, &platform).unwrap();
    }
    for name in library.names(LibraryKind::Workload) {
        assert!(!workload::open(&library, &name).unwrap().tests.is_empty());
    }
    for study in files_in(&project().join("studies")) {
        Study::open(&library, &study).unwrap();
    }
}

fn ports(library: &Library, platform: &str) -> Vec<String> {
    let document = library.open(LibraryKind::Platform, platform).unwrap();
    let ports = document.root("platform", None).tables("port").unwrap();
    ports.iter().map(|port| port.text("name").unwrap()).collect()
}
