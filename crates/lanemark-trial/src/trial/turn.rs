//! One turn of a trial: a system is served with the contents and mounted, the program runs on it, and the system is
//! stopped.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lanemark_lab::LabError;
use lanemark_schema::result::{LiveDelivery, ProgramRun, Sample};
use lanemark_schema::units::Duration;

use super::program::{Program, ProgramEnd, ProgramEnvironment, last_lines, remove_output};
use crate::file_system::FileSystem;
use crate::served_disk::{Contents, DiskParameters, ServedDisk, ServedForm};
use crate::server::control;

/// Maximum run time of a program in one turn.
pub(super) const PROGRAM_MAX: std::time::Duration = std::time::Duration::from_secs(24 * 3600);
/// The server's metric for the simulated time during which requests were outstanding.
const BUSY: &str = "lanemark_busy_seconds_total ";
/// The server's metric for the requests that this machine failed.
const HOST_ERRORS: &str = "lanemark_host_errors_total ";

/// The parameters and folders that all turns share.
pub(super) struct TurnEnvironment {
    /// The mount namespace of servers; `None` if the systems are files.
    pub(super) outside: Option<File>,
    pub(super) folder: PathBuf,
    pub(super) image: PathBuf,
    pub(super) size: u64,
    pub(super) file_system: FileSystem,
    pub(super) mount_options: String,
    pub(super) command: Vec<OsString>,
    /// Arguments of `lanemark serve` for each system, in addition to its name.
    pub(super) arguments: Vec<String>,
    /// Arguments that inject the faults of turns and power cuts.
    pub(super) faults: Vec<String>,
    pub(super) stop: Arc<AtomicBool>,
}

impl TurnEnvironment {
    /// Returns the folder at which a system is mounted.
    pub(super) fn mount_point(&self) -> PathBuf {
        self.folder.join("mounted")
    }

    /// Returns the path of a program's output.
    pub(super) fn output(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.output"))
    }

    /// Serves and mounts a system with `faults`; returns `None` if the trial was stopped.
    pub(super) fn serve(
        &self,
        name: &str,
        system: &str,
        contents: Contents<'_>,
        scale: f64,
        seed: u64,
        faults: &[String],
    ) -> Result<Option<ServedDisk>, LabError> {
        let served = self.serve_unmounted(name, system, contents, scale, seed, faults)?;
        let Some(mut served) = served else { return Ok(None) };
        self.mount(&mut served)?;
        Ok(Some(served))
    }

    /// Mounts the file system of a system, if it has one.
    pub(super) fn mount(&self, served: &mut ServedDisk) -> Result<(), LabError> {
        match self.file_system.kernel_name() {
            Some(name) => served.mount(&self.mount_point(), name, &self.mount_options),
            None => Ok(()),
        }
    }

    /// Repairs the file system of a system, as a machine does when it starts. Only ext4 needs a program for this.
    pub(super) fn repair(&self, served: &ServedDisk) -> Result<(), LabError> {
        match self.file_system {
            FileSystem::Ext4 => served.repair(),
            FileSystem::Xfs | FileSystem::Btrfs | FileSystem::None => Ok(()),
        }
    }

    /// Serves a system with `faults`; returns `None` if the trial was stopped.
    pub(super) fn serve_unmounted(
        &self,
        name: &str,
        system: &str,
        contents: Contents<'_>,
        scale: f64,
        seed: u64,
        faults: &[String],
    ) -> Result<Option<ServedDisk>, LabError> {
        let mut arguments = vec![system.to_owned(), "--seed".to_owned(), seed.to_string()];
        arguments.extend(self.arguments.iter().chain(faults).cloned());
        let wanted = DiskParameters {
            form: self
                .outside
                .as_ref()
                .map_or(ServedForm::File, |outside| ServedForm::Disk { outside }),
            folder: &self.folder,
            name,
            system: arguments,
            contents,
            size: self.size,
            scale: Some(scale),
        };
        ServedDisk::start(&wanted, &self.stop)
    }

    /// Starts a program on a served system.
    pub(super) fn start(
        &self,
        words: &[OsString],
        system: &str,
        served: &ServedDisk,
        output: &Path,
        earlier: Option<&Path>,
    ) -> Result<Program, LabError> {
        let folder = self.mount_point();
        let around =
            ProgramEnvironment { system, device: served.node(), folder: &folder, output, earlier };
        Program::start(words, &around)
    }

    /// Runs the program on a system that starts with the contents. Returns the server's sample, with the program's
    /// figures added, or `None` if the trial was stopped.
    pub(super) fn turn(
        &self,
        name: &str,
        system: &str,
        scale: f64,
        seed: u64,
    ) -> Result<Option<Sample>, LabError> {
        let contents = Contents::Over(&self.image);
        let Some(served) = self.serve(name, system, contents, scale, seed, &self.faults)? else {
            return Ok(None);
        };
        let output = self.output(name);
        let before = busy_s(&served)?;
        let mut program = self.start(&self.command, system, &served, &output, None)?;
        let Some(ended) = program.wait(PROGRAM_MAX, &self.stop)? else { return Ok(None) };
        let busy = busy_s(&served)? - before;
        if ended.exit_code != 0 {
            return Err(program_failure(system, &ended, &output, &served));
        }
        // Processes that the program left running must not write during or after the sync.
        drop(program);
        let began = std::time::Instant::now();
        if self.file_system.kernel_name().is_some() && self.outside.is_some() {
            let folder = File::open(self.mount_point());
            let synced = folder.and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
            synced.map_err(|error| LabError::run(format!("{system}: sync: {error}")))?;
        }
        let sync = real(began.elapsed());
        let result = served.end()?;
        let sample = result.and_then(|mut result| {
            let test = (!result.tests.is_empty()).then(|| result.tests.remove(0))?;
            test.samples.into_iter().next()
        });
        let Some(Sample { live: Some(live), .. }) = &sample else {
            return Err(LabError::run(format!("{system}: the command sent no requests")).hint(
                "the command must use files in its working folder, which is on the mounted system",
            ));
        };
        let program = ProgramRun {
            system: system.to_owned(),
            wall: real(ended.wall),
            busy: Duration::from_nanoseconds((busy.max(0.0) * 1e9) as u64),
            sync,
            processor_s: ended.processor_s,
            exit_code: ended.exit_code,
        };
        let live = Some(LiveDelivery { program: Some(program), ..live.clone() });
        remove_output(&output);
        Ok(sample.map(|sample| Sample { live, ..sample }))
    }
}

/// Returns the failure of a program that ended with an error.
pub(super) fn program_failure(
    system: &str,
    ended: &ProgramEnd,
    output: &Path,
    served: &ServedDisk,
) -> LabError {
    let message = last_lines(output);
    let message = if message.is_empty() { "it printed nothing".to_owned() } else { message };
    let failure = LabError::run(format!(
        "{system}: the command ended with exit code {}: {message}",
        ended.exit_code
    ));
    match host_errors(served) {
        Ok(errors) if errors > 0 => failure.hint(format!(
            "this machine failed {errors} requests of the command; check its free space and its log"
        )),
        _ => failure,
    }
}

/// Returns the number of requests so far that the model completed and this machine failed.
pub(super) fn host_errors(served: &ServedDisk) -> Result<u64, LabError> {
    metric(served, HOST_ERRORS).map(|errors| errors as u64)
}

/// Returns the simulated time during which requests were outstanding in a system so far, in seconds.
fn busy_s(served: &ServedDisk) -> Result<f64, LabError> {
    metric(served, BUSY)
}

/// Returns the current value of one of the server's metrics.
fn metric(served: &ServedDisk, name: &str) -> Result<f64, LabError> {
    let fail = |why: &dyn std::fmt::Display| {
        LabError::run(format!("{}: {why}", served.control().display()))
    };
    let status = control::ask(served.control(), "status").map_err(|error| fail(&error))?;
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
    value.ok_or_else(|| fail(&format!("the server does not report {}", name.trim_end())))
}

fn real(time: std::time::Duration) -> Duration {
    Duration::from_nanoseconds(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 1000))
}
