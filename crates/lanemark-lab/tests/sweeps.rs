//! Tests of sweeps through the library's interface: files that any number of threads continue, and cancelled sweeps.

use std::fs;
use std::path::Path;

use lanemark_lab::{Event, Lab, Pool, RunLength, SweepFile};
use lanemark_schema::result::Provenance;
use lanemark_study::sweep::{Axis, SweepDefinition};
use lanemark_study::{Library, Sweep, workload};

const TEST: &str = "crystaldiskmark-8:rnd4k-q32t1-read";

/// Returns a sweep with twelve points. The last value is impossible for any system.
fn sweep(library: &Library, seed: u64) -> Sweep {
    let axes = ["queue_depth=1,4,16", "drive.flash.read=40us,80us,1h,60us"];
    let definition = SweepDefinition {
        system: "samsung-950-pro-512gb@workstation-z170:pcie-slot".to_owned(),
        workload: TEST.to_owned(),
        axes: axes.iter().map(|text| Axis::parse(text).unwrap()).collect(),
        settings: Vec::new(),
    };
    let mut workload = workload::open(library, TEST).unwrap();
    workload.repeats = 1;
    for test in &mut workload.tests {
        (test.volume, test.duration) = (None, Some("2ms".parse().unwrap()));
    }
    Sweep::new(library, definition, workload, seed, RunLength::Converged).unwrap()
}

/// Runs up to `most` further points of the sweep into the file at `path`, and returns the number of points in the file.
fn continue_sweep(path: &Path, threads: usize, most: u64) -> u64 {
    let library = Library::built_in();
    let sweep = sweep(&library, 1);
    let lab = Lab { pool: Pool::new(threads.try_into().unwrap()), ..Lab::default() };
    let file = SweepFile::open(path, &sweep, Provenance::default()).unwrap();
    let before = file.before();
    let mut ended = before;
    assert_eq!(file.total(), 12);
    let watch = &mut |event: Event<'_>| {
        let Event::Point { ended: now, total, .. } = event else { panic!("no point") };
        assert_eq!((now, total), (ended + 1, 12));
        ended = now;
        if ended >= before + most {
            lab.cancel.cancel();
        }
    };
    let outcome = lab.sweep(library, file, watch).unwrap();
    assert_eq!(outcome.is_some(), ended == 12);
    ended
}

#[test]
fn a_file_is_continued_on_any_number_of_threads_and_ends_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.csv");
    assert_eq!(continue_sweep(&whole, 2, 12), 12);
    let parts = folder.path().join("parts.csv");
    let mut ended = 0;
    for threads in [1, 5, 2] {
        let before = ended;
        ended = continue_sweep(&parts, threads, 3);
        assert!(ended >= (before + 3).min(12), "{before} {ended}");
    }
    continue_sweep(&parts, 2, 12);
    assert_eq!(fs::read(&parts).unwrap(), fs::read(&whole).unwrap());
    // All points of a complete file have been run.
    assert_eq!(continue_sweep(&parts, 2, 12), 12);
}
