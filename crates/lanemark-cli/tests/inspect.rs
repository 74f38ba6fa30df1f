//! `lanemark inspect` as a user sees it, on a small tree and on this machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use lanemark_testbed::lanemark;
use serde_json::Value;
use tempfile::TempDir;

const DRIVE: &str = "devices/pci0000:00/0000:00:06.0/0000:01:00.0/nvme/nvme0/nvme0n1";

/// Creates the tree of a laptop with one NVMe drive that trained down.
fn laptop() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = |path: &str, content: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    let port = "devices/pci0000:00/0000:00:06.0";
    let end = "devices/pci0000:00/0000:00:06.0/0000:01:00.0";
    for (at, class) in [(port, "0x060400"), (end, "0x010802")] {
        file(&format!("{at}/class"), class);
        file(&format!("{at}/current_link_speed"), "8.0 GT/s PCIe\n");
        file(&format!("{at}/current_link_width"), "4\n");
        file(&format!("{at}/max_link_speed"), "16.0 GT/s PCIe\n");
        file(&format!("{at}/max_link_width"), "4\n");
    }
    file(&format!("{end}/nvme/nvme0/model"), "Drive X\n");
    file(&format!("{DRIVE}/size"), "1953525168\n");
    fs::create_dir(folder.path().join("block")).unwrap();
    symlink(format!("../{DRIVE}"), folder.path().join("block/nvme0n1")).unwrap();
    folder
}

fn inspect(arguments: &[&str]) -> Output {
    lanemark!(&[&["inspect"], arguments].concat()).output()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn root(folder: &TempDir) -> &str {
    folder.path().to_str().unwrap()
}

#[test]
fn a_captured_tree_is_shown_with_its_limits() {
    let folder = laptop();
    let output = inspect(&["--sysfs", root(&folder)]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(
        printed.starts_with("nvme0n1 (Drive X): its slowest link, PCIe 3.0 x4 of 4.0 x4, carries ")
    );
    assert!(printed.contains("\nnvme0n1  Drive X, 1.00 TB\n"), "{printed}");
    assert!(printed.contains("└═ PCIe 3.0 x4 of 4.0 x4, "), "{printed}");
    assert!(
        printed.contains("! nvme0n1: the link to 0000:01:00.0 runs at PCIe 3.0 x4"),
        "{printed}"
    );
    assert!(printed.contains("Advice: reseat the device"), "{printed}");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn json_is_all_of_stdout_and_a_drawing_is_a_file() {
    let folder = laptop();
    let drawing = folder.path().join("path.svg");
    let svg = drawing.to_str().unwrap();
    let output = inspect(&["nvme0n1", "--json", "--sysfs", root(&folder), "--svg", svg]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["target"], "nvme0n1");
    assert_eq!(value["devices"][0]["size_bytes"], 1_000_204_886_016_u64);
    assert_eq!(value["findings"][0]["kind"], "pcie-below-capability");
    let svg = fs::read_to_string(&drawing).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("0000:01:00.0 nvme0"), "{svg}");
    assert!(svg.contains("on narrow"), "the link that trained down stands out");
    assert!(text(&output.stderr).starts_with("wrote "), "{}", text(&output.stderr));
}

#[test]
fn a_missing_path_is_wrong_input_with_a_hint() {
    let folder = laptop();
    let cases: [(&[&str], &str); 4] = [
        (&["nvme1n1", "--sysfs", root(&folder)], "hint: the nearest names are nvme0n1"),
        (&["/home/me", "--sysfs", root(&folder)], "hint: name a device of that tree"),
        (&["--sysfs", "/nowhere"], "hint: name the folder that contains `block`"),
        (&["/nowhere/at/all"], "hint: name a device such as nvme0n1"),
    ];
    for (arguments, hint) in cases {
        let output = inspect(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stdout), "");
        assert!(text(&output.stderr).contains(hint), "{}", text(&output.stderr));
    }
}

#[test]
fn a_capture_is_made_once_and_read_anywhere() {
    let folder = laptop();
    let tar = folder.path().join("machine.tar");
    let tar = tar.to_str().unwrap();
    let made = inspect(&["--sysfs", root(&folder), "--capture", tar]);
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(tar).unwrap());
    assert_eq!(mode & 0o777, 0o600, "a capture contains serial numbers");
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    assert!(text(&made.stderr).contains("serial numbers"), "{}", text(&made.stderr));
    let read = inspect(&["--sysfs", tar]);
    assert_eq!(text(&read.stdout), text(&made.stdout));
    assert!(text(&read.stdout).contains("Drive X"));
    let again = inspect(&["--sysfs", root(&folder), "--capture", tar]);
    assert_eq!(again.status.code(), Some(3), "{}", text(&again.stderr));
    let other = inspect(&["--sysfs", root(&folder), "--capture", "machine.zip"]);
    assert_eq!(other.status.code(), Some(2));
    let cut = folder.path().join("cut.tar");
    fs::write(&cut, &fs::read(tar).unwrap()[..700]).unwrap();
    let cut = inspect(&["--sysfs", cut.to_str().unwrap()]);
    assert_eq!(cut.status.code(), Some(2), "{}", text(&cut.stderr));
    assert!(text(&cut.stderr).contains("hint: "), "{}", text(&cut.stderr));
}

#[test]
fn a_text_of_lspci_may_be_piped_in_and_a_bad_one_names_the_expected_input() {
    use std::io::Write;
    let given = |arguments: &[&str], text: &str| {
        let mut command = lanemark!(arguments).command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
        child.wait_with_output().unwrap()
    };
    let drive = "> 01:00.0 Non-Volatile memory controller: Maker X\n> \tLnkCap: Speed 8GT/s, Width x4\n> \tLnkSta: Speed \
                 5GT/s (downgraded), Width x1 (downgraded)\n";
    for name in ["-", "/dev/stdin"] {
        let output = given(&["inspect", name], drive);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let printed = text(&output.stdout);
        assert!(
            printed.contains("runs at PCIe 2.0 x1, but the device supports PCIe 3.0 x4"),
            "{printed}"
        );
    }
    let output = given(&["inspect", "-"], "nothing of that kind\n");
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("no known text about drives or their paths"), "{message}");
    let output = given(&["inspect", "-"], "00:00.0 Host bridge: Maker Device 1234\n");
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(
        message.contains("-: there is no storage controller among its 1 PCI function"),
        "{message}"
    );
    assert!(message.contains("hint: use the whole output of `sudo lspci -vvv`"), "{message}");
    // Other commands that read a named file also recognise the text.
    for (arguments, says) in [
        (["compare", "-", "/dev/stdin"].as_slice(), "- is not a Lanemark result"),
        (&["report", "/dev/stdin", "--out", "/nowhere/x.html"], "/nowhere"),
        (&["report", "-"], "-"),
        (&["compare", "-", "--queue-depth", "2"], "- is not a Lanemark result"),
    ] {
        let output = given(arguments, "{}");
        assert_ne!(output.status.code(), Some(0), "{arguments:?}");
        let message = text(&output.stderr);
        assert!(
            message.contains(says) && !message.contains("can't be read"),
            "{arguments:?}: {message}"
        );
    }
}

#[test]
fn this_machine_is_shown_if_it_has_block_devices() {
    if !Path::new("/sys/block").is_dir() {
        lanemark_testbed::skipped("this machine shows no /sys/block");
        return;
    }
    let output = inspect(&[]);
    assert!(matches!(output.status.code(), Some(0 | 2)), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("panicked"));
    // The checkout may be on a file system without a block device, which the command reports.
    let output = inspect(&[env!("CARGO_MANIFEST_DIR"), "--json"]);
    match output.status.code() {
        Some(0) => {
            let value: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(value["devices"][0]["name"], value["target"]);
        }
        Some(2) => assert!(text(&output.stderr).contains("hint: "), "{}", text(&output.stderr)),
        code => panic!("{code:?}: {}", text(&output.stderr)),
    }
}

/// Writes a capture of 60,000 small files, which takes some time to unpack, as a tar file in the ustar format (POSIX).
fn long_capture(path: &Path) {
    let mut tar = Vec::new();
    for number in 0..60_000 {
        let mut header = [0; 512];
        let name = format!("sys/devices/{}/{number}", number / 500);
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[124..135].copy_from_slice(b"00000000002");
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend_from_slice(&header);
        let mut content = [0; 512];
        content[..2].copy_from_slice(b"1\n");
        tar.extend_from_slice(&content);
    }
    tar.extend_from_slice(&[0; 1024]);
    fs::write(path, tar).unwrap();
}

#[test]
fn a_captures_folder_is_private_and_any_signal_removes_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("long.tar");
    let temporary = folder.path().join("tmp");
    long_capture(&capture);
    fs::create_dir(&temporary).unwrap();
    let made = || fs::read_dir(&temporary).unwrap().next().map(|entry| entry.unwrap().path());
    for (signal, number) in [("TERM", 15), ("QUIT", 3), ("USR1", 10), ("XCPU", 24), ("HUP", 1)] {
        let mut command = Command::new("env");
        command.args(["--default-signal", env!("CARGO_BIN_EXE_lanemark"), "inspect", "--sysfs"]);
        command.arg(&capture).env("TMPDIR", &temporary).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        let unpacking = || made().filter(|folder| folder.join("sys/devices/1").exists());
        let unpacked = loop {
            if let Some(folder) = unpacking() {
                break folder;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "nothing is unpacked");
            std::thread::sleep(Duration::from_millis(1));
        };
        let mode = fs::metadata(&unpacked).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "{}", unpacked.display());
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(128 + number), "{signal}");
        assert_eq!(made(), None, "{signal} leaves it");
    }
}

#[test]
fn a_list_of_another_tool_names_the_librarys_drives() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| lanemark!(folder.path(), arguments).output();
    let smart = r#"{"json_format_version": [1, 0], "device": {"name": "/dev/nvme0", "protocol": "NVMe"},
        "model_name": "WD_BLACK SN850X 1000GB", "user_capacity": {"bytes": 1000204886016},
        "nvme_smart_health_information_log": {"temperature": 64, "percentage_used": 97, "media_errors": 3}}"#;
    let list = r#"{"Devices": [{"DevicePath": "/dev/nvme1n1", "ModelNumber": "CT500P2SSD8", "PhysicalSize": 500107862016}]}"#;
    let disks = r#"{"blockdevices": [{"name": "sda", "type": "disk", "size": 1000204886016, "model": "Samsung SSD 870 EVO 1TB"},
        {"name": "sdb", "type": "disk", "size": 7, "model": "\u001b[2JUnknown\nthing"}]}"#;
    for (name, content, says) in [
        (
            "smart.json",
            smart,
            &["library: wd-black-sn850x-1tb", "97% of the rated endurance", "3 media errors"][..],
        ),
        ("list.json", list, &["nvme1n1: CT500P2SSD8, 500.1 GB", "library: crucial-p2-500gb"]),
        ("disks.json", disks, &["library: samsung-870-evo-1tb", "no drive of this model"]),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let path = path.to_str().unwrap();
        let printed = lanemark!(folder.path(), &["inspect", path]).stdout();
        for part in says {
            assert!(printed.contains(part), "{name}: no {part} in {printed}");
        }
        // Control sequences of the terminal are not printed.
        assert!(!printed.contains('\u{1b}'), "{printed:?}");
        let mut piped = lanemark!(folder.path(), &["inspect", "-"]).command();
        let printed = piped.stdin(fs::File::open(path).unwrap()).output().unwrap();
        assert!(text(&printed.stdout).contains(says[0]), "{name}: {}", text(&printed.stderr));
        let drives = lanemark!(folder.path(), &["inspect", path, "--json"]).json();
        assert!(drives[0]["model"].is_string(), "{drives}");
        let refused = run(&["inspect", path, "--svg", "x.svg"]);
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
        let other = run(&["report", path]);
        assert!(text(&other.stderr).contains("lanemark inspect FILE"), "{}", text(&other.stderr));
    }
}
