//! Sweeps as a user sees them: executed and skipped points, kills at any moment, and refusals.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use lanemark_testbed::{Lanemark, lanemark, stderr};
use tempfile::TempDir;

const NVME: &str = "samsung-950-pro-512gb@workstation-z170:pcie-slot";
const READS: &str = "crystaldiskmark-8:rnd4k-q32t1-read";

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn sweep(out: &Path, arguments: &[&str]) -> Lanemark {
    let words = ["sweep", NVME, "--workload", READS, "--out", out.to_str().unwrap()];
    lanemark!(&[&words, arguments].concat())
}

#[track_caller]
fn fails(out: &Path, arguments: &[&str], code: i32, message: &str, hint: &str) {
    let output = sweep(out, arguments).output();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    assert!(text.contains(message) && text.contains(hint), "{arguments:?}: {text}");
    assert!(text.contains("hint: ") && !text.contains("panicked"), "{arguments:?}: {text}");
}

fn rows(file: &Path) -> Vec<csv::StringRecord> {
    csv::Reader::from_path(file).unwrap().records().map(Result::unwrap).collect()
}

/// Arguments for 120 points that take a few milliseconds each.
const MANY: [&str; 6] =
    ["--duration", "20ms", "--axis", "queue_depth=1..60", "--axis", "drive.flash.read=40us,80us"];

#[test]
fn a_killed_sweep_continues_to_the_same_bytes() {
    let folder = folder();
    let whole = folder.path().join("whole.csv");
    sweep(&whole, &MANY).stdout();
    let killed = folder.path().join("killed.csv");
    let mut chance: u64 = 20_260_101;
    let mut before = Vec::new();
    let mut cut = 0;
    for _ in 0..20 {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut command = sweep(&killed, &MANY).command();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(2_000 + (chance >> 33) % 30_000));
        child.kill().unwrap();
        cut += i32::from(!child.wait().unwrap().success());
        let Ok(now) = fs::read(&killed) else { continue };
        // Complete rows are unchanged until the last run sorts all rows.
        let kept = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let kept: &[u8] = &before[..kept];
        assert!(now.starts_with(kept) || now == fs::read(&whole).unwrap(), "rows were lost");
        before = now;
    }
    assert!(cut > 3, "only {cut} sweeps were cut short");
    sweep(&killed, &MANY).stdout();
    assert_eq!(fs::read(&killed).unwrap(), fs::read(&whole).unwrap());
    assert_eq!(rows(&killed).len(), 120);
    // A complete sweep runs no points and changes no files.
    let again = sweep(&killed, &MANY).output();
    assert!(stderr(&again).contains("already contains 120 of 120 points"), "{}", stderr(&again));
    assert_eq!(fs::read(&killed).unwrap(), fs::read(&whole).unwrap());
}

/// Returns the companion of a sweep file, which identifies the file's creator.
fn provenance(file: &Path) -> PathBuf {
    PathBuf::from(format!("{}.provenance.json", file.display()))
}

#[test]
fn a_sweeps_provenance_is_adjacent_and_survives_a_restart() {
    let folder = folder();
    let out = folder.path().join("s.csv");
    let axis = ["--duration", "2ms", "--axis", "queue_depth=1,2", "--seed", "7"];
    sweep(&out, &axis).stdout();
    let rows = fs::read(&out).unwrap();
    let made = fs::read(provenance(&out)).unwrap();
    let origin: serde_json::Value = serde_json::from_slice(&made).unwrap();
    let origin = &origin["provenance"];
    assert_eq!(
        (&origin["version"], &origin["seed"]),
        (&env!("CARGO_PKG_VERSION").into(), &7.into())
    );
    assert!(origin["machine"]["cores"].as_u64() > Some(0), "{origin}");
    let inputs = origin["inputs"].as_object().unwrap();
    let (_, drive) = inputs.iter().find(|(file, _)| file.contains("samsung-950-pro")).unwrap();
    assert_eq!(drive.as_str().unwrap().len(), 64, "{origin}");
    assert_eq!((&origin["started_at"], &origin["finished_at"]), (&"".into(), &"".into()));
    // A torn sweep that is continued with a different number of threads has the same bytes in both files.
    fs::write(&out, &rows[..rows.len() - 9]).unwrap();
    sweep(&out, &[&axis[..], &["--jobs", "1"]].concat()).stdout();
    assert_eq!((fs::read(&out).unwrap(), fs::read(provenance(&out)).unwrap()), (rows, made));
    let page = folder.path().join("page.html");
    lanemark!(&["report", out.to_str().unwrap(), "--out", page.to_str().unwrap()]).stdout();
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<h2>Provenance</h2>") && page.contains(drive.as_str().unwrap()));
    // A file of the user is not overwritten.
    fs::write(provenance(&out), "mine").unwrap();
    fails(&out, &axis, 3, "is not the provenance of a sweep", "use a different --out");
    assert_eq!(fs::read(provenance(&out)).unwrap(), b"mine");
}

#[test]
fn only_torn_and_missing_rows_are_run_again() {
    let folder = folder();
    let whole = folder.path().join("whole.csv");
    let torn = folder.path().join("torn.csv");
    let few = ["--duration", "2ms", "--axis", "queue_depth=1..32*2"];
    sweep(&whole, &few).stdout();
    let bytes = fs::read(&whole).unwrap();
    for cut in [0, 5, 60, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&torn, &bytes[..cut]).unwrap();
        let output = sweep(&torn, &few).output();
        let lines = bytes[..cut].iter().filter(|&&byte| byte == b'\n').count();
        let notice = format!("already contains {} of 6 points", lines.saturating_sub(1));
        assert_eq!(stderr(&output).contains(&notice), lines > 1, "{cut}: {}", stderr(&output));
        assert_eq!(fs::read(&torn).unwrap(), bytes, "cut at {cut}");
    }
    // After a crash of the machine, a part of the file may be zeroes.
    let mut holed = bytes.clone();
    holed[bytes.len() / 2..bytes.len() - 20].fill(0);
    fs::write(&torn, holed).unwrap();
    assert!(sweep(&torn, &few).output().status.success());
    assert_eq!(fs::read(&torn).unwrap(), bytes);
    // A file of another program stays as it is.
    fs::write(&torn, [0; 90]).unwrap();
    fails(&torn, &few, 3, "is not a Lanemark sweep", "use a different --out");
    assert_eq!(fs::read(&torn).unwrap(), [0; 90]);
}

/// A point equals the result of `sim`.
#[test]
fn a_point_equals_a_separate_run() {
    let folder = folder();
    let out = folder.path().join("sweep.csv");
    sweep(&out, &["--duration", "5ms", "--axis", "drive.flash.read=40us,80us"]).stdout();
    let sim = lanemark!(folder.path(), &["sim", NVME, READS, "--set", "drive.flash.read=80us"]);
    let result = sim.with("--duration 5ms --repeats 1 --json").json();
    let iops = result["tests"][0]["iops"]["value"].as_f64().unwrap();
    let row = &rows(&out)[1];
    assert_eq!((&row[0], &row[4]), ("1", "80us"));
    assert_eq!(row[5], format!("{iops:.3}"));
}

#[test]
fn values_that_cannot_be_are_rows_with_the_reason() {
    let folder = folder();
    let out = folder.path().join("sweep.csv");
    let text = sweep(&out, &["--axis", "queue_depth=0,8,99999999"])
        .with("--axis drive.flash.channels=8,7000,many --axis port=pcie-slot,sata --duration 2ms")
        .stdout();
    let rows = rows(&out);
    assert_eq!(rows.len(), 18);
    let good: Vec<&csv::StringRecord> =
        rows.iter().filter(|row| row[row.len() - 1].is_empty()).collect();
    assert_eq!(good.len(), 1, "{rows:?}");
    assert_eq!((&good[0][4], &good[0][5], &good[0][6]), ("8", "8", "pcie-slot"));
    assert!(text.contains("points lack figures"), "{text}");
}

#[test]
fn a_sweep_without_a_point_that_has_figures_has_failed() {
    let folder = folder();
    let out = folder.path().join("sweep.csv");
    let axes = ["--duration", "2ms", "--axis", "drive.flash.channels=7000,many"];
    fails(&out, &axes, 2, "no point has figures", "the last column");
    assert_eq!(rows(&out).len(), 2, "the reasons are saved");
}

#[test]
fn drives_and_platforms_are_swept_by_their_names() {
    let folder = folder();
    let out = folder.path().join("sweep.csv");
    let page = folder.path().join("page.html");
    let page_name = page.to_str().unwrap();
    let drives =
        "--axis drive=samsung-950-pro-512gb,samsung-970-evo-1tb --axis queue_depth=1..64*4";
    let text = sweep(&out, &["--duration", "2ms", "--html", page_name]).with(drives).stdout();
    assert!(text.contains("drive samsung-970-evo-1tb: "), "{text}");
    let of_sweep = fs::read_to_string(&page).unwrap();
    assert!(of_sweep.contains("<svg") && of_sweep.contains("queue_depth"));
    lanemark!(&["report", out.to_str().unwrap(), "--out", page_name]).stdout();
    assert_eq!(fs::read_to_string(&page).unwrap(), of_sweep);
}

#[test]
fn a_sweep_can_be_a_file() {
    let folder = folder();
    let file = folder.path().join("sweep.toml");
    let text = format!(
        "[sweep]\nsystem = \"{NVME}\"\nworkload = \"{READS}\"\n\n[[axis]]\nname = \"queue_depth\"\n\
         range = \"1..8*2\"\n\n[[axis]]\nname = \"threads\"\nvalues = [1, 2]\n\n[[set]]\n\
         parameter = \"drive.flash.read\"\nvalue = \"50 us\"\n"
    );
    fs::write(&file, &text).unwrap();
    let run = |out: &str| {
        lanemark!(folder.path(), &["sweep", "sweep.toml", "--duration", "2ms", "--out", out])
    };
    run("one.csv").stdout();
    let typed = folder.path().join("typed.csv");
    let axes = ["--axis", "queue_depth=1,2,4,8", "--axis", "threads=1,2"];
    let set = ["--set", "drive.flash.read=50 us", "--duration", "2ms"];
    sweep(&typed, &[axes, set].concat()).stdout();
    let one_csv = folder.path().join("one.csv");
    assert_eq!(fs::read(one_csv).unwrap(), fs::read(typed).unwrap());
    // Errors state their line numbers.
    fs::write(&file, text.replace("threads", "thread")).unwrap();
    let error = run("two.csv").fails_with(2);
    assert!(
        error.contains("sweep.toml:10:8") && error.contains("did you mean `threads`"),
        "{error}"
    );
}

#[test]
fn errors_are_reported_before_anything_runs() {
    let folder = folder();
    let out = folder.path().join("sweep.csv");
    let axis = |text: &'static str| ["--axis", text];
    fails(&out, &axis("queue_dept=1,2"), 2, "unknown parameter", "did you mean `queue_depth`?");
    fails(&out, &axis("drive.flash.chanels=4"), 2, "unknown parameter", "drive.flash.channels");
    fails(&out, &axis("drive=samsung-950-pro-512g"), 2, "unknown drive", "samsung-950-pro-512gb");
    fails(&out, &axis("queue_depth=1-32"), 2, "queue_depth = 1-32", "1..32");
    fails(&out, &axis("pattern=random,sideways"), 2, "must be sequential", "");
    fails(&out, &axis("queue_depth="), 2, "no values", "1..256*2");
    fails(&out, &axis("queue_depth=4,4"), 2, "twice", "");
    let many = ["--axis", "queue_depth=1..2000", "--axis", "threads=1..1000"];
    fails(&out, &many, 2, "2000000", "*2");
    fails(&out, &[], 2, "no axis", "queue_depth");
    let error = lanemark!(&["sweep", NVME, "--out", out.to_str().unwrap()])
        .with("--workload crystaldiskmark-8 --axis queue_depth=1")
        .fails_saying(2, "8 tests, but a sweep runs one");
    assert!(error.contains("crystaldiskmark-8:rnd4k"), "{error}");
    assert!(!out.exists(), "a file was made");
}

#[test]
fn a_file_of_another_kind_stays_unchanged() {
    let folder = folder();
    let out = folder.path().join("sweep.csv");
    let depths = ["--duration", "2ms", "--axis", "queue_depth=1,2"];
    sweep(&out, &depths).stdout();
    let before = fs::read(&out).unwrap();
    for other in [["--seed", "2"], ["--set", "drive.flash.read=50us"], ["--size", "512MiB"]] {
        fails(&out, &[&depths as &[&str], &other].concat(), 3, "another sweep", "--out");
    }
    fails(&out, &["--duration", "2ms", "--axis", "threads=1,2"], 3, "different axes", "--out");
    assert_eq!(fs::read(&out).unwrap(), before);
    fs::write(&out, "important\n").unwrap();
    fails(&out, &depths, 3, "not a Lanemark sweep", "--out");
    assert_eq!(fs::read(&out).unwrap(), b"important\n");
    fails(&folder.path().join("sweep.txt"), &depths, 2, "as CSV", ".csv");
}
