//! The program's built-in files: studies that run from any folder, and samples that are copied without overwriting.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use lanemark_testbed::lanemark;

const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_built_in_study_runs_from_an_empty_folder_and_a_file_takes_precedence() {
    let folder = tempfile::tempdir().unwrap();
    let study = ["study", "hard-disk", "--no-interval", "--no-save", "--json"];
    let built_in = lanemark!(folder.path(), &study).json();
    assert_eq!(built_in["id"], "hard-disk");
    let inputs = built_in["provenance"]["inputs"].as_object().unwrap();
    assert!(inputs.contains_key("studies/hard-disk.toml"), "{inputs:?}");
    assert_eq!(names(folder.path()), [""; 0]);
    // The copy is the same study, and a changed copy is a different study.
    lanemark!(folder.path(), &["library", "hard-disk", "--copy"]).stdout();
    let copy = folder.path().join("hard-disk.toml");
    let text = fs::read_to_string(&copy).unwrap();
    let title = text.lines().find(|line| line.starts_with("title")).unwrap();
    fs::write(folder.path().join("hard-disk"), text.replace(title, "title = \"mine\"")).unwrap();
    let named = lanemark!(folder.path(), &study).json();
    assert_eq!(named["title"], "mine");
    let file = ["study", "hard-disk.toml", "--no-interval", "--no-save", "--json"];
    let file = lanemark!(folder.path(), &file).json();
    assert_eq!(file["figures"], built_in["figures"]);
}

#[test]
fn an_unknown_study_is_refused_with_the_nearest_one() {
    let folder = tempfile::tempdir().unwrap();
    let message = lanemark!(folder.path(), &["study", "sata-expres"]).fails_with(2);
    assert!(
        message.contains("did you mean `sata-express`") || message.contains("sata-express"),
        "{message}"
    );
    lanemark!(folder.path(), &["study", "studies/sata-express.toml"])
        .fails_saying(2, "`sata-express` is built in");
    let message = lanemark!(folder.path(), &["study", "studies/none.toml"]).fails_with(2);
    assert!(!message.contains("built in"), "{message}");
    // A folder is not a study, and a pipe is not a file.
    fs::create_dir(folder.path().join("hard-disk")).unwrap();
    lanemark!(folder.path(), &["study", "hard-disk", "--no-interval", "--no-save", "--json"])
        .stdout();
    lanemark!(folder.path(), &["study", "/dev/zero"]).fails_saying(2, "not a file");
}

#[test]
fn every_listed_sample_is_copied_and_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let listed = lanemark!(folder.path(), &["library", "--kind", "sample", "--json"]).json();
    let listed = listed.as_array().unwrap();
    let text = lanemark!(folder.path(), &["library", "--kind", "sample"]).stdout();
    lanemark!(folder.path(), &["library", "--copy", "all/of them"]).stdout();
    let all = folder.path().join("all/of them");
    let mut expected: Vec<&str> = listed.iter().map(|one| one["name"].as_str().unwrap()).collect();
    expected.sort_unstable();
    assert_eq!(names(&all), expected);
    let mut kinds: Vec<&str> = listed.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    kinds.dedup();
    let distinct: BTreeSet<&&str> = kinds.iter().collect();
    assert_eq!(distinct.len(), kinds.len(), "a kind is listed twice");
    for sample in listed {
        let name = sample["name"].as_str().unwrap();
        let about = sample["about"].as_str().unwrap();
        assert!(text.contains(name.trim_end_matches(".toml")) && text.contains(about), "{name}");
        match sample["kind"].as_str().unwrap() {
            // `tests/golden.rs` runs all studies.
            "study" => {}
            "result" => {
                lanemark!(&all, &["report", name, "--out", "page.html"]).stdout();
                lanemark!(&all, &["compare", name, name]).stdout();
            }
            "foreign-result" => {
                lanemark!(&all, &["report", name]).stdout();
            }
            "trace" => {
                // A format's sample may have several devices, and offsets beyond the drive.
                let more = ["--as-one", "--wrap", "--as-fast-as-possible", "--no-save"];
                let format = ["--trace-format", name.split('.').next().unwrap()];
                let is_ambiguous = name.ends_with(".trace");
                let format = if is_ambiguous { &format[..] } else { &[] };
                lanemark!(&all, &[&["sim", SATA, name][..], &more, format].concat()).stdout();
            }
            "smart-report" => {
                lanemark!(&all, &["plan", "life", "--smart", name]).stdout();
            }
            "job" => {
                let more = ["--duration", "20ms", "--no-interval", "--no-save"];
                lanemark!(&all, &[&["sim", SATA, name, "--size", "1GiB"][..], &more].concat())
                    .stdout();
            }
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn a_copy_overwrites_nothing_and_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let copy = ["library", "msr.csv", "--copy", "here"];
    lanemark!(folder.path(), &copy).stdout();
    let file = folder.path().join("here/msr.csv");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    // A second identical copy is not an error.
    let output = lanemark!(folder.path(), &copy).output();
    assert!(String::from_utf8_lossy(&output.stderr).contains("with the same contents"));
    fs::write(&file, "mine").unwrap();
    lanemark!(folder.path(), &copy).fails_saying(3, "msr.csv exists");
    // One existing name prevents all files from being written.
    lanemark!(folder.path(), &["library", "--copy", "here"]).fails_saying(3, "msr.csv");
    assert_eq!(
        (names(&folder.path().join("here")), fs::read(&file).unwrap()),
        (vec!["msr.csv".into()], b"mine".to_vec())
    );
    fs::remove_file(&file).unwrap();
    symlink(folder.path().join("elsewhere"), &file).unwrap();
    lanemark!(folder.path(), &copy).fails_with(3);
    assert_eq!(names(folder.path()), ["here"]);
    // The cases are a folder name that is a file, and a folder that is not writable.
    fs::write(folder.path().join("file"), "").unwrap();
    lanemark!(folder.path(), &["library", "msr.csv", "--copy", "file"]).fails_with(1);
    lanemark!(folder.path(), &["library", "msr.csv", "--copy", "/proc/self"]).fails_with(1);
    for name in ["../Cargo.toml", "/etc/passwd", "", "golden/hard-disk"] {
        lanemark!(folder.path(), &["library", name, "--copy"]).fails_saying(2, "sample");
    }
    lanemark!(folder.path(), &["library", "mesured.json", "--copy"])
        .fails_saying(2, "measured.json");
    lanemark!(folder.path(), &["samples", "copy", "--all", "a", "b"]).fails_with(2);
    lanemark!(folder.path(), &["samples", "copy"]).fails_with(2);
}
