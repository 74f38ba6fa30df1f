//! The user's program in a trial: started in the mounted folder, timed, and killed with all its descendants at the end.
//! A daemon that the program left running would keep the file system in use, and would affect the program of the next
//! turn. These processes are recognised by an environment variable, and by their parent (`marked.rs`).
//!
//! A program that may mount file systems runs in its own mount namespace (mount_namespaces(7)). The namespace ends with
//! its last process, so no mount of the program remains when the folder of the trial is removed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lanemark_lab::LabError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, set_parent_process_death_signal,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::marked;

/// Interval at which the end of the trial is checked while a program runs.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum number of bytes of a program's output in a message.
const OUTPUT_MAX: u64 = 2_000;

pub(super) struct Program {
    child: Child,
    /// The folder of the trial.
    run: PathBuf,
    began: Instant,
    processor_s: f64,
    /// The children of this process before the program was started.
    earlier_children: Vec<Pid>,
}

pub(super) struct ProgramEnd {
    pub(super) wall: Duration,
    /// Processor time of the program and its children.
    pub(super) processor_s: f64,
    pub(super) exit_code: i32,
}

pub(super) struct ProgramEnvironment<'p> {
    pub(super) system: &'p str,
    pub(super) device: &'p Path,
    pub(super) folder: &'p Path,
    /// File that receives the output; a file next to it receives the error messages.
    pub(super) output: &'p Path,
    /// Output of an earlier program, for a check.
    pub(super) earlier: Option<&'p Path>,
}

impl Program {
    pub(super) fn start(
        words: &[OsString],
        around: &ProgramEnvironment<'_>,
    ) -> Result<Self, LabError> {
        let Some((name, arguments)) = words.split_first() else {
            return Err(LabError::input("expected a command after --"));
        };
        let output =
            |error: std::io::Error| LabError::run(format!("{}: {error}", around.output.display()));
        let out = File::create(around.output).map_err(output)?;
        let errors = File::create(errors_of(around.output)).map_err(output)?;
        let mut command = Command::new(name);
        command.args(arguments).current_dir(around.folder).process_group(0);
        command.env("LANEMARK_SYSTEM", around.system).env("LANEMARK_DEVICE", around.device);
        if let Some(earlier) = around.earlier {
            command.env("LANEMARK_OUTPUT", earlier);
        }
        let run = around.output.parent().unwrap_or(Path::new("/")).to_owned();
        let (variable, value) = marked::variable(&run);
        command.env(variable, value);
        command.stdin(Stdio::null()).stdout(out).stderr(errors);
        // SAFETY: between fork and exec, the closure only executes system calls; it does not allocate memory or acquire
        // a lock.
        unsafe {
            command.pre_exec(|| {
                enter_mount_namespace()?;
                Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
            });
        }
        let earlier_children = marked::children();
        let processor_s = children_s();
        let began = Instant::now();
        let child = command.spawn().map_err(|error| {
            LabError::input(format!("{}: {error}", name.to_string_lossy()))
                .hint("write the command after --, such as -- sh -c 'echo 1 > file; sync'")
        })?;
        Ok(Self { child, run, began, processor_s, earlier_children })
    }

    /// Waits for the end of the program, up to `longest` after its start. Returns `None` if the program is still
    /// running or `stop` is set.
    pub(super) fn wait(
        &mut self,
        longest: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<ProgramEnd>, LabError> {
        let fail = |error: std::io::Error| LabError::run(format!("the command: {error}"));
        let process = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty())
            .map_err(|error| fail(error.into()))?;
        while !stop.load(Ordering::Relaxed) {
            let left = longest.saturating_sub(self.began.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            let wait = Timespec::try_from(LOOK.min(left)).unwrap_or_default();
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&wait)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => {
                    let wall = self.began.elapsed();
                    let status = self.child.wait().map_err(fail)?;
                    let processor_s = children_s() - self.processor_s;
                    return Ok(Some(ProgramEnd { wall, processor_s, exit_code: code(status) }));
                }
                Err(error) => return Err(fail(error.into())),
            }
        }
        Ok(None)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Children of the program may outlive it.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
        marked::end(&self.run);
        marked::end_orphans(&self.earlier_children);
    }
}

/// Moves the calling process into its own mount namespace, if it may create one. Mounts do not propagate between this
/// namespace and the namespace of the parent.
fn enter_mount_namespace() -> rustix::io::Result<()> {
    // SAFETY: the flag affects only mounts; the process has one thread.
    match unsafe { unshare_unsafe(UnshareFlags::NEWNS) } {
        // A process that may not create a namespace may not mount file systems itself either.
        Err(Errno::PERM) => return Ok(()),
        unshared => unshared?,
    }
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
}

/// Returns the exit code of a program, or 128 plus the signal's number if a signal ended it.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(-1)
}

/// Returns the processor time of all children that this process has waited for, in seconds: the fields `cutime` and
/// `cstime` of proc_pid_stat(5).
fn children_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may contain spaces.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut ticks = fields.split_whitespace().skip(13).map(|field| field.parse::<f64>());
    let mut next_seconds = || ticks.next().and_then(Result::ok).unwrap_or(0.0);
    (next_seconds() + next_seconds()) / rustix::param::clock_ticks_per_second() as f64
}

/// Returns the path of a program's error messages.
fn errors_of(output: &Path) -> PathBuf {
    output.with_extension("errors")
}

/// Removes a program's output and error messages.
pub(super) fn remove_output(output: &Path) {
    for path in [output, &errors_of(output)] {
        let _ = fs::remove_file(path);
    }
}

/// Returns the last part of a program's output and of its error messages.
pub(super) fn last_lines(output: &Path) -> String {
    let end = |path: &Path| {
        let bytes = last_bytes(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    };
    format!("{}\n{}", end(output), end(&errors_of(output))).trim().to_owned()
}

/// Returns the last part of a file, which may be larger than the memory.
fn last_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(OUTPUT_MAX)))?;
    let mut bytes = Vec::new();
    file.take(OUTPUT_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn run(script: &str, longest: Duration, stop: bool) -> (Option<ProgramEnd>, String) {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("output");
        let around = ProgramEnvironment {
            system: "drive@platform:port",
            device: Path::new("/dev/null"),
            folder: folder.path(),
            output: &output,
            earlier: None,
        };
        let words = ["sh", "-c", script].map(OsString::from);
        let mut program = Program::start(&words, &around).unwrap();
        let ended = program.wait(longest, &AtomicBool::new(stop)).unwrap();
        drop(program);
        (ended, last_lines(&output))
    }

    #[test]
    fn a_program_knows_its_system_and_reports_its_exit_code() {
        let (ended, output) = run("echo $LANEMARK_SYSTEM $LANEMARK_DEVICE; exit 7", LONG, false);
        assert_eq!(
            (ended.unwrap().exit_code, output.as_str()),
            (7, "drive@platform:port /dev/null")
        );
        let (ended, _) = run("kill -KILL $$", LONG, false);
        assert_eq!(ended.unwrap().exit_code, 137);
    }

    #[test]
    fn the_end_of_an_output_is_shown_however_long_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("output");
        assert_eq!(last_lines(&output), "");
        let errors = errors_of(&output);
        fs::write(&errors, [0xff, b'!']).unwrap();
        let mut file = File::create(&output).unwrap();
        // A sparse file that is larger than the memory of most machines.
        file.set_len(1 << 38).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        file.write_all(&[b'x'; 3000]).unwrap();
        file.write_all(b" the end\n").unwrap();
        let shown = last_lines(&output);
        assert!(shown.ends_with("xxx the end\n\u{fffd}!"), "{shown}");
        assert!(shown.len() < 2_100);
        remove_output(&output);
        assert!(!output.exists() && !errors.exists());
    }

    #[test]
    fn the_processor_time_of_children_counts() {
        let script = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'";
        let ended = run(script, LONG, false).0.unwrap();
        assert!(ended.processor_s > 0.0 && ended.processor_s < 30.0, "{}", ended.processor_s);
    }

    #[test]
    fn a_program_ends_with_its_children_at_the_limit_or_on_request() {
        for stop in [false, true] {
            let longest = if stop { LONG } else { Duration::from_millis(100) };
            let (ended, output) = run("sleep 1000 & echo $!; wait", longest, stop);
            assert!(ended.is_none());
            // The child is killed, so its process disappears or remains only as a zombie.
            let state = |child: &str| fs::read_to_string(format!("/proc/{child}/stat")).ok();
            let is_gone = || state(&output).is_none_or(|stat| stat.contains(") Z"));
            let begun = Instant::now();
            while !output.is_empty() && !is_gone() {
                assert!(begun.elapsed() < LONG, "{output}");
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_daemon_ends_with_the_program_that_started_it() {
        let script = "setsid sh -c 'setsid sleep 1000 & echo $!; echo $$; exec sleep 1000' & sleep 0.5; exit 3";
        let (ended, output) = run(script, LONG, false);
        assert_eq!(ended.unwrap().exit_code, 3);
        let daemons: Vec<i32> = output.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(daemons.len(), 2, "{output}");
        for daemon in daemons {
            // A process that has ended but was not waited for yet is in the state Z.
            let stat = fs::read_to_string(format!("/proc/{daemon}/stat")).unwrap_or_default();
            assert!(stat.is_empty() || stat.contains(") Z"), "{stat}");
        }
    }

    #[test]
    fn a_missing_program_is_an_error_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("output");
        let around = ProgramEnvironment {
            system: "",
            device: Path::new("/dev/null"),
            folder: folder.path(),
            output: &output,
            earlier: None,
        };
        let error = Program::start(&["no-such-program".into()], &around).err().unwrap();
        assert!(error.to_string().contains("no-such-program"), "{error}");
    }
}
