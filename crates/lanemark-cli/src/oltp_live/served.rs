//! A system of the study as a disk with a file system on it: `lanemark serve --attach` in a process of its own, so that
//! its processor time is not that of the users.
//!
//! The mounts are in a mount namespace of this command's (mount_namespaces(7)): nobody else sees them, and they are gone
//! with the last process of it, also after a kill that cannot be caught. The server is told by the kernel when this
//! command is gone (`setpriv --pdeathsig`). It stays outside of that namespace (`nsenter`): were it the last process of
//! it, its end would unmount a file system whose disk it no longer answers for, and wait for good.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lanemark_core::result::RunResult;
use lanemark_lab::results;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::failure::Failure;

/// Time that a server has to make its disk.
const START_MAX: Duration = Duration::from_secs(30);
/// Time that a server has to end, with what it has to store.
const END_MAX: Duration = Duration::from_secs(60);
/// Interval of looks at a process.
const LOOK: Duration = Duration::from_millis(20);
/// Tries to unmount a file system that somebody is still leaving.
const TRIES: u32 = 100;

/// Makes all mounts from now on this command's own. Returns the namespace that it leaves.
pub(super) fn own_mounts() -> Result<File, Failure> {
    let fail = |error| Failure::run(format!("mounts of its own: {error}"));
    let outside = File::open("/proc/thread-self/ns/mnt")
        .map_err(|error| Failure::run(format!("/proc/thread-self/ns/mnt: {error}")))?;
    // SAFETY: the flag is of mounts alone; the table of open files, of which others may rely, stays shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.map_err(fail)?;
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).map_err(fail)?;
    Ok(outside)
}

/// The data of a served system.
pub(super) enum Contents<'p> {
    /// The data lie in this file, which stays.
    File(&'p Path),
    /// The data of this file show through at first, and memory takes all that is written.
    Over(&'p Path),
}

/// A request for a disk.
pub(super) struct Wanted<'p> {
    /// The namespace of mounts that the server is in.
    pub(super) outside: &'p File,
    /// The folder for the server's files.
    pub(super) folder: &'p Path,
    /// The name of these files.
    pub(super) name: &'p str,
    /// System and settings, as `lanemark serve` takes them.
    pub(super) system: Vec<String>,
    pub(super) contents: Contents<'p>,
    /// Length of the disk, in bytes.
    pub(super) size: u64,
    /// The time scale; none leaves the model out.
    pub(super) scale: Option<f64>,
    /// Whether flushes reach the drive; a protected buffer needs none.
    pub(super) flushes: bool,
}

/// A served disk. Its mount and its server end when it is dropped.
pub(super) struct Served {
    child: Child,
    node: PathBuf,
    result: PathBuf,
    errors: PathBuf,
    mounted: Option<PathBuf>,
    flushes: bool,
}

impl Served {
    /// Starts a server; nothing where that was stopped.
    pub(super) fn start(wanted: &Wanted<'_>, stop: &AtomicBool) -> Result<Option<Self>, Failure> {
        let &Wanted { folder, name, .. } = wanted;
        let at = |end: &str| folder.join(format!("{name}.{end}"));
        let (said, errors, result) = (at("out"), at("err"), at("json"));
        let fail = |error: std::io::Error| Failure::run(format!("lanemark serve: {error}"));
        let (own, number) = (std::process::id(), wanted.outside.as_raw_fd());
        let outside = format!("--mount=/proc/{own}/fd/{number}");
        let mut command = Command::new("setpriv");
        // A real drive has processors of its own: this one does not wait for those of the database.
        command
            .args(["--pdeathsig", "TERM", "nsenter", "--wd=.", &outside, "chrt", "--rr", "1"])
            .arg(program()?)
            .arg("serve")
            .args(&wanted.system);
        command.arg("--attach").args(["--size", &format!("{} B", wanted.size)]);
        match wanted.contents {
            Contents::File(file) => command.arg("--data").arg(file),
            Contents::Over(image) => command.arg("--memory").arg("--over").arg(image),
        };
        match wanted.scale {
            None => command.arg("--no-latency"),
            Some(scale) => command.args(["--time-scale", &scale.to_string()]),
        };
        command.arg("--out").arg(&result).stdin(Stdio::null());
        command.stdout(File::create(&said).map_err(fail)?);
        command.stderr(File::create(&errors).map_err(fail)?);
        // Ctrl-C is for this command, which then ends the server.
        let child = command.process_group(0).spawn().map_err(|error| {
            Failure::run(format!("setpriv: {error}")).hint("install the package util-linux")
        })?;
        let node = PathBuf::new();
        let flushes = wanted.flushes;
        let mut served = Self { child, node, result, errors, mounted: None, flushes };
        let begun = Instant::now();
        loop {
            let text = fs::read_to_string(&said).unwrap_or_default();
            if let Some(node) = text.lines().find(|line| line.starts_with("/dev/"))
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

    /// Makes a file system on the disk.
    pub(super) fn format(&self) -> Result<(), Failure> {
        // Nothing is left for the kernel to write later.
        let options = ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"];
        let made = Command::new("mkfs.ext4").args(options).arg(&self.node).output();
        let made = made.map_err(|error| {
            Failure::run(format!("mkfs.ext4: {error}")).hint("install the package e2fsprogs")
        })?;
        match made.status.success() {
            true => Ok(()),
            false => {
                let said = String::from_utf8_lossy(&made.stderr);
                Err(Failure::run(format!("mkfs.ext4 {}: {}", self.node.display(), said.trim())))
            }
        }
    }

    /// Mounts the file system.
    pub(super) fn mount(&mut self, place: &Path) -> Result<(), Failure> {
        // The disk's own switch (`queue/write_cache`) would outlast the disk.
        let options = (!self.flushes).then_some(c"barrier=0");
        mount(&self.node, place, "ext4", MountFlags::NOATIME, options).map_err(|error| {
            let (node, place) = (self.node.display(), place.display());
            Failure::run(format!("{node} can't be mounted at {place}: {error}"))
        })?;
        self.mounted = Some(place.to_owned());
        Ok(())
    }

    /// Unmounts and ends the server; what it has served, unless the model was left out.
    pub(super) fn end(mut self) -> Result<Option<RunResult>, Failure> {
        self.leave();
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.finish();
        } else {
            return Err(self.failure());
        }
        match self.result.exists() {
            true => Ok(Some(results::load_run(&self.result.to_string_lossy())?)),
            false => Ok(None),
        }
    }

    /// Unmounts the file system, or leaves it to its last user.
    fn leave(&mut self) {
        let Some(place) = self.mounted.take() else { return };
        for _ in 0..TRIES {
            match unmount(&place, UnmountFlags::empty()) {
                Err(rustix::io::Errno::BUSY) => std::thread::sleep(LOOK),
                _ => return,
            }
        }
        let _ = unmount(&place, UnmountFlags::DETACH);
    }

    /// Ends the server, and kills it where it does not end.
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

    /// The words of a server that has failed.
    fn failure(&self) -> Failure {
        let told = fs::read_to_string(&self.errors).unwrap_or_default();
        let told = told.lines().filter(|line| !line.starts_with("note:")).collect::<Vec<_>>();
        Failure::run(format!("lanemark serve: {}", told.join("; ")))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.leave();
        if matches!(self.child.try_wait(), Ok(None)) {
            self.finish();
        }
    }
}

/// The path of the running program, which a server is a process of.
fn program() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::run(format!("this program can't be found: {error}")))?;
    match program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("lanemark")) {
        true => Ok(program),
        false => {
            let name = program.display();
            Err(Failure::run(format!("{name} can't serve: only the program `lanemark` can"))
                .hint("cargo install --path crates/lanemark-cli"))
        }
    }
}
