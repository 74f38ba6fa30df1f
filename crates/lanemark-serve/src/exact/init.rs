//! The first process of a guest: it sets up a writable layer, runs the command, and shuts the guest down.
//!
//! The root of the guest is the root of the host, read-only. A layer in memory covers it, so that every path is
//! writable and no change outlives the guest. `/dev` contains the disk, `vda`. The output of the command is written to
//! files in a folder of the host, without buffering.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_move, unmount};
use rustix::process::{Signal, chdir, chroot, kill_process_group};
use rustix::system::{RebootCommand, reboot};

/// The argument that marks the first process of a guest; the path of the plan follows this argument.
pub const WORD: &str = "lanemark-exact-init";
/// Name of the file with the command's standard output.
pub(crate) const OUT: &str = "out";
/// Name of the file with the command's standard error.
pub(crate) const ERROR: &str = "error";
/// Name of the file with the command's exit code.
pub(crate) const CODE: &str = "code";
/// The exit code of a command that cannot be started.
const NOT_STARTED: i32 = 127;

/// A plan for the first process: the folder of the output, the working directory, and the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitPlan {
    /// The host's folder for the output.
    pub output: PathBuf,
    /// The command's working directory.
    pub folder: PathBuf,
    /// The search path for programs.
    pub path: OsString,
    /// The command and its arguments.
    pub words: Vec<OsString>,
}

impl InitPlan {
    /// Returns the plan as bytes. Each part is followed by a zero byte, which no part can contain.
    pub fn bytes(&self) -> Vec<u8> {
        let paths = [&self.output, &self.folder].map(|path| path.clone().into_os_string());
        let parts = paths.into_iter().chain([self.path.clone()]).chain(self.words.clone());
        parts.flat_map(|part| [part.into_vec(), vec![0]].concat()).collect()
    }

    /// Reads a plan; returns `None` if the bytes are not a plan.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut parts = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let mut next_part = || parts.next().map(|part| OsString::from_vec(part.to_vec()));
        let (output, folder, path) = (next_part()?.into(), next_part()?.into(), next_part()?);
        let words: Vec<OsString> = parts.map(|part| OsString::from_vec(part.to_vec())).collect();
        (!words.is_empty()).then_some(Self { output, folder, path, words })
    }
}

/// Runs the plan in the file `plan` in a guest, and shuts the guest down. Any process other than the first ignores the
/// call.
pub fn run(plan: &Path) {
    if std::process::id() != 1 {
        return;
    }
    if let Err(error) = fs::read(plan).and_then(|bytes| {
        let plan = InitPlan::read(&bytes).ok_or(io::ErrorKind::InvalidData)?;
        run_plan(&plan)
    }) {
        // The kernel prints to the same output.
        let line = format!("{WORD}: {error}\n");
        let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
    }
    rustix::fs::sync();
    let _ = reboot(RebootCommand::PowerOff);
}

fn run_plan(plan: &InitPlan) -> io::Result<()> {
    // Every host has this folder. In the new root, its content is visible again.
    let base = Path::new("/tmp");
    let [root, upper, work, output] =
        ["root", "upper", "work", "output"].map(|name| base.join(name));
    mount_file_system("tmpfs", base, "mode=0755", MountFlags::empty())?;
    for folder in [&root, &upper, &work, &output] {
        fs::create_dir(folder)?;
    }
    let options = format!("lowerdir=/,upperdir={},workdir={}", upper.display(), work.display());
    mount_file_system("overlay", &root, &options, MountFlags::empty())?;
    mount_file_system("hostfs", &output, &plan.output.to_string_lossy(), MountFlags::SYNCHRONOUS)?;
    let (out, error) = (File::create(output.join(OUT))?, File::create(output.join(ERROR))?);
    let mut code = File::create(output.join(CODE))?;
    for folder in ["proc", "sys", "dev", "run"] {
        let _ = fs::create_dir(root.join(folder));
    }
    mount_file_system("proc", &root.join("proc"), "", MountFlags::empty())?;
    mount_file_system("sysfs", &root.join("sys"), "", MountFlags::empty())?;
    mount_file_system("devtmpfs", &root.join("dev"), "", MountFlags::empty())?;
    mount_file_system("tmpfs", &root.join("run"), "", MountFlags::empty())?;
    for (folder, kind, options) in [("shm", "tmpfs", "mode=1777"), ("pts", "devpts", "")] {
        let folder = root.join("dev").join(folder);
        fs::create_dir(&folder)?;
        mount_file_system(kind, &folder, options, MountFlags::empty())?;
    }
    for (name, target) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
    {
        symlink(Path::new("/proc/self").join(target), root.join("dev").join(name))?;
    }
    chdir(&root)?;
    mount_move(".", "/")?;
    chroot(".")?;
    chdir("/")?;
    let _ = chdir(&plan.folder);
    let writer = error.try_clone()?;
    let ended = command(plan, out, error);
    let number = match &ended {
        Ok(status) => status.code().unwrap_or(128 + status.signal().unwrap_or(0)),
        Err(_) => NOT_STARTED,
    };
    if let Err(error) = ended {
        io::Write::write_all(&mut &writer, format!("{:?}: {error}\n", plan.words[0]).as_bytes())?;
    }
    clear();
    io::Write::write_all(&mut code, format!("{number}\n").as_bytes())
}

fn command(plan: &InitPlan, out: File, error: File) -> io::Result<std::process::ExitStatus> {
    let mut command = Command::new(&plan.words[0]);
    command.args(&plan.words[1..]).env_clear();
    command.env("PATH", &plan.path).env("HOME", "/root").env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null()).stdout(out).stderr(error);
    command.status()
}

/// Ends the command's remaining processes, and unmounts its file systems from the disk.
fn clear() {
    // Signals all processes except this one.
    let _ = kill_process_group_all();
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let of_disk = mounts.lines().filter(|line| line.starts_with("/dev/vd"));
    for target in of_disk.filter_map(|line| line.split(' ').nth(1)) {
        let _ = unmount(target, UnmountFlags::empty());
    }
    rustix::fs::sync();
}

fn kill_process_group_all() -> rustix::io::Result<()> {
    match rustix::process::Pid::from_raw(1) {
        // The process id -1 addresses all processes except the first process, which is the caller.
        Some(all) => kill_process_group(all, Signal::KILL),
        None => Ok(()),
    }
}

fn mount_file_system(
    kind: &str,
    mount_point: &Path,
    options: &str,
    flags: MountFlags,
) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    mount("none", mount_point, kind, flags, Some(options.as_c_str())).map_err(|error| {
        io::Error::other(format!("{kind} can't be mounted on {}: {error}", mount_point.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let words = ["echo", "", "a b\nc"].map(OsString::from).to_vec();
        let (output, folder) = ("/x/y".into(), "/".into());
        let plan = InitPlan { output, folder, path: "/bin".into(), words };
        assert_eq!(InitPlan::read(&plan.bytes()), Some(plan));
        for bytes in [&b""[..], b"\0", b"a\0b\0c\0", b"a\0b\0c\0d"] {
            assert_eq!(InitPlan::read(bytes), None);
        }
    }
}
