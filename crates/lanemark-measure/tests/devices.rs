//! Block devices are written only if they are offered and not in use, under any of their names.
//!
//! Each test creates loop devices over its own files, which requires root. Rejected devices must be unchanged
//! afterwards, byte for byte.

mod workloads;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lanemark_measure::{
    Bench, Event, MeasureError, MeasureOutcome, MeasureSettings, Preconditioning, PurgeMethod,
};
use lanemark_schema::result::Warning;
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::{RequestMix, Test};
use lanemark_testbed::{Mounted, skipped, tool_or_skip};
use workloads::{content, read, workload, write};

const MIB: usize = 1 << 20;

/// A loop device over a separate file.
struct LoopDevice {
    folder: tempfile::TempDir,
    node: PathBuf,
}

impl LoopDevice {
    /// Returns a device with the content `bytes`, or `None` if the user is not permitted to create a loop device.
    fn with_content(bytes: &[u8]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("medium"), bytes).unwrap();
        let node = attach(&folder.path().join("medium"))?;
        Some(Self { folder, node })
    }

    /// Returns a device with an ext4 file system.
    fn with_file_system() -> Option<Self> {
        let device = Self::with_content(&vec![0; 16 * MIB])?;
        tool_or_skip("mkfs.ext4", &["-q", "-F", text(&device.node)]).map(|_| device)
    }

    fn medium(&self) -> PathBuf {
        self.folder.path().join("medium")
    }

    /// Returns all data of the device.
    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.node).unwrap()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        tool("losetup", &["-d", text(&self.node)]);
    }
}

fn attach(medium: &Path) -> Option<PathBuf> {
    let made = Command::new("losetup").args(["-P", "-f", "--show"]).arg(medium).output().ok()?;
    let node = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    if node.is_empty() {
        let why = String::from_utf8_lossy(&made.stderr).into_owned();
        skipped(&format!("this user cannot create loop devices: {why}"));
        return None;
    }
    Some(PathBuf::from(node))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs a tool. Returns false, with a message, if the tool fails.
fn tool(name: &str, arguments: &[&str]) -> bool {
    let done = Command::new(name).args(arguments).output();
    let well = done.as_ref().is_ok_and(|output| output.status.success());
    if !well {
        eprintln!("{name} {arguments:?}: {done:?}");
    }
    well
}

fn bench(path: &Path, test: Test, offered: Option<&Path>) -> Result<MeasureOutcome, MeasureError> {
    let workload = workload([test]);
    let stop = AtomicBool::new(false);
    let bench = Bench { offered, ..Bench::new(path, &workload, 3, &stop) };
    bench.run(&mut |_| ())
}

/// Checks that writes and trims of the offered `path` are rejected, with `word` in the reason.
fn is_in_use(path: &Path, word: &str) {
    let trim = RequestMix { trim_share: Ratio::ONE, ..RequestMix::default() };
    for test in [write(), read().with(|requests| requests.mix = trim)] {
        let error = bench(path, test, Some(path)).unwrap_err();
        assert!(matches!(error, MeasureError::DeviceInUse { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

/// Runs a bench on a device that an earlier bench has released. If another test starts a child process at that moment,
/// the child has a copy of the earlier descriptor, and the device stays claimed until the child executes its program.
fn run_when_free(bench: &Bench<'_>) -> MeasureOutcome {
    let last = Instant::now() + Duration::from_secs(10);
    loop {
        match bench.run(&mut |_| ()) {
            Err(MeasureError::DeviceInUse { .. }) if Instant::now() < last => {
                std::thread::sleep(Duration::from_millis(20));
            }
            outcome => return outcome.unwrap(),
        }
    }
}

#[test]
fn a_mounted_device_is_refused_by_every_name() {
    let Some(device) = LoopDevice::with_file_system() else { return };
    let Some(_mounted) = Mounted::with(&[text(&device.node)]) else { return };
    let before = fs::read(device.medium()).unwrap();
    is_in_use(&device.node, "is mounted on");
    let link = device.folder.path().join("by-id");
    std::os::unix::fs::symlink(&device.node, &link).unwrap();
    is_in_use(&link, "is mounted on");
    // A second node refers to the same device.
    let stat = rustix::fs::stat(&device.node).unwrap();
    let node = device.folder.path().join("node");
    let kind = rustix::fs::FileType::BlockDevice;
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &node, kind, mode, stat.st_rdev).unwrap();
    is_in_use(&node, "is mounted on");
    // Another loop device uses the same medium.
    let twin = attach(&device.medium()).unwrap();
    is_in_use(&twin, "share one medium");
    assert!(tool("losetup", &["-d", text(&twin)]));
    assert!(fs::read(device.medium()).unwrap() == before, "the medium was written");
}

#[test]
fn a_disk_with_a_mounted_partition_is_refused_and_so_are_its_other_partitions() {
    let mut disk = vec![0; 40 * MIB];
    // The table contains two Linux partitions of 16 MiB, each with its boot flag, type, first sector and length.
    for (number, first) in [(0, 1u32), (1, 20)] {
        let entry = 446 + 16 * number;
        disk[entry + 4] = 0x83;
        disk[entry + 8..entry + 12].copy_from_slice(&(first * 2048).to_le_bytes());
        disk[entry + 12..entry + 16].copy_from_slice(&(16u32 * 2048).to_le_bytes());
    }
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    let Some(device) = LoopDevice::with_content(&disk) else { return };
    let part = |number: &str| PathBuf::from(format!("{}p{number}", text(&device.node)));
    // If the kernel cannot read this kind of table, the test reports this.
    for (number, first) in [("1", "2048"), ("2", "40960")] {
        if !part(number).exists() {
            tool("addpart", &[text(&device.node), number, first, "32768"]);
        }
    }
    if !part("1").exists() || !tool("mkfs.ext4", &["-q", "-F", text(&part("1"))]) {
        skipped("no partitions on loop devices here");
        return;
    }
    let Some(mounted) = Mounted::with(&[text(&part("1"))]) else { return };
    is_in_use(&device.node, "is mounted on");
    is_in_use(&part("1"), "is mounted on");
    // The second device is not in use, but the kernel denies access to its disk; the error names the cause.
    is_in_use(&part("2"), "p1 is mounted on");
    drop(mounted);
    let error = bench(&device.node, write(), None).unwrap_err().to_string();
    assert!(error.contains("partition table") && error.contains("p1 holds ext4"), "{error}");
    let second = format!("{} holds", part("2").file_name().unwrap().to_str().unwrap());
    assert!(!error.contains(&second), "nothing was made on it: {error}");
    assert!(bench(&part("2"), write(), Some(&part("2"))).unwrap().complete);
}

#[test]
fn a_swap_device_is_refused() {
    let Some(device) = LoopDevice::with_content(&vec![0; 16 * MIB]) else { return };
    if !tool("mkswap", &[text(&device.node)]) || !tool("swapon", &[text(&device.node)]) {
        skipped("no swap on loop devices here");
        return;
    }
    let before = fs::read(device.medium()).unwrap();
    is_in_use(&device.node, "is in use as swap space");
    assert!(tool("swapoff", &[text(&device.node)]));
    assert!(fs::read(device.medium()).unwrap() == before, "the medium was written");
}

#[test]
fn the_medium_of_a_loop_device_is_refused() {
    let Some(under) = LoopDevice::with_content(&content(4 * MIB)) else { return };
    let Some(over) = attach(&under.node) else { return };
    let before = under.bytes();
    is_in_use(&under.node, "is the medium of");
    assert!(tool("losetup", &["-d", text(&over)]));
    assert!(under.bytes() == before, "the medium was written");
}

/// Returns a member of an LVM volume group, with the label in the second sector and its checksum.
fn lvm_member() -> Vec<u8> {
    let mut disk = vec![0u8; 4 * MIB];
    let label = &mut disk[512..1024];
    label[..8].copy_from_slice(b"LABELONE");
    label[8] = 1;
    label[20] = 32;
    label[24..32].copy_from_slice(b"LVM2 001");
    label[32..64].copy_from_slice(b"abcdefghijklmnopqrstuvwxyz012345");
    let crc = label[20..].iter().fold(0xf597_a6cf_u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    });
    label[16..20].copy_from_slice(&crc.to_le_bytes());
    disk
}

/// Returns a member of a RAID array, with superblock 0.90 at the second-last 64 KiB boundary.
fn raid_member() -> Vec<u8> {
    let mut disk = vec![0u8; 4 * MIB];
    let at = 4 * MIB - (64 << 10);
    let words = [0xa92b_4efc_u32, 0, 90, 0, 0, 0x1234_5678];
    for (index, word) in words.into_iter().enumerate() {
        disk[at + 4 * index..at + 4 * index + 4].copy_from_slice(&word.to_le_bytes());
    }
    let sum: u64 = disk[at..at + 4096]
        .chunks_exact(4)
        .map(|word| u64::from(u32::from_le_bytes(word.try_into().unwrap())))
        .sum();
    let csum = ((sum & 0xffff_ffff) + (sum >> 32)) as u32;
    disk[at + 152..at + 156].copy_from_slice(&csum.to_le_bytes());
    disk
}

#[test]
fn foreign_content_of_a_device_is_named_and_kept_unless_it_is_offered() {
    let ext4 = || LoopDevice::with_file_system().map(|device| device.bytes());
    let swap = || {
        let device = LoopDevice::with_content(&vec![0; 4 * MIB])?;
        tool("mkswap", &[text(&device.node)]).then(|| device.bytes())
    };
    let cases = [
        ("ext4", ext4()),
        ("swap", swap()),
        ("LVM2_member", Some(lvm_member())),
        ("linux_raid_member", Some(raid_member())),
    ];
    for (kind, bytes) in cases {
        let Some(bytes) = bytes else { continue };
        let Some(device) = LoopDevice::with_content(&bytes) else { return };
        let error = bench(&device.node, write(), None).unwrap_err();
        assert!(matches!(error, MeasureError::DeviceNotOffered { .. }), "{error}");
        assert!(error.to_string().contains(&format!("holds {kind}")), "{kind}: {error}");
        assert!(error.hint().unwrap().contains("--i-will-lose-all-data-on"));
        let other = bench(&device.node, write(), Some(Path::new("/dev/null"))).unwrap_err();
        assert!(matches!(other, MeasureError::OfferMismatch { .. }), "{other}");
        assert!(device.bytes() == bytes, "{kind}: the device was written");
        assert!(bench(&device.node, write(), Some(&device.node)).unwrap().complete);
        assert!(device.bytes() != bytes, "{kind}: nothing was written");
    }
}

#[test]
fn a_file_is_not_offered_as_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, content(2 * MIB)).unwrap();
    let error = bench(&file, write(), Some(&file)).unwrap_err();
    assert!(matches!(error, MeasureError::OfferMismatch { .. }), "{error}");
    let mut whole = vec![0; 2 * MIB];
    fs::File::open(&file).unwrap().read_exact_at(&mut whole, 0).unwrap();
    assert!(whole == content(2 * MIB));
}

#[test]
fn a_device_is_purged_and_written_twice_over_on_request() {
    let Some(device) = LoopDevice::with_content(&content(4 * MIB)) else { return };
    let workload = workload([write()]);
    let stop = AtomicBool::new(false);
    let offered = Some(device.node.as_path());
    let plain = Bench { offered, ..Bench::new(&device.node, &workload, 3, &stop) };
    let mark = device.folder.path().join("purged");
    let command = format!("test -b \"$LANEMARK_DEVICE\" && touch {}", text(&mark));
    let purged = Bench { purge: Some(PurgeMethod::Command(&command)), ..plain };
    assert!(run_when_free(&purged).complete && mark.exists());
    let failing = Bench { purge: Some(PurgeMethod::Command("exit 3")), ..plain };
    let before = device.bytes();
    let error = failing.run(&mut |_| ()).unwrap_err();
    assert!(matches!(error, MeasureError::Purge { .. }), "{error}");
    // Only a purge may discard data, and only on offered devices.
    let refused = Bench { purge: Some(PurgeMethod::Discard), offered: None, ..plain };
    assert!(matches!(refused.run(&mut |_| ()), Err(MeasureError::DeviceNotOffered { .. })));
    assert!(device.bytes() == before, "a purge that failed or was refused wrote");
    let discarded = Bench { purge: Some(PurgeMethod::Discard), ..plain };
    assert!(run_when_free(&discarded).complete);
    assert!(
        device.bytes()[2 * MIB..].iter().all(|&byte| byte == 0),
        "the device was not discarded"
    );
    let settings =
        MeasureSettings { precondition: Some(Preconditioning::Snia), ..MeasureSettings::default() };
    let mut total = Bytes::ZERO;
    let outcome = Bench { settings, ..plain }
        .run(&mut |event| {
            if let Event::LayingOut { total: all, .. } = event {
                total = all;
            }
        })
        .unwrap();
    assert_eq!(total, Bytes(8 * MIB as u64));
    assert!(!outcome.warnings.iter().any(|warning| matches!(warning, Warning::Fresh { .. })));
    assert!(device.bytes().chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)));
}
