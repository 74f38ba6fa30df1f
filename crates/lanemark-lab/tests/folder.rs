//! Tests of the results folder: runs that save results at the same time, and the list of results.

use std::fs;

use lanemark_lab::results::{ResultFile, SavedResult, list, load};
use lanemark_lab::{Lab, assemble};
use lanemark_schema::result::{Provenance, RunResult};
use lanemark_study::{Library, workload};

fn run(started_at: &str) -> RunResult {
    let library = Library::built_in();
    let name = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
    let system = assemble(&library, name, &[]).unwrap();
    let mut workload = workload::open(&library, "crystaldiskmark-8:rnd4k-q32t1-read").unwrap();
    workload.repeats = 1;
    workload.tests[0].volume = None;
    workload.tests[0].duration = Some("1ms".parse().unwrap());
    let started_at = started_at.to_owned();
    let provenance = Provenance { started_at, ..Provenance::default() };
    Lab::default().run(&system, &workload, &provenance, &mut |_| ()).unwrap()
}

#[test]
fn parallel_runs_have_separate_names_and_are_all_listed() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("a/results");
    let began = "2026-01-01T00:00:00Z";
    let result = run(began);
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let place = ResultFile::new(&results, "sim-x", began).unwrap();
                place.save_run(&result).unwrap();
                place.save_run(&result).unwrap();
            });
        }
    });
    let later = run("2026-01-02T00:00:00Z");
    let place = ResultFile::new(&results, "sim-a", "2026-01-02T00:00:00Z").unwrap();
    place.save_run(&later).unwrap();
    for (name, text) in [("x.json", "{}"), ("y.json", "no"), ("z.txt", "{}"), ("n.json", "[1]")] {
        fs::write(results.join(name), text).unwrap();
    }
    let newer = serde_json::to_string(&result).unwrap();
    let newer = newer.replacen("\"schema_version\":", "\"schema_version\":9", 1);
    fs::write(results.join("newer.json"), newer).unwrap();
    let listed = list(&results).unwrap();
    assert_eq!(listed.len(), 13);
    assert_eq!(listed[0].path, place.path());
    assert!(listed[1..].is_sorted_by(|one, two| one.path < two.path));
    for one in &listed {
        assert_eq!((one.title.as_str(), one.study), (result.workload.name.as_str(), false));
        let SavedResult::Run(run) = load(&one.path).unwrap() else { panic!("is a run") };
        assert_eq!(run.provenance.started_at, one.started_at);
    }
    let error = list(&folder.path().join("gone")).unwrap_err();
    assert!(error.message.contains("can't be read"), "{error}");
}
