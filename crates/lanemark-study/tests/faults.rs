//! Faults in workload files are read completely, every error is reported, and the faults run on the systems that
//! support them.

use std::fs;
use std::path::Path;

use lanemark_schema::result::Provenance;
use lanemark_schema::workload::Fault;
use lanemark_study::{Library, workload};

mod systems;
use systems::with_settings;

const SYSTEM: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";

/// Writes a workload with one short test and these `[[fault]]` tables.
fn workload_with(faults: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("faulty.toml");
    let test = "[workload]\nname = \"Faulty\"\nrepeats = 1\naverage = \"mean\"\n\n[[test]]\nname = \"reads\"\n\
                block = \"4 KiB\"\npattern = \"random\"\nread = \"100%\"\nqueue_depth = 1\nthreads = 1\n\
                span = \"1 GiB\"\nduration = \"20 ms\"\n\n";
    fs::write(&path, format!("{test}{faults}")).unwrap();
    (folder, path.display().to_string())
}

#[test]
fn faults_of_a_workload_happen_in_its_tests() {
    let (_folder, path) = workload_with(
        "[[fault]]\nkind = \"power-cut\"\nat = \"5 ms\"\nboot = \"5 ms\"\ndrive = 0\n",
    );
    let library = Library::built_in();
    let workload = workload::open(&library, &path).unwrap();
    let system = with_settings(SYSTEM, &[]).unwrap();
    let result = system.run(&workload, Provenance::default()).unwrap();
    let sample = &result.tests[0].samples[0];
    assert_eq!((sample.errors.total(), sample.faults.len()), (1, 1));
    assert_eq!(sample.faults[0].fault, "power-cut boot=5ms at=5ms drive=0");
    result.check().unwrap();
    // The faults affect components that the system does not have.
    let (_folder, path) = workload_with(
        "[[fault]]\nkind = \"pause\"\nfor = \"1 s\"\ndrive = 4\n\n[[fault]]\nkind = \"retrain\"\nlanes = 3\n",
    );
    let workload = workload::open(&library, &path).unwrap();
    let error = system.run(&workload, Provenance::default()).unwrap_err().to_string();
    assert!(error.contains("drives 0 to 0") && error.contains("lanes of 1, 2, 4"), "{error}");
}

#[test]
fn all_errors_of_faults_are_reported_at_once() {
    let (_folder, path) = workload_with(
        "[[fault]]\nkind = \"brownout\"\n\n[[fault]]\nat = \"1 s\"\n\n[[fault]]\nkind = \"media-error\"\n\
         range = \"2 GiB..1 GiB\"\nat = 5\nboot = \"1 s\"\n\n[[fault]]\nkind = \"link-errors\"\nrate = 2.0\n\
         [[fault]]\nkind = [\"pause\"]\n",
    );
    let error = workload::open(&Library::built_in(), &path).unwrap_err().to_string();
    for (line, part) in [
        (17, "there is no fault `brownout`"),
        (19, "the fault does not have a `kind`"),
        (24, "ends before it begins"),
        (25, "`5` lacks a unit"),
        (26, "`media-error` does not have a key `boot`"),
        (30, "`2.0` is not a share of wrong bits"),
        (32, "`kind` must be a string or a number"),
    ] {
        let place = format!("faulty.toml:{line}:");
        let is_named = error.lines().any(|one| one.contains(&place) && one.contains(part));
        assert!(is_named, "line {line}, {part}:\n{error}");
    }
}

#[test]
fn the_scenarios_to_start_from_are_read_and_written_as_on_a_command_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut read = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        for fault in workload::scenario(path.to_str().unwrap(), &text).unwrap() {
            assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault);
            read += 1;
        }
    }
    assert_eq!(read, 7);
}
