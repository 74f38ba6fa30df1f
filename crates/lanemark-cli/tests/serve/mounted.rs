//! The served system as a file and as a disk: how programs see it, and its complete removal when the server ends.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lanemark_testbed::{MountFolder, Running, mounts_in, skipped};
use serde_json::Value;

use super::{SATA, Server, command, folder, stderr};

const SIZE: u64 = 64 << 20;
const MOUNTED: [&str; 5] = ["--memory", "--size", "64MiB", "--mount", "disk"];
const ATTACHED: [&str; 4] = ["--memory", "--size", "64MiB", "--attach"];

/// A lock on the numbers of loop devices. While a test checks whether a number is free, other tests must not use loop
/// devices.
pub(super) static DISKS: Mutex<()> = Mutex::new(());

/// Starts a server with a file or a disk. Returns `None` if this machine or user does not support it.
pub(super) fn start(folder: MountFolder, arguments: &[&str]) -> Option<Server> {
    match Server::try_start(folder, arguments) {
        Ok(server) => Some(server),
        Err(output) => {
            let messages = stderr(&output);
            let lacks = ["/dev/fuse", "fusermount3", "only root", "lacks loop devices"];
            assert!(lacks.iter().any(|lack| messages.contains(lack)), "{messages}");
            skipped(messages.trim());
            None
        }
    }
}

pub(super) fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

/// Returns the number of mounts in `folder`.
fn mounts(folder: &Path) -> usize {
    mounts_in(folder).len()
}

fn is_attached(node: &str) -> bool {
    Path::new("/sys/block").join(node.trim_start_matches("/dev/")).join("loop").exists()
}

pub(super) fn result(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("result.json")).unwrap()).unwrap()
}

#[test]
fn the_file_is_the_drive_that_connections_have() {
    let Some(server) = start(folder(), &MOUNTED) else { return };
    let path = server.path("disk");
    assert_eq!(server.addresses[1], path.canonicalize().unwrap().to_str().unwrap());
    let there = fs::metadata(&path).unwrap();
    assert_eq!((there.len(), there.permissions().mode()), (SIZE, 0o100_600));
    let file = open(&path);
    let mut client = server.client();
    file.write_all_at(&[7; 8192], 4096).unwrap();
    assert_eq!(client.read(4096, 8192).unwrap().unwrap(), [7; 8192]);
    client.write(8192, &[8; 4096], false).unwrap().unwrap();
    let mut bytes = [0; 8192];
    file.read_exact_at(&mut bytes, 4096).unwrap();
    assert!(bytes[..4096] == [7; 4096] && bytes[4096..] == [8; 4096]);
    // No intermediate layer caches the data, and partial sectors are correct.
    file.write_all_at(b"odd", 4097).unwrap();
    assert_eq!(client.read(4096, 512).unwrap().unwrap()[..5], [7, b'o', b'd', b'd', 7]);
    file.sync_all().unwrap();
    file.sync_data().unwrap();
    let punch = ["-p", "-o", "4096", "-l", "8192", "disk"];
    let punched = Command::new("fallocate").args(punch).current_dir(server.folder.path()).status();
    assert!(punched.unwrap().success());
    assert_eq!(client.read(4096, 8192).unwrap().unwrap(), [0; 8192]);
    // The file's length and mode cannot be changed.
    assert_eq!(file.set_len(5).unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(file.write_at(&[1; 512], SIZE).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    assert_eq!(file.write_at(&[1; 1024], SIZE - 512).unwrap(), 512);
    assert_eq!(file.read_at(&mut bytes, SIZE).unwrap(), 0);
    let wide = fs::set_permissions(&path, fs::Permissions::from_mode(0o644));
    assert_eq!(wide.unwrap_err().kind(), ErrorKind::PermissionDenied);
    drop((file, client));
    let (folder, output) = server.stop();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!folder.path().join("disk").exists() && mounts(folder.path()) == 0);
    let sample = &result(folder.path())["tests"][0]["samples"][0];
    assert_eq!(
        (&sample["flushes"]["latency"]["count"], &sample["trims"]["bytes"]),
        (&3.into(), &8192.into())
    );
}

#[test]
fn requests_of_several_programs_are_at_the_drive_at_once() {
    let Some(server) = start(folder(), &MOUNTED) else { return };
    let path = server.path("disk");
    std::thread::scope(|scope| {
        for thread in 0..16u64 {
            let file = open(&path);
            scope.spawn(move || {
                let mut bytes = [0; 4096];
                for page in 0..200 {
                    file.read_exact_at(&mut bytes, (thread * 200 + page) * 4096).unwrap();
                }
            });
        }
    });
    let (folder, _) = server.stop();
    let result = result(folder.path());
    let depth = result["tests"][0]["test"]["queue_depth"].as_u64().unwrap();
    assert!((8..=16).contains(&depth), "{depth}");
}

#[test]
fn no_exit_leaves_a_mount_and_after_a_kill_the_next_server_says_so() {
    let Some(server) = start(folder(), &MOUNTED) else { return };
    let second = ["serve", SATA, "--memory", "--size", "1MiB", "--mount", "disk", "--out", "two"];
    let output = command(server.folder.path(), &second).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("another server"), "{}", stderr(&output));
    let (mut folder, _) = server.signal("-INT");
    for name in ["-TERM", "-HUP"] {
        assert!(mounts(folder.path()) == 0 && !folder.path().join("disk").exists(), "{name}");
        folder = Server::start(folder, &MOUNTED).signal(name).0;
    }
    // A program that has the file open does not prevent the removal of the file.
    let server = Server::start(folder, &MOUNTED);
    let file = open(&server.path("disk"));
    let (folder, output) = server.signal("-TERM");
    assert!(stderr(&output).contains("still open"), "{}", stderr(&output));
    assert!(mounts(folder.path()) == 0 && file.read_at(&mut [0; 512], 0).is_err());
    // Two signals end the server immediately.
    let server = Server::start(folder, &MOUNTED);
    let id = server.child.id().to_string();
    let twice = format!("kill -TERM {id}; kill -INT {id}");
    Command::new("sh").args(["-c", &twice]).status().unwrap();
    let folder = server.signal("-0").0;
    assert_eq!(mounts(folder.path()), 0);
    let folder = Server::start(folder, &MOUNTED).kill();
    assert_eq!(mounts(folder.path()), 1);
    let (folder, output) = Server::start(folder, &MOUNTED).stop();
    assert!(stderr(&output).contains("left its mount behind"), "{}", stderr(&output));
    assert_eq!(mounts(folder.path()), 0);
}

/// A user without root privileges receives a file if the machine allows this, or otherwise an error that states the
/// obstacle.
#[test]
fn a_user_without_rights_has_a_file_or_a_message_about_the_missing_rights() {
    if !rustix::process::geteuid().is_root() {
        return skipped("only root takes another user's place");
    }
    let folder = folder();
    let nobody = ["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"];
    let program = folder.path().join("lanemark");
    fs::copy(env!("CARGO_BIN_EXE_lanemark"), &program).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    std::os::unix::fs::chown(&own, Some(65_534), Some(65_534)).unwrap();
    let mut server = Command::new("setpriv");
    server.args(nobody).arg(&program).args(["serve", SATA]).args(MOUNTED);
    server.args(["--out", "result.json"]).current_dir(&own).env_remove("LANEMARK_LIBRARY");
    server.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Running::new(server.spawn().unwrap());
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut path = String::new();
    out.read_line(&mut path).unwrap();
    if path.is_empty() {
        let messages = stderr(&child.output());
        assert!(messages.contains("users other than root need access to /dev/fuse"), "{messages}");
        return;
    }
    let copy = |arguments: [&str; 2]| {
        let mut dd = Command::new("setpriv");
        dd.args(nobody).arg("dd").args(arguments).args(["bs=4k", "count=10", "conv=notrunc,fsync"]);
        dd.current_dir(&own).stderr(Stdio::null()).status().unwrap().success()
    };
    assert!(copy(["if=/dev/urandom", "of=disk"]) && copy(["if=disk", "of=copied"]));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let output = child.output();
    assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
    assert!(!own.join("disk").exists() && mounts(&own) == 0);
    assert_eq!(fs::metadata(own.join("copied")).unwrap().len(), 40_960);
}

#[test]
fn nothing_that_was_there_is_mounted_over() {
    let folder = folder();
    fs::write(folder.path().join("theirs"), "important").unwrap();
    for (file, wanted) in
        [("theirs", "contains data"), (".", "not a file"), ("/dev/null", "not a file")]
    {
        let words = ["serve", SATA, "--memory", "--size", "1MiB", "--mount", file];
        let output = command(folder.path(), &words).output().unwrap();
        let messages = stderr(&output);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{messages}");
        assert!(messages.contains(wanted) || file == ".", "{messages}");
    }
    assert_eq!(fs::read(folder.path().join("theirs")).unwrap(), b"important");
    assert_eq!(mounts(folder.path()), 0);
}

#[test]
fn a_disk_is_the_drive_and_the_server_removes_it() {
    let _alone = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(server) = start(folder(), &ATTACHED) else { return };
    let node = server.addresses[1].clone();
    let mut client = server.client();
    let disk = open(Path::new(&node));
    disk.write_all_at(&[5; 4096], 1 << 20).unwrap();
    disk.sync_all().unwrap();
    assert_eq!(client.read(1 << 20, 4096).unwrap().unwrap(), [5; 4096]);
    let of_node = Path::new("/sys/block").join(node.trim_start_matches("/dev/"));
    let says = |file: &str| fs::read_to_string(of_node.join(file)).unwrap().trim().to_owned();
    assert_eq!((says("loop/dio"), says("queue/logical_block_size")), ("1".into(), "512".into()));
    assert_eq!(says("size"), (SIZE / 512).to_string());
    // The page cache is written back before the disk is removed, and a process that still uses the disk is reported.
    disk.write_all_at(&[6; 4096], 2 << 20).unwrap();
    drop(client);
    let (folder, output) = server.signal("-TERM");
    assert!(stderr(&output).contains("still mounted or open"), "{}", stderr(&output));
    assert!(disk.read_at(&mut [0; 512], 8 << 20).is_err());
    drop(disk);
    assert!(!is_attached(&node));
    let written = &result(folder.path())["tests"][0]["samples"][0]["writes"]["bytes"];
    assert_eq!(written, 8192);
}

#[test]
fn a_disk_gets_flushes_though_an_earlier_user_of_its_number_turned_them_off() {
    let _alone = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut nodes = Vec::new();
    for _ in 0..2 {
        let Some(server) = start(folder(), &ATTACHED) else { return };
        let node = server.addresses[1].clone();
        let of_node = Path::new("/sys/block").join(node.trim_start_matches("/dev/"));
        let switch = of_node.join("queue/write_cache");
        assert_eq!(fs::read_to_string(&switch).unwrap().trim(), "write back");
        fs::write(switch, "write through").unwrap();
        server.stop();
        nodes.push(node);
    }
    assert_eq!(nodes[0], nodes[1]);
    let Some(server) = start(folder(), &ATTACHED) else { return };
    server.stop();
}

#[test]
fn a_killed_servers_disk_is_gone_though_the_page_cache_held_data_of_it() {
    let _alone = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(server) = start(folder(), &ATTACHED) else { return };
    let node = server.addresses[1].clone();
    open(Path::new(&node)).write_all_at(&vec![5; 48 << 20], 0).unwrap();
    let began = Instant::now();
    server.kill();
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(!is_attached(&node));
    let Some(next) = start(folder(), &ATTACHED) else { return };
    let (_, output) = next.stop();
    assert!(stderr(&output).contains("did not shut down cleanly"), "{}", stderr(&output));
}

/// A drive without power holds requests until it has power again.
#[test]
fn a_server_without_power_that_stores_cached_data_can_be_killed() {
    let _alone = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut server) = start(folder(), &ATTACHED) else { return };
    let node = server.addresses[1].clone();
    let disk = open(Path::new(&node));
    disk.write_all_at(&vec![5; 4 << 20], 0).unwrap();
    assert!(server.control(&["cut", "600s"]).status.success());
    let id = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    // The write of the cached data takes place in a child, and waits for the drive.
    let latest = Instant::now() + Duration::from_secs(20);
    let children = format!("/proc/{id}/task/{id}/children");
    while fs::read_to_string(&children).unwrap().is_empty() {
        assert!(Instant::now() < latest, "the server does not store the cached data");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::process::Child::kill(&mut server.child).unwrap();
    while server.child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < latest, "the server does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(disk);
}

#[test]
fn a_disk_without_root_rights_is_refused_with_the_reason() {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skipped("setpriv, which only root can use");
    }
    let folder = folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("lanemark");
    fs::copy(env!("CARGO_BIN_EXE_lanemark"), &program).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&program)
        .args(["serve", SATA, "--memory", "--size", "1MiB", "--attach", "--out", "r.json"])
        .current_dir(folder.path())
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("only root"), "{}", stderr(&output));
}
