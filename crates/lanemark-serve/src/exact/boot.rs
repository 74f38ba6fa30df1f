//! Starts a guest's kernel, forwards its output, and ends it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::init::{self, InitPlan};

/// Name of the calendar's socket in the folder.
pub(crate) const CALENDAR: &str = "calendar";
/// Name of the disk's socket in the folder.
pub(crate) const DISK: &str = "disk";
/// Name of the file that contains the output of the guest's kernel.
const LOG: &str = "kernel";
/// Name of the file with the guest's process group id.
const GROUP: &str = "group";
/// Number of bytes of the log that are reported.
const LOG_TOLD: u64 = 2_000;
/// Maximum time until a kernel ends after its guest is shut down.
const ENDING: Duration = Duration::from_secs(10);
/// Maximum length of a socket's path.
const PATH_MAX: usize = 80;

/// A guest to start.
#[derive(Debug)]
pub struct Boot {
    kernel: PathBuf,
    program: PathBuf,
    folder: PathBuf,
    memory: u64,
    plan: InitPlan,
}

impl Boot {
    /// Prepares a guest with this `kernel`, `memory` bytes of memory, and the first process `program`. Its sockets
    /// and files are in `folder`, which is empty. The `plan` contains the command and its working directory.
    ///
    /// # Errors
    /// Returns an error if the kernel does not exist, or if the kernel's arguments cannot contain the path of the
    /// folder.
    pub fn new(
        kernel: PathBuf,
        program: &Path,
        folder: &Path,
        memory: u64,
        plan: InitPlan,
    ) -> Result<Self, String> {
        if !kernel.is_file() {
            return Err(format!("{} contains no kernel", kernel.display()));
        }
        let kernel = fs::canonicalize(kernel).map_err(|error| error.to_string())?;
        let folder = fs::canonicalize(folder).map_err(|error| error.to_string())?;
        let text = folder.to_string_lossy();
        if text.len() > PATH_MAX
            || text.contains(|sign: char| sign.is_whitespace() || ":,".contains(sign))
        {
            return Err(format!(
                "{text}: the path of a folder for sockets may have up to {PATH_MAX} bytes, without spaces, colons or commas"
            ));
        }
        Ok(Self { kernel, program: program.to_owned(), folder, memory, plan })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// A running guest. In any state, the guest ends when this value is dropped.
pub(crate) struct Guest {
    child: Child,
    ended: Option<ExitStatus>,
    folder: PathBuf,
    /// Number of bytes that were forwarded from the command's standard output and from its standard error.
    forwarded: [u64; 2],
}

impl Guest {
    pub(crate) fn start(boot: Boot) -> io::Result<Self> {
        let Boot { kernel, program, folder, memory, plan } = boot;
        let (first, wanted) = (folder.join("init"), folder.join("plan"));
        std::os::unix::fs::symlink(program, &first)?;
        fs::write(&wanted, plan.bytes())?;
        let log = File::create(folder.join(LOG))?;
        let mut command = Command::new(kernel);
        command.arg(format!("mem={}M", memory >> 20));
        command.args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]);
        command.args(["con=null", "con0=null,fd:1", "quiet", "panic=-1"]);
        command.arg(format!("uml_dir={}", folder.display()));
        command.arg(format!("time-travel=ext:{}", folder.join(CALENDAR).display()));
        command.arg(format!("virtio_uml.device={}:2", folder.join(DISK).display()));
        command.arg(format!("init={}", first.display()));
        command.args(["--", init::WORD]).arg(wanted);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        command.current_dir("/").env_clear();
        // In its own group, the guest's processes can be ended together, and do not receive signals from the terminal.
        command.process_group(0);
        let child = command.spawn()?;
        let guest = Self { child, ended: None, folder, forwarded: [0; 2] };
        fs::write(guest.folder.join(GROUP), guest.child.id().to_string())?;
        Ok(guest)
    }

    /// Returns whether the kernel has ended.
    pub(crate) fn has_ended(&mut self) -> io::Result<bool> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait()?;
        }
        Ok(self.ended.is_some())
    }

    /// Forwards the output of the command since the last call.
    pub(crate) fn forward(&mut self) -> io::Result<()> {
        let [out, error] = &mut self.forwarded;
        forward(&self.folder.join(init::OUT), out, &mut io::stdout())?;
        forward(&self.folder.join(init::ERROR), error, &mut io::stderr())
    }

    /// Ends the guest: waits until it ends if `ends_itself` is set, and kills it otherwise. Returns the exit status of
    /// the kernel, the command's exit code and, if there is no exit code, the last output of the kernel.
    pub(crate) fn end(
        mut self,
        ends_itself: bool,
    ) -> io::Result<(Option<ExitStatus>, Option<i32>, String)> {
        let end = Instant::now() + ENDING;
        while ends_itself && !self.has_ended()? && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        let ended = self.ended;
        self.kill();
        self.forward()?;
        let code = fs::read_to_string(self.folder.join(init::CODE)).unwrap_or_default();
        let code = code.trim().parse().ok();
        let last_lines = match code {
            Some(_) => String::new(),
            None => last_line(&self.folder.join(LOG)).unwrap_or_default(),
        };
        Ok((ended, code, last_lines))
    }

    fn kill(&mut self) {
        // The group may still exist after its first process has ended.
        kill_group(self.child.id());
        let _ = self.child.wait();
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Ends the processes of a guest whose run was killed, as far as its `folder` records them.
pub fn kill_noted(folder: &Path) {
    let group = fs::read_to_string(folder.join(GROUP)).ok();
    if let Some(group) = group.and_then(|group| group.parse().ok()) {
        kill_group(group);
    }
}

fn kill_group(id: u32) {
    // Group 1 belongs to the first process of the machine, not to a guest. The number 0 would address the caller's own
    // group.
    if let Some(group) = i32::try_from(id).ok().filter(|id| *id > 1).and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn forward(path: &Path, from: &mut u64, to: &mut dyn Write) -> io::Result<()> {
    let Ok(mut file) = File::open(path) else { return Ok(()) };
    if file.metadata()?.len() > *from {
        file.seek(SeekFrom::Start(*from))?;
        *from += io::copy(&mut file, to)?;
        to.flush()?;
    }
    Ok(())
}

fn last_line(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(LOG_TOLD);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(LOG_TOLD).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;

    /// Tests that start programs run one at a time, because a program cannot be executed while a process that another
    /// test starts holds its file open for writing.
    fn one_at_a_time() -> MutexGuard<'static, ()> {
        static ONE: Mutex<()> = Mutex::new(());
        ONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan() -> InitPlan {
        InitPlan {
            output: PathBuf::from("/out"),
            folder: PathBuf::from("/work folder"),
            path: OsString::from("/bin"),
            words: vec![OsString::from("true")],
        }
    }

    /// Writes a program that acts as a kernel to `folder`.
    fn kernel(folder: &Path, script: &str) -> PathBuf {
        let path = folder.join("kernel-program");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn boot(folder: &Path, script: &str) -> Boot {
        let guest = folder.join("guest");
        fs::create_dir(&guest).unwrap();
        let program = Path::new("/usr/bin/first");
        Boot::new(kernel(folder, script), program, &guest, 192 << 20, plan()).unwrap()
    }

    #[test]
    fn a_guest_needs_a_kernel_and_a_folder_whose_path_is_one_argument() {
        let _one = one_at_a_time();
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let new = |kernel: &Path, folder: &Path| {
            Boot::new(kernel.to_owned(), Path::new("/first"), folder, 1 << 20, plan())
        };
        let own = kernel(folder.path(), "exit");
        for missing in [folder.path(), &folder.path().join("nothing")] {
            let error = new(missing, folder.path()).unwrap_err();
            assert_eq!(error, format!("{} contains no kernel", missing.display()));
        }
        assert_eq!(new(&own, folder.path()).unwrap().folder(), folder.path());
        assert!(new(&own, &folder.path().join("nothing")).is_err());
        let room = PATH_MAX - folder.path().as_os_str().len() - 1;
        for (name, is_accepted) in [
            ("a".repeat(room), true),
            ("a".repeat(room + 1), false),
            ("with space".to_owned(), false),
            ("with:colon".to_owned(), false),
            ("with,comma".to_owned(), false),
            ("with\nline".to_owned(), false),
        ] {
            let path = folder.path().join(&name);
            fs::create_dir(&path).unwrap();
            let found = new(&own, &path);
            assert_eq!(found.is_ok(), is_accepted, "{name:?}");
            if let Err(error) = found {
                assert!(error.contains("up to 80 bytes, without spaces, colons or commas"));
            }
        }
    }

    #[test]
    fn a_kernel_gets_its_memory_its_sockets_and_its_first_process() {
        let _one = one_at_a_time();
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let script = "printf '%s\\n' \"$@\"\necho \"$PWD $HOME\" >&2\nexit 3";
        let boot = boot(folder.path(), script);
        let own = boot.folder().to_owned();
        let guest = Guest::start(boot).unwrap();
        let group = fs::read_to_string(own.join("group")).unwrap();
        assert_eq!(group, guest.child.id().to_string());
        assert_eq!(fs::read(own.join("plan")).unwrap(), plan().bytes());
        assert_eq!(fs::read_link(own.join("init")).unwrap(), Path::new("/usr/bin/first"));
        let (status, code, log) = guest.end(true).unwrap();
        assert_eq!((status.unwrap().code(), code), (Some(3), None));
        let at = |name: &str| own.join(name).display().to_string();
        let wanted = [
            "mem=192M".to_owned(),
            "root=/dev/root".to_owned(),
            "rootfstype=hostfs".to_owned(),
            "rootflags=/".to_owned(),
            "ro".to_owned(),
            "con=null".to_owned(),
            "con0=null,fd:1".to_owned(),
            "quiet".to_owned(),
            "panic=-1".to_owned(),
            format!("uml_dir={}", own.display()),
            format!("time-travel=ext:{}", at("calendar")),
            format!("virtio_uml.device={}:2", at("disk")),
            format!("init={}", at("init")),
            "--".to_owned(),
            "lanemark-exact-init".to_owned(),
            at("plan"),
            "/ ".to_owned(),
        ];
        assert_eq!(log.lines().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn the_exit_code_of_the_command_takes_the_place_of_the_log() {
        let _one = one_at_a_time();
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let mut guest = Guest::start(boot(folder.path(), "echo noise\nexec sleep 600")).unwrap();
        assert!(!guest.has_ended().unwrap());
        fs::write(guest.folder.join("code"), "7\n").unwrap();
        let process = PathBuf::from(format!("/proc/{}", guest.child.id()));
        assert!(process.exists());
        // The guest is killed, because it does not end by itself.
        let (status, code, log) = guest.end(false).unwrap();
        assert_eq!((status, code, log.as_str()), (None, Some(7), ""));
        assert!(!process.exists());
    }

    #[test]
    fn output_is_forwarded_once_and_the_end_of_a_log_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let (mut from, mut seen) = (0, Vec::new());
        forward(&path, &mut from, &mut seen).unwrap();
        assert_eq!((from, seen.len()), (0, 0));
        fs::write(&path, "one\n").unwrap();
        forward(&path, &mut from, &mut seen).unwrap();
        forward(&path, &mut from, &mut seen).unwrap();
        fs::write(&path, "one\ntwo\n").unwrap();
        forward(&path, &mut from, &mut seen).unwrap();
        assert_eq!((from, seen.as_slice()), (8, &b"one\ntwo\n"[..]));
        fs::write(&path, [vec![b'a'; 1_000], vec![b'b'; 2_000]].concat()).unwrap();
        assert_eq!(last_line(&path).unwrap(), "b".repeat(2_000));
        fs::write(&path, "short").unwrap();
        assert_eq!(last_line(&path).unwrap(), "short");
    }

    #[test]
    fn a_noted_group_is_killed_and_no_other() {
        let _one = one_at_a_time();
        let folder = tempfile::tempdir().unwrap();
        kill_noted(folder.path());
        for none in ["", "1", "0", "-5", "many"] {
            fs::write(folder.path().join(GROUP), none).unwrap();
            kill_noted(folder.path());
        }
        let mut process = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        fs::write(folder.path().join(GROUP), process.id().to_string()).unwrap();
        kill_noted(folder.path());
        let status = process.wait().unwrap();
        assert!(!status.success());
    }
}
