//! Tests every file that a command creates next to a file that the user named, under a name that the user did not
//! choose. Another program's file with that name stays unchanged, and a link with that name is not followed.
//!
//! `COMPANIONS` lists these files. The tidy test `files_are_created_only_in_known_files` finds code that would
//! create such a file in an untested way.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use lanemark_testbed::{lanemark, stderr};

const THEIRS: &str = "an unrelated letter, not a file of this program";

/// A companion file: its name, and the command that creates it.
struct Companion {
    name: &'static str,
    line: &'static str,
}

const COMPANIONS: &[Companion] = &[
    Companion { name: "disk.lanemark", line: SERVE },
    Companion { name: "disk.map", line: SERVE },
    Companion { name: "new.db-wal", line: LOAD },
    Companion { name: "new.db-shm", line: LOAD },
    Companion { name: "new.db-journal", line: LOAD },
    Companion { name: "target.journal", line: VERIFY },
    Companion { name: "sweep.csv.provenance.json", line: SWEEP },
    Companion { name: ".lanemark-result.json.lock", line: SIM },
];

const SERVE: &str = "serve samsung-850-pro-1tb@workstation-z170:sata --data disk --over image --size 1MiB \
    --socket nbd --control control --out served.json";
const LOAD: &str = "oltp load --scale 100 --database sqlite:new.db";
const VERIFY: &str = "verify write target --size 1MiB --duration 50ms";
const SWEEP: &str = "sweep samsung-850-pro-1tb@workstation-z170:sata --workload data-sheet:seq128k-q32t1-read \
    --axis queue_depth=1,2 --duration 1ms --size 16MiB --repeats 1 --out sweep.csv";
const SIM: &str = "sim samsung-850-pro-1tb@workstation-z170:sata data-sheet:seq128k-q32t1-read --duration 1ms \
    --size 16MiB --out result.json";

/// Runs a command to its end. A server is stopped after its start.
fn run(folder: &Path, line: &str) -> Output {
    let mut child = lanemark!(folder, &[]).with(line).start();
    if line == SERVE {
        let began = Instant::now();
        while !folder.join("control").exists()
            && matches!(child.try_wait(), Ok(None))
            && began.elapsed() < Duration::from_secs(60)
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = lanemark!(folder, &["serve", "stop", "control"]).start().wait_with_output();
    }
    child.wait_with_output().unwrap()
}

/// Creates a folder in which every command of the list succeeds.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("image"), vec![3; 9_000]).unwrap();
    folder
}

#[test]
fn files_of_others_stay_and_no_link_is_followed() {
    for Companion { name, line } in COMPANIONS {
        let folder = folder();
        let file = folder.path().join(name);
        let victim = folder.path().join("victim");
        for is_link in [false, true] {
            if is_link {
                fs::rename(&file, &victim).unwrap();
                symlink(&victim, &file).unwrap();
            } else {
                fs::write(&file, THEIRS).unwrap();
            }
            let output = run(folder.path(), line);
            let messages = stderr(&output);
            assert!(!output.status.success(), "{name}, link {is_link}: {messages}");
            let shown = name.trim_end_matches(".lock").trim_start_matches(".lanemark-");
            assert!(messages.contains(shown), "{name}: {messages}");
            assert_eq!(fs::read_to_string(&file).unwrap(), THEIRS, "{name}, link {is_link}");
            assert_eq!(file.is_symlink(), is_link, "{name}");
        }
    }
}

/// Without foreign files, each command of the list succeeds. Therefore the refusals above are caused by the files.
#[test]
fn each_command_works_in_an_empty_folder() {
    let folder = folder();
    for line in [SERVE, LOAD, VERIFY, SWEEP, SIM] {
        let output = run(folder.path(), line);
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
    for made in ["disk.lanemark", "disk.map", "target.journal", "sweep.csv.provenance.json"] {
        assert!(folder.path().join(made).exists(), "{made}");
    }
}
