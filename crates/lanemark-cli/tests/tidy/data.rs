//! Data of the tree: every study's figures are as printed, and every library file can be used.

use std::collections::BTreeMap;

use lanemark_study::library::{Kind, open_file};
use lanemark_study::system::{NamedAt, SystemName};
use lanemark_study::{Library, Location, Study, System, workload};

use super::house::files_below;
use super::project;

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
