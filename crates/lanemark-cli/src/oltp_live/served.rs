//! A system of the study as a disk with a file system. A separate process runs `lanemark serve --attach`, so that its
//! processor time is separate from the users'.
//!
//! The mounts are in a mount namespace of this command (mount_namespaces(7)): other processes do not see them, and they
//! end with the namespace's last process, even after SIGKILL. The kernel signals the server when this command ends
//! (`setpriv --pdeathsig`). The server stays outside of the namespace (`nsenter`): as the last process of the
//! namespace, it would unmount a file system on exit whose disk it no longer serves, and wait forever.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lanemark_lab::results;
use lanemark_schema::result::RunResult;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::failure::Failure;

/// Maximum time until a server has made its disk.
const START_MAX: Duration = Duration::from_secs(30);
/// Maximum time for a server to end, including storing its data.
const END_MAX: Duration = Duration::from_secs(60);
/// Interval of checks of a process.
const LOOK: Duration = Duration::from_millis(20);
/// Attempts to unmount a file system while a process still closes its files.
const TRIES: u32 = 100;

/// Moves this command into its own mount namespace. Returns the previous namespace.
pub(super) fn own_mounts() -> Result<File, Failure> {
    let fail = |error| Failure::run(format!("a mount namespace can't be created: {error}"));
    let outside = File::open("/proc/thread-self/ns/mnt")
        .map_err(|error| Failure::run(format!("/proc/thread-self/ns/mnt: {error}")))?;
    // SAFETY: the flag affects mounts only; the table of open files, which other code may rely on, stays shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.map_err(fail)?;
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).map_err(fail)?;
    Ok(outside)
}

/// The data of a served system.
pub(super) enum Contents<'p> {
    /// The data are in this file, which is kept.
    File(&'p Path),
    /// This file supplies the initial data; memory receives all writes.
    Over(&'p Path),
}

/// The parameters of a disk.
pub(super) struct DiskParameters<'p> {
    /// The mount namespace of the server.
    pub(super) outside: &'p File,
    /// The folder for the server's files.
    pub(super) folder: &'p Path,
    /// The base name of these files.
    pub(super) name: &'p str,
    /// System and settings, as arguments of `lanemark serve`.
    pub(super) system: Vec<String>,
    pub(super) contents: Contents<'p>,
    /// Length of the disk, in bytes.
    pub(super) size: u64,
    /// The time scale; `None` serves without the model.
    pub(super) scale: Option<f64>,
    /// Whether flushes reach the drive; a protected buffer does not need them.
    pub(super) flushes: bool,
}

/// A served disk. Dropping this unmounts it and ends its server.
pub(super) struct Served {
    child: Child,
    node: PathBuf,
    result: PathBuf,
    errors: PathBuf,
    mounted: Option<PathBuf>,
    flushes: bool,
}

impl Served {
    /// Starts a server; returns `None` if the command was stopped.
    pub(super) fn start(
        wanted: &DiskParameters<'_>,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, Failure> {
        let &DiskParameters { folder, name, .. } = wanted;
        let at = |end: &str| folder.join(format!("{name}.{end}"));
        let (said, errors, result) = (at("out"), at("err"), at("json"));
        let fail = |error: std::io::Error| Failure::run(format!("lanemark serve: {error}"));
        let (own, number) = (std::process::id(), wanted.outside.as_raw_fd());
        let outside = format!("--mount=/proc/{own}/fd/{number}");
        let mut command = Command::new("setpriv");
        // A real drive has its own processors, so the server has priority over the database.
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
            Some(scale) => {
                command.args(["--time-scale", &scale.to_string()]).arg("--out").arg(&result)
            }
        };
        command.stdin(Stdio::null());
        command.stdout(File::create(&said).map_err(fail)?);
        command.stderr(File::create(&errors).map_err(fail)?);
        // Ctrl-C must reach only this command, which then ends the server.
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
        // The kernel must not write parts of the file system later.
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
        // The disk's own switch (`queue/write_cache`) would persist after the disk.
        let options = (!self.flushes).then_some(c"barrier=0");
        mount(&self.node, place, "ext4", MountFlags::NOATIME, options).map_err(|error| {
            let (node, place) = (self.node.display(), place.display());
            Failure::run(format!("{node} can't be mounted at {place}: {error}"))
        })?;
        self.mounted = Some(place.to_owned());
        Ok(())
    }

    /// Unmounts the disk and ends the server; returns the server's result, or `None` without the model.
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

    /// Unmounts the file system; if it is busy, detaches it.
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

    /// Returns the failure of a server, with its error output.
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

/// Returns the path of the running program, which a server also runs.
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
