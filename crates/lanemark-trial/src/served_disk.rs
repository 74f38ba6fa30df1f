//! A modelled system as a disk with a file system, for commands that run programs on it. `lanemark serve` runs as a
//! separate process, so that its processor time is not counted as the programs'.
//!
//! As root and with loop devices, the system is a block device, and the kernel mounts its file system. The mounts are
//! in a mount namespace of this command (mount_namespaces(7)): other processes do not see them, and they end with the
//! namespace's last process, even after SIGKILL. The server stays outside of the namespace (`nsenter`). If the server
//! were the last process in the namespace, its exit would unmount a file system whose disk it no longer serves, and
//! would wait forever.
//!
//! Without root and loop devices the system is a file (FUSE), and `fuse2fs` mounts the ext4 file system in that file.
//! This method requires no privileges, and works in containers with `/dev/fuse`.
//!
//! When this command ends, the kernel sends a signal to the server and to `fuse2fs` (`setpriv --pdeathsig`).

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lanemark_files::mounts;
use lanemark_lab::{LabError, results};
use lanemark_schema::result::RunResult;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::own_program;

/// Maximum time until a server has created its disk.
const START_MAX: Duration = Duration::from_secs(30);
/// Maximum time for a server to store its data and end.
const END_MAX: Duration = Duration::from_secs(60);
/// Exit code of a server that SIGTERM ended: 128 plus the signal's number.
const ENDED: i32 = 143;
/// Interval between checks of a process.
const LOOK: Duration = Duration::from_millis(20);
/// A file system with less free space than this counts as full, in bytes.
const FULL: u64 = 64 << 10;
/// Number of attempts to unmount a file system while a process is still closing its files.
const TRIES: u32 = 100;
/// Maximum time for `fuse2fs` to mount a file system, including the recovery of the file system's journal.
const MOUNT_MAX: Duration = Duration::from_secs(60);

/// Moves this command into its own mount namespace. Returns the previous namespace.
pub(crate) fn own_mounts() -> Result<File, LabError> {
    let fail = |error| LabError::run(format!("a mount namespace can't be created: {error}"));
    let outside = File::open("/proc/thread-self/ns/mnt")
        .map_err(|error| LabError::run(format!("/proc/thread-self/ns/mnt: {error}")))?;
    // SAFETY: the flag affects only mounts; the table of open files, which other code may use, stays shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.map_err(fail)?;
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).map_err(fail)?;
    Ok(outside)
}

pub(crate) enum Contents<'p> {
    /// The data is in this file, which is kept.
    File(&'p Path),
    /// This file supplies the initial data; memory receives all writes.
    Over(&'p Path),
    /// The image supplies the initial data; the file receives all writes and is kept.
    FileOver { file: &'p Path, image: &'p Path },
}

/// The form in which a system is served.
#[derive(Clone, Copy)]
pub(crate) enum ServedForm<'p> {
    /// A block device. The server is in the mount namespace `outside`.
    Disk {
        outside: &'p File,
    },
    File,
}

pub(crate) struct DiskParameters<'p> {
    pub(crate) form: ServedForm<'p>,
    /// The folder for the server's files.
    pub(crate) folder: &'p Path,
    /// The base name of these files.
    pub(crate) name: &'p str,
    /// System and settings, as arguments of `lanemark serve`.
    pub(crate) system: Vec<String>,
    pub(crate) contents: Contents<'p>,
    /// Length of the disk, in bytes.
    pub(crate) size: u64,
    /// The time scale; `None` serves without the model.
    pub(crate) scale: Option<f64>,
}

impl DiskParameters<'_> {
    /// Returns the path of one of the server's files.
    fn file(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}.{end}", self.name))
    }

    /// Returns the command that starts the server.
    fn command(&self) -> Result<Command, LabError> {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]);
        if let ServedForm::Disk { outside } = self.form {
            let process = std::process::id();
            let number = outside.as_raw_fd();
            command.args(["nsenter", "--wd=.", &format!("--mount=/proc/{process}/fd/{number}")]);
            // A real drive has its own processors, so the server has a higher priority than the programs.
            command.args(["chrt", "--rr", "1"]);
        }
        let words = own_program::words()
            .map_err(|error| LabError::run(format!("this program can't be found: {error}")))?;
        command.args(words).arg("serve").args(&self.system);
        command.args(["--size", &format!("{} B", self.size)]);
        match self.form {
            ServedForm::Disk { .. } => command.arg("--attach"),
            ServedForm::File => command.arg("--mount").arg(self.file("disk")),
        };
        match self.contents {
            Contents::File(file) => command.arg("--data").arg(file),
            Contents::Over(image) => command.arg("--memory").arg("--over").arg(image),
            Contents::FileOver { file, image } => {
                command.arg("--data").arg(file).arg("--over").arg(image)
            }
        };
        match self.scale {
            None => command.arg("--no-latency"),
            Some(scale) => {
                // The self-test measures a socket, but the programs use a disk.
                command.args(["--no-self-test", "--time-scale", &scale.to_string()]);
                command.arg("--control").arg(self.file("control"));
                command.arg("--out").arg(self.file("json"))
            }
        };
        Ok(command)
    }
}

/// A served disk. Dropping it unmounts the file system and ends the server.
pub(crate) struct ServedDisk {
    child: Child,
    node: PathBuf,
    result: PathBuf,
    errors: PathBuf,
    control: PathBuf,
    is_file: bool,
    mounted: Option<MountedDisk>,
}

/// A mounted file system of a served disk.
struct MountedDisk {
    mount_point: PathBuf,
    /// The process of `fuse2fs`; `None` if the kernel mounted the file system.
    daemon: Option<Child>,
}

impl ServedDisk {
    /// Starts a server; returns `None` if the command was stopped.
    pub(crate) fn start(
        wanted: &DiskParameters<'_>,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, LabError> {
        let out = wanted.file("out");
        let errors = wanted.file("err");
        let result = wanted.file("json");
        let fail = |error: std::io::Error| LabError::run(format!("lanemark serve: {error}"));
        let mut command = wanted.command()?;
        command.stdin(Stdio::null());
        command.stdout(File::create(&out).map_err(fail)?);
        command.stderr(File::create(&errors).map_err(fail)?);
        // Ctrl-C must reach only this command, which then ends the server.
        let child = command.process_group(0).spawn().map_err(|error| {
            LabError::run(format!("setpriv: {error}")).hint("install the package util-linux")
        })?;
        let mut served = Self {
            child,
            node: PathBuf::new(),
            result,
            errors,
            control: wanted.file("control"),
            is_file: matches!(wanted.form, ServedForm::File),
            mounted: None,
        };
        let begun = Instant::now();
        loop {
            let text = fs::read_to_string(&out).unwrap_or_default();
            if let Some(node) = text.lines().find(|line| line.starts_with('/'))
                && text.contains('\n')
            {
                served.node = node.into();
                break;
            }
            if served.child.try_wait().map_err(fail)?.is_some() || begun.elapsed() > START_MAX {
                return Err(served.failure());
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            std::thread::sleep(LOOK);
        }
        Ok(Some(served))
    }

    /// Returns the path of the block device or of the file.
    pub(crate) fn node(&self) -> &Path {
        &self.node
    }

    /// Returns the server's socket for commands.
    pub(crate) fn control(&self) -> &Path {
        &self.control
    }

    /// Creates an ext4 file system on the disk.
    pub(crate) fn format(&self) -> Result<(), LabError> {
        // The kernel must not initialise parts of the file system later.
        let options = ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"];
        let made = Command::new("mkfs.ext4").args(options).arg(&self.node).output();
        let made = made.map_err(|error| {
            LabError::run(format!("mkfs.ext4: {error}")).hint("install the package e2fsprogs")
        })?;
        if made.status.success() {
            Ok(())
        } else {
            let message = String::from_utf8_lossy(&made.stderr);
            Err(LabError::run(format!("mkfs.ext4 {}: {}", self.node.display(), message.trim())))
        }
    }

    /// Repairs the ext4 file system of the disk, which is not mounted.
    pub(crate) fn repair(&self) -> Result<(), LabError> {
        let done = Command::new("e2fsck").args(["-f", "-y"]).arg(&self.node).output();
        let done = done.map_err(|error| {
            LabError::run(format!("e2fsck: {error}")).hint("install the package e2fsprogs")
        })?;
        // According to e2fsck(8), the codes below 4 mean that no error is left.
        if done.status.code().is_some_and(|code| code < 4) {
            return Ok(());
        }
        let message = String::from_utf8_lossy(&done.stderr).trim().replace('\n', "; ");
        Err(LabError::run(format!("e2fsck {}: {}: {message}", self.node.display(), done.status)))
    }

    /// Mounts the file system with `options`, separated by commas.
    pub(crate) fn mount(
        &mut self,
        mount_point: &Path,
        file_system: &str,
        options: &str,
    ) -> Result<(), LabError> {
        let fail = |error: &dyn std::fmt::Display| {
            let node = self.node.display();
            let mount_point = mount_point.display();
            LabError::run(format!("{node} can't be mounted at {mount_point}: {error}"))
        };
        let daemon = if self.is_file {
            Some(fuse2fs(&self.node, mount_point, options).map_err(|error| fail(&error))?)
        } else {
            let options = CString::new(options).map_err(|error| fail(&error))?;
            let options = (!options.is_empty()).then_some(options.as_c_str());
            mount(&self.node, mount_point, file_system, MountFlags::NOATIME, options)
                .map_err(|error| fail(&error))?;
            None
        };
        self.mounted = Some(MountedDisk { mount_point: mount_point.to_owned(), daemon });
        Ok(())
    }

    /// Kills the server, like a power cut of the machine, and detaches the file system without writing anything.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(mut mounted) = self.mounted.take() {
            if let Some(daemon) = &mut mounted.daemon {
                let _ = daemon.kill();
                let _ = daemon.wait();
            }
            detach(&mounted);
        }
    }

    /// Unmounts the disk and ends the server; returns the server's result, or `None` without the model.
    pub(crate) fn end(mut self) -> Result<Option<RunResult>, LabError> {
        self.leave();
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.finish();
        } else {
            return Err(self.failure());
        }
        // A server that could not store its data or its result ends with an error.
        let code = self.child.wait().ok().and_then(|status| status.code());
        if !code.is_some_and(|code| [0, ENDED].contains(&code)) {
            return Err(self.failure());
        }
        // Without requests there is no result.
        if !self.result.exists() {
            return Ok(None);
        }
        Ok(Some(results::load_run(&self.result.to_string_lossy())?))
    }

    /// Unmounts the file system, or detaches it if it is busy.
    fn leave(&mut self) {
        let Some(mut mounted) = self.mounted.take() else { return };
        for _ in 0..TRIES {
            let done = match &mounted.daemon {
                None => unmount(&mounted.mount_point, UnmountFlags::empty()) != Err(Errno::BUSY),
                Some(_) => fusermount(&mounted.mount_point, &[]),
            };
            if done {
                return match &mut mounted.daemon {
                    None => wait_for_release(&self.node),
                    Some(daemon) => wait_for_end(daemon),
                };
            }
            std::thread::sleep(LOOK);
        }
        detach(&mounted);
    }

    /// Ends the server, and kills it after a timeout.
    fn finish(&mut self) {
        let begun = Instant::now();
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        while matches!(self.child.try_wait(), Ok(None)) {
            if begun.elapsed() > END_MAX {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Returns the failure of a server, including its error output.
    fn failure(&mut self) -> LabError {
        let errors = fs::read_to_string(&self.errors).unwrap_or_default();
        let why = match (without_notes(&errors), self.child.try_wait()) {
            (errors, _) if !errors.is_empty() => errors,
            (_, Ok(Some(status))) => format!("it ended with {status} and printed nothing"),
            (_, _) => "it did not create its disk in time".to_owned(),
        };
        let failure = LabError::run(format!("lanemark serve: {why}"));
        let folder = self.errors.parent().unwrap_or(Path::new("/"));
        let space = rustix::fs::statvfs(folder).ok();
        let is_full = space.is_some_and(|space| space.f_bavail * space.f_frsize < FULL);
        if is_full {
            return failure.hint(format!("{} is full; use a different folder", folder.display()));
        }
        failure
    }
}

impl Drop for ServedDisk {
    fn drop(&mut self) {
        self.leave();
        if matches!(self.child.try_wait(), Ok(None)) {
            self.finish();
        }
    }
}

/// Waits until no other mount namespace has the file system of a disk mounted. A process that is ending may still do
/// so, and the file system must not write to the disk after its server has ended.
fn wait_for_release(node: &Path) {
    for _ in 0..TRIES {
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
        if rustix::fs::open(node, flags, Mode::empty()).err() != Some(Errno::BUSY) {
            return;
        }
        std::thread::sleep(LOOK);
    }
}

/// Waits until `fuse2fs` has written the remaining data of its file system, and kills it after a timeout.
fn wait_for_end(daemon: &mut Child) {
    let begun = Instant::now();
    while matches!(daemon.try_wait(), Ok(None)) && begun.elapsed() < MOUNT_MAX {
        std::thread::sleep(LOOK);
    }
    let _ = daemon.kill();
    let _ = daemon.wait();
}

/// Detaches the file systems that are mounted below `folder`. A program without the right to create a mount namespace
/// may have left them, with fusermount3(1).
pub(crate) fn unmount_below(folder: &Path) {
    let Ok(folder) = folder.canonicalize() else { return };
    for mount in mounts::mounts().iter().rev().filter(|mount| mount.point.starts_with(&folder)) {
        if unmount(&mount.point, UnmountFlags::DETACH).is_err() {
            fusermount(&mount.point, &["-z"]);
        }
    }
}

/// Returns the lines of a server's error output in one line, without its notes.
fn without_notes(errors: &str) -> String {
    errors.lines().filter(|line| !line.starts_with("note:")).collect::<Vec<_>>().join("; ")
}

/// Starts `fuse2fs`, and returns when it has mounted the file system.
fn fuse2fs(node: &Path, mount_point: &Path, options: &str) -> Result<Child, String> {
    let before = fs::metadata(mount_point).map_err(|error| error.to_string())?.dev();
    let comma = if options.is_empty() { "" } else { "," };
    let log = mount_point.with_extension("fuse2fs");
    let open = File::create(&log).map_err(|error| error.to_string())?;
    let mut daemon = Command::new("setpriv")
        .args(["--pdeathsig", "TERM", "fuse2fs", "-f", "-o"])
        .arg(format!("rw,fakeroot{comma}{options}"))
        .args([node, mount_point])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(open)
        .process_group(0)
        .spawn()
        .map_err(|error| format!("setpriv: {error}"))?;
    let begun = Instant::now();
    loop {
        if fs::metadata(mount_point).is_ok_and(|now| now.dev() != before) {
            return Ok(daemon);
        }
        let has_ended = !matches!(daemon.try_wait(), Ok(None));
        if has_ended || begun.elapsed() > MOUNT_MAX {
            let _ = daemon.kill();
            let _ = daemon.wait();
            let message = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("fuse2fs: {}", message.trim().replace('\n', "; ")));
        }
        std::thread::sleep(LOOK);
    }
}

/// Detaches a file system whose disk may no longer exist.
fn detach(mounted: &MountedDisk) {
    match mounted.daemon {
        None => drop(unmount(&mounted.mount_point, UnmountFlags::DETACH)),
        Some(_) => drop(fusermount(&mounted.mount_point, &["-z"])),
    }
}

/// Unmounts a FUSE file system with fusermount3(1), which any user may run, and returns whether this succeeded.
fn fusermount(mount_point: &Path, options: &[&str]) -> bool {
    let quiet = |program: &str| {
        let mut command = Command::new(program);
        command.arg("-u").args(options).arg(mount_point);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()
    };
    let done = quiet("fusermount3").or_else(|_| quiet("fusermount"));
    done.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_contains_the_errors_of_its_server_without_the_notes() {
        let errors = "note: the drive is new\nerror: no room\nhint: free some space\nnote: ended\n";
        assert_eq!(without_notes(errors), "error: no room; hint: free some space");
        assert_eq!(without_notes(""), "");
    }

    #[test]
    fn a_server_has_the_arguments_of_its_form_its_contents_and_its_scale() {
        let outside = File::open("/dev/null").unwrap();
        let arguments = |form, contents, scale| -> Vec<String> {
            let folder = Path::new("/run/f");
            let system = ["d@p:s", "--set", "x=1"].map(str::to_owned).to_vec();
            let wanted =
                DiskParameters { form, folder, name: "n", system, contents, size: 4096, scale };
            let command = wanted.command().unwrap();
            assert_eq!(command.get_program(), "setpriv");
            let all: Vec<String> = command
                .get_args()
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect();
            assert_eq!(all[..2], ["--pdeathsig", "TERM"]);
            let at = all.iter().position(|one| one == "serve").unwrap();
            let start = match form {
                ServedForm::File => 3,
                ServedForm::Disk { .. } => {
                    assert_eq!(all[2..4], ["nsenter", "--wd=."]);
                    let own = std::process::id();
                    let number = outside.as_raw_fd();
                    assert_eq!(all[4], format!("--mount=/proc/{own}/fd/{number}"));
                    assert_eq!(all[5..8], ["chrt", "--rr", "1"]);
                    9
                }
            };
            assert_eq!(at, start, "the program is before its arguments: {all:?}");
            assert_eq!(all[at + 1..at + 6], ["d@p:s", "--set", "x=1", "--size", "4096 B"]);
            all[at + 6..].to_vec()
        };
        let file = Path::new("/run/a");
        let image = Path::new("/run/b");
        let disk = ServedForm::Disk { outside: &outside };
        assert_eq!(
            arguments(disk, Contents::File(file), None),
            ["--attach", "--data", "/run/a", "--no-latency"]
        );
        assert_eq!(
            arguments(disk, Contents::Over(image), None),
            ["--attach", "--memory", "--over", "/run/b", "--no-latency"]
        );
        assert_eq!(
            arguments(ServedForm::File, Contents::FileOver { file, image }, Some(2.5)),
            [
                "--mount",
                "/run/f/n.disk",
                "--data",
                "/run/a",
                "--over",
                "/run/b",
                "--no-self-test",
                "--time-scale",
                "2.5",
                "--control",
                "/run/f/n.control",
                "--out",
                "/run/f/n.json",
            ]
        );
    }
}
