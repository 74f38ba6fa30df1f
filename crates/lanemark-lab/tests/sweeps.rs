//! Tests of sweeps through the library's interface: ranges of points, parts that can be merged, and parts that cannot.

use std::fs;
use std::path::{Path, PathBuf};

use lanemark_lab::{
    CancelFlag, ErrorCause, Event, Lab, LabError, Pool, RunLength, SweepFile, merge,
};
use lanemark_schema::result::Provenance;
use lanemark_study::sweep::{Axis, SweepDefinition};
use lanemark_study::{Library, Sweep, workload};
use tempfile::TempDir;

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

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs the points from `from` to `to` into a file.
    fn part(&self, name: &str, points: (u64, u64), seed: u64) -> PathBuf {
        let (from, to) = points;
        let (library, path) = (Library::built_in(), self.path(name));
        let sweep = sweep(&library, seed);
        let provenance = Provenance { seed, inputs: library.used(), ..Provenance::default() };
        let file = SweepFile::open(&path, &sweep, Some(from..=to), provenance).unwrap();
        assert!(Lab::default().sweep(library, file, &mut |_| ()).unwrap().is_some());
        path
    }

    fn merged(&self, parts: &[&Path]) -> Result<Vec<u8>, LabError> {
        let parts: Vec<PathBuf> = parts.iter().map(|path| path.to_path_buf()).collect();
        let out = self.path("merged.csv");
        merge(&parts, &out, Provenance::default()).map(|_| fs::read(&out).unwrap())
    }

    #[track_caller]
    fn refuses(&self, parts: &[&Path], told: &str) {
        let error = self.merged(parts).unwrap_err();
        assert!(error.message.contains(told), "{error}");
        assert!(error.hint.is_some(), "{error}");
        assert!(!self.path("merged.csv").exists());
    }
}

#[test]
fn parts_come_to_the_bytes_of_one_run() {
    let place = Place::new();
    let whole = place.part("whole.csv", (0, 11), 1);
    let [a, b, c] = [("a", (0, 4)), ("b", (5, 5)), ("c", (6, 11))]
        .map(|(name, points)| place.part(&format!("{name}.csv"), points, 1));
    let bytes = fs::read(&whole).unwrap();
    assert_eq!(place.merged(&[&c, &a, &b]).unwrap(), bytes);
    // The parts are merged again into the sweep's own file; a complete sweep is also a valid part.
    assert_eq!(place.merged(&[&a, &b, &c]).unwrap(), bytes);
    assert_eq!(place.merged(&[&whole]).unwrap(), bytes);
    // A merged file can be continued like any other file; no points remain to run.
    let library = Library::built_in();
    let sweep = sweep(&library, 1);
    let file =
        SweepFile::open(&place.path("merged.csv"), &sweep, None, Provenance::default()).unwrap();
    assert_eq!((file.before(), file.total()), (12, 12));
}

#[test]
fn a_file_takes_one_range_after_the_other_on_any_number_of_threads() {
    let place = Place::new();
    let whole = fs::read(place.part("whole.csv", (0, 11), 1)).unwrap();
    let (library, path) = (Library::built_in(), place.path("s.csv"));
    let sweep = sweep(&library, 1);
    for (threads, points) in [(1, 3..=7), (5, 0..=7), (2, 8..=11)] {
        let wanted = points.end() - points.start() + 1;
        let file = SweepFile::open(&path, &sweep, Some(points), Provenance::default()).unwrap();
        let (mut ended, total) = (file.before(), file.total());
        assert_eq!(total, wanted);
        let lab = Lab { pool: Pool::new(threads.try_into().unwrap()), ..Lab::default() };
        let watch = &mut |event: Event<'_>| {
            let Event::Point { ended: now, total: all, .. } = event else { panic!("no point") };
            assert_eq!((now, all), (ended + 1, total));
            ended = now;
        };
        assert!(lab.sweep(library.clone(), file, watch).unwrap().is_some());
        assert_eq!(ended, total);
    }
    assert_eq!(fs::read(&path).unwrap(), whole);
    for points in [5..=12, 12..=12] {
        let error = SweepFile::open(&path, &sweep, Some(points), Provenance::default());
        let error = error.err().unwrap();
        assert!(
            error.message.contains("the points of the sweep are 0 to 11") && error.hint.is_some(),
            "{error}"
        );
    }
}

#[test]
fn a_sweep_that_is_cancelled_keeps_its_points() {
    let place = Place::new();
    let (library, path) = (Library::built_in(), place.path("s.csv"));
    let sweep = sweep(&library, 1);
    let lab = Lab { cancel: CancelFlag::default(), ..Lab::default() };
    let file = SweepFile::open(&path, &sweep, None, Provenance::default()).unwrap();
    let mut ended = 0;
    let watch = &mut |_: Event<'_>| {
        ended += 1;
        lab.cancel.cancel();
    };
    assert_eq!(lab.sweep(library, file, watch).unwrap(), None);
    let file = SweepFile::open(&path, &sweep, None, Provenance::default()).unwrap();
    assert!((1..12).contains(&ended) && file.before() == ended);
}

#[test]
fn parts_that_do_not_make_one_sweep_are_refused() {
    let place = Place::new();
    let a = place.part("a.csv", (0, 4), 1);
    let b = place.part("b.csv", (4, 11), 1);
    let c = place.part("c.csv", (7, 9), 1);
    let other = place.part("other.csv", (5, 11), 2);
    place.refuses(&[&a, &b], "point 4 is also in");
    place.refuses(&[&a, &a], "point 0 is also in");
    place.refuses(&[&a, &c], "no part contains the points 5..6, 10..11 of 0..11");
    place.refuses(&[&a, &other], "different sweeps");
    place.refuses(&[], "no parts");
    // An existing file at the output path is kept if it belongs to another sweep or to no sweep.
    let whole = place.part("whole.csv", (0, 11), 1);
    for (out, text) in [(&other, fs::read(&other).unwrap()), (&place.path("x"), b"mine".to_vec())] {
        fs::write(out, &text).unwrap();
        let error = merge(std::slice::from_ref(&whole), out, Provenance::default()).unwrap_err();
        assert_eq!((error.cause, fs::read(out).unwrap()), (ErrorCause::Refused, text), "{error}");
    }
}

#[test]
fn spoilt_parts_are_told_and_never_taken() {
    let place = Place::new();
    let good = fs::read_to_string(place.part("part.csv", (0, 11), 1)).unwrap();
    let beside = fs::read_to_string(place.path("part.csv.provenance.json")).unwrap();
    let part = place.path("part.csv");
    let (head, rows) = good.split_once('\n').unwrap();
    let (first, rest) = rows.split_once('\n').unwrap();
    let spoilt = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    for (text, told) in [
        (String::new(), "is not a part of a sweep"),
        ("a,b\n1,2\n".to_owned(), "is not a part of a sweep"),
        (head.to_owned(), "is not a part of a sweep"),
        (spoilt("queue_depth", "block"), ":1: its axes differ"),
        (spoilt(",utilisation,", ",use,"), "is not a part of a sweep"),
        (
            format!("{head}\n{}\n{rest}", first.replacen("0,", "3,", 1)),
            ":2: not a point of this sweep",
        ),
        (
            format!("{head}\n{}\n{rest}", first.replacen("0,", "99999999999,", 1)),
            ":2: not a point of this sweep",
        ),
        (
            format!("{head}\n{}\n{rest}", first.replacen("40", "41", 1)),
            ":2: not a point of this sweep",
        ),
        (format!("{head}\n{first},\n{rest}"), ":2: not a row of a sweep"),
        (format!("{head}\n\"{first}\n{rest}"), ":2: not a row of a sweep"),
        (good[..good.len() - 1].to_owned(), "no part contains the points 11..11"),
        (good.clone() + &rest[..rest.find('\n').unwrap() + 1], "point 1 is also in"),
    ] {
        fs::write(&part, &text).unwrap();
        place.refuses(&[&part], told);
    }
    fs::write(&part, &good).unwrap();
    let noted = place.path("part.csv.provenance.json");
    for text in [
        "",
        "{}",
        &beside.replace("\"points\": 12", "\"points\": 0"),
        &beside.replace("\"points\": 12", "\"points\": 18446744073709551615"),
        &beside.replace("\"points\": 12", "\"points\": -1"),
    ] {
        fs::write(&noted, text).unwrap();
        place.refuses(&[&part], "does not state the sweep of the part");
    }
    fs::write(&noted, beside.replace("\"points\": 12", "\"points\": 13")).unwrap();
    place.refuses(&[&part], "no part contains the points 12..12");
    fs::remove_file(&noted).unwrap();
    place.refuses(&[&part], "does not state the sweep of the part");
    for none in [place.0.path(), Path::new("/dev/zero"), &place.path("gone.csv")] {
        let error = place.merged(&[none]).unwrap_err();
        assert!(error.message.contains("can't be read"), "{error}");
    }
}
