//! The program's built-in files: studies that run from any folder, and samples that are copied without overwriting.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const SATA: &str = "samsung-850-pro-1tb@workstation-z170:sata";

fn lanemark(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanemark"));
    command.args(arguments).current_dir(folder).env_remove("LANEMARK_LIBRARY");
    command.stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn capture_output(folder: &Path, arguments: &[&str]) -> String {
    let output = lanemark(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = lanemark(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

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
    let built_in: Value = serde_json::from_str(&capture_output(folder.path(), &study)).unwrap();
    assert_eq!(built_in["id"], "hard-disk");
    let inputs = built_in["provenance"]["inputs"].as_object().unwrap();
    assert!(inputs.contains_key("studies/hard-disk.toml"), "{inputs:?}");
    assert_eq!(names(folder.path()), [""; 0]);
    // The copy is the same study, and a changed copy is a different study.
    capture_output(folder.path(), &["samples", "copy", "hard-disk"]);
    let copy = folder.path().join("hard-disk.toml");
    let text = fs::read_to_string(&copy).unwrap();
    let title = text.lines().find(|line| line.starts_with("title")).unwrap();
    fs::write(folder.path().join("hard-disk"), text.replace(title, "title = \"mine\"")).unwrap();
    let named: Value = serde_json::from_str(&capture_output(folder.path(), &study)).unwrap();
    assert_eq!(named["title"], "mine");
    let file = ["study", "hard-disk.toml", "--no-interval", "--no-save", "--json"];
    let file: Value = serde_json::from_str(&capture_output(folder.path(), &file)).unwrap();
    assert_eq!(file["figures"], built_in["figures"]);
}

#[test]
fn an_unknown_study_is_refused_with_the_nearest_one() {
    let folder = tempfile::tempdir().unwrap();
    let message = refused(folder.path(), &["study", "sata-expres"], 2);
    assert!(
        message.contains("did you mean `sata-express`") || message.contains("sata-express"),
        "{message}"
    );
    let message = refused(folder.path(), &["study", "studies/sata-express.toml"], 2);
    assert!(message.contains("`sata-express` is built in"), "{message}");
    let message = refused(folder.path(), &["study", "studies/none.toml"], 2);
    assert!(!message.contains("built in"), "{message}");
    // A folder is not a study, and a pipe is not a file.
    fs::create_dir(folder.path().join("hard-disk")).unwrap();
    capture_output(folder.path(), &["study", "hard-disk", "--no-interval", "--no-save", "--json"]);
    let message = refused(folder.path(), &["study", "/dev/zero"], 2);
    assert!(message.contains("not a file"), "{message}");
}

#[test]
fn every_listed_sample_is_copied_and_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let listed: Value =
        serde_json::from_str(&capture_output(folder.path(), &["samples", "list", "--json"]))
            .unwrap();
    let listed = listed.as_array().unwrap();
    let text = capture_output(folder.path(), &["samples", "list"]);
    capture_output(folder.path(), &["samples", "copy", "--all", "all/of them"]);
    let all = folder.path().join("all/of them");
    let mut expected: Vec<&str> = listed.iter().map(|one| one["name"].as_str().unwrap()).collect();
    expected.sort_unstable();
    assert_eq!(names(&all), expected);
    for sample in listed {
        let name = sample["name"].as_str().unwrap();
        let about = sample["about"].as_str().unwrap();
        assert!(text.contains(name.trim_end_matches(".toml")) && text.contains(about), "{name}");
        match sample["kind"].as_str().unwrap() {
            // `tests/golden.rs` runs all studies.
            "study" => {}
            "result" => {
                capture_output(&all, &["report", name, "--html", "page.html"]);
                capture_output(&all, &["compare", name, name]);
            }
            "foreign-result" => {
                capture_output(&all, &["import", name, "--no-save"]);
            }
            "trace" => {
                // A format's sample may have several devices, and offsets beyond the drive.
                let more = ["--as-one", "--wrap", "--as-fast-as-possible", "--no-save"];
                let format = ["--format", name.split('.').next().unwrap()];
                let is_ambiguous = name.ends_with(".trace");
                let format = if is_ambiguous { &format[..] } else { &[] };
                capture_output(&all, &[&["replay", SATA, name][..], &more, format].concat());
            }
            "job" => {
                let more = ["--duration", "20ms", "--no-interval", "--no-save"];
                capture_output(&all, &[&["sim", SATA, name, "--size", "1GiB"][..], &more].concat());
            }
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn a_copy_overwrites_nothing_and_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let copy = ["samples", "copy", "msr.csv", "here"];
    capture_output(folder.path(), &copy);
    let file = folder.path().join("here/msr.csv");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    // A second identical copy is not an error.
    let output = lanemark(folder.path(), &copy);
    assert!(String::from_utf8_lossy(&output.stderr).contains("with the same contents"));
    fs::write(&file, "mine").unwrap();
    assert!(refused(folder.path(), &copy, 3).contains("msr.csv exists"));
    // One existing name prevents all files from being written.
    assert!(refused(folder.path(), &["samples", "copy", "--all", "here"], 3).contains("msr.csv"));
    assert_eq!(
        (names(&folder.path().join("here")), fs::read(&file).unwrap()),
        (vec!["msr.csv".into()], b"mine".to_vec())
    );
    fs::remove_file(&file).unwrap();
    symlink(folder.path().join("elsewhere"), &file).unwrap();
    refused(folder.path(), &copy, 3);
    assert_eq!(names(folder.path()), ["here"]);
    // The cases are a folder name that is a file, and a folder that is not writable.
    fs::write(folder.path().join("file"), "").unwrap();
    refused(folder.path(), &["samples", "copy", "msr.csv", "file"], 1);
    refused(folder.path(), &["samples", "copy", "msr.csv", "/proc/self"], 1);
    for name in ["../Cargo.toml", "/etc/passwd", "", "golden/hard-disk"] {
        let output = refused(folder.path(), &["samples", "copy", name], 2);
        assert!(output.contains("sample"), "{output}");
    }
    let output = refused(folder.path(), &["samples", "copy", "mesured.json"], 2);
    assert!(output.contains("measured.json"), "{output}");
    refused(folder.path(), &["samples", "copy", "--all", "a", "b"], 2);
    refused(folder.path(), &["samples", "copy"], 2);
}
