//! The errors of a measurement, each with its cause, its location, and a hint on how to continue.

use std::io;
use std::path::PathBuf;

use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Operation, Test};

/// Maximum number of entries of one ring: the kernel's `IORING_MAX_ENTRIES`.
pub(crate) const RING_ENTRIES_MAX: u32 = 32_768;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The workload does not contain tests or repeats.
    #[error("workload `{workload}` does not contain any tests or repeats")]
    NothingToRun { workload: String },
    /// A test that runs in rounds is concurrent with another test.
    #[error(
        "test `{test}` runs in rounds until it is steady, which is not possible in parallel with another test"
    )]
    RoundsBeside { test: String },
    /// A test copies the data that it reads.
    #[error(
        "test `{test}` is a copy, whose writes wait for its reads: copies can only be simulated"
    )]
    Copies { test: String },
    /// A test consists of a database's transactions.
    #[error(
        "test `{test}` consists of a database's transactions, whose requests depend on the drive"
    )]
    Transactions { test: String },
    /// A test summarises a trace, but the trace is missing.
    #[error("test `{test}` summarises a recorded trace, and only the trace contains the requests")]
    TraceAlone { test: String },
    /// The processors cannot be kept out of their idle states.
    #[error(
        "{path}: {reason}; keeping the processors awake requires root, or permission to write that \
         file"
    )]
    NoIdle {
        /// The kernel's file that sets the limit.
        path: &'static str,
        /// The kernel's error.
        reason: String,
    },
    /// The folder for a new file does not exist.
    #[error("{}: there is no folder {}", path.display(), folder.display())]
    NoFolder {
        /// The target as the user wrote it.
        path: PathBuf,
        folder: PathBuf,
    },
    /// The kernel denies an action to this user.
    #[error("{}: no permission to {action} it", path.display())]
    Permission {
        /// The target as the user wrote it.
        path: PathBuf,
        /// Action that was tried.
        action: &'static str,
    },
    /// The file exists, the workload writes, and the user did not allow overwriting.
    #[error(
        "{}: the file exists, and test `{test}` would overwrite its content", path.display()
    )]
    Exists {
        /// The target as the user wrote it.
        path: PathBuf,
        /// The first test that writes.
        test: String,
    },
    /// A symbolic link whose target does not exist; no file is created through the link.
    #[error("{}: the path is a symbolic link to a target that does not exist", path.display())]
    DanglingLink {
        /// The target as the user wrote it.
        path: PathBuf,
    },
    /// The file that may be overwritten is not the target.
    #[error(
        "the target {} and the file that may be overwritten, {}, are not the same file",
        path.display(), overwrite.display()
    )]
    OverwriteMismatch {
        /// The target as the user wrote it.
        path: PathBuf,
        /// File that may be overwritten.
        overwrite: PathBuf,
    },
    /// The file is the medium of a loop device, on which a file system may be mounted.
    #[error("{} is in use as the medium of {device}", path.display())]
    InUse {
        /// The target as the user wrote it.
        path: PathBuf,
        /// Name of the loop device.
        device: String,
    },
    /// Another program has locked the file, because it serves, measures or otherwise uses the file.
    #[error("{} is locked by another program", path.display())]
    Locked {
        /// The target as the user wrote it.
        path: PathBuf,
    },
    /// A block device that is in use cannot be written, even if it is offered.
    #[error("{}: the device is in use: {}", path.display(), uses.join("; "))]
    DeviceInUse {
        /// The target as the user wrote it.
        path: PathBuf,
        /// Descriptions of the device's users.
        uses: Vec<String>,
    },
    /// The workload writes a block device that was not offered.
    #[error("{}: everything on the device would be lost: {}", path.display(), on_it(holds))]
    DeviceNotOffered {
        /// The target as the user wrote it.
        path: PathBuf,
        /// Descriptions of the device's content.
        holds: Vec<String>,
    },
    /// The device that was offered is not the target.
    #[error(
        "the target {} and the device whose data may be lost, {}, are not the same block device",
        path.display(), offered.display()
    )]
    OfferMismatch {
        /// The target as the user wrote it.
        path: PathBuf,
        /// Device that was offered.
        offered: PathBuf,
    },
    /// A device could not be purged.
    #[error("{}: the device was not purged: {reason}", path.display())]
    Purge {
        /// The target as the user wrote it.
        path: PathBuf,
        /// Error of the kernel or the command.
        reason: String,
    },
    /// The target of a purge is not a block device that the run may overwrite.
    #[error("{}: only a block device that the run may overwrite can be purged", path.display())]
    NothingToPurge {
        /// The target as the user wrote it.
        path: PathBuf,
    },
    /// A path under `/dev` without a device. A file that is created there would be in memory.
    #[error("{}: there is no such device", path.display())]
    NoDevice {
        /// The target as the user wrote it.
        path: PathBuf,
    },
    /// The target is neither a file, nor a folder, nor a block device.
    #[error("{}: a {kind} cannot be measured", path.display())]
    WrongKind {
        /// The target as the user wrote it.
        path: PathBuf,
        kind: &'static str,
    },
    /// The path names a different file after it was opened.
    #[error("{} was replaced by another file while it was being opened", path.display())]
    Replaced {
        /// The target as the user wrote it.
        path: PathBuf,
    },
    /// The workload extends past the end of the target.
    #[error("{} has {size}, but test `{test}` needs {needed}", path.display())]
    TargetTooSmall {
        /// The target as the user wrote it.
        path: PathBuf,
        size: Bytes,
        /// Size that the workload needs.
        needed: Bytes,
        /// The test whose range ends last.
        test: String,
    },
    /// The file system does not have room for the file.
    #[error("{}: the file system has {free} free, but the workload needs {needed}", path.display())]
    NoSpace {
        /// The target as the user wrote it.
        path: PathBuf,
        /// Free space for this user.
        free: Bytes,
        /// Space that the file would occupy.
        needed: Bytes,
    },
    /// Direct I/O requires a larger alignment than the test uses.
    #[error(
        "{}: direct I/O requires multiples of {step}, but test `{test}` has {field} = {value}",
        path.display()
    )]
    Misaligned {
        /// The target as the user wrote it.
        path: PathBuf,
        test: String,
        /// Name of the field in a workload file.
        field: &'static str,
        /// Value of the field.
        value: Bytes,
        /// The value must be a multiple of this size.
        step: Bytes,
    },
    /// A test has more outstanding requests than one ring supports.
    #[error(
        "test `{test}` has queue_depth = {queue_depth}: {engine} accepts up to {most} per thread"
    )]
    QueueDepth {
        test: String,
        queue_depth: u32,
        engine: &'static str,
        /// Maximum queue depth of the engine.
        most: u32,
    },
    /// The buffers of a test do not fit into memory.
    #[error(
        "the buffers of test `{test}` need {needed}, but only {available} of memory is available"
    )]
    Memory {
        test: String,
        /// Block size times queue depth times number of threads.
        needed: Bytes,
        /// Memory that the kernel reports as available.
        available: Bytes,
    },
    /// The kernel does not create a ring.
    #[error("io_uring cannot be used: {source}")]
    Ring {
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel does not create another thread or mapping.
    #[error("test `{test}` could not {action}: {source}")]
    Start {
        test: String,
        /// Action that was tried.
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    #[error(
        "{}: {} of {length} at offset {} failed: {source}",
        path.display(), name(*operation), offset.get()
    )]
    Request {
        /// The target as the user wrote it.
        path: PathBuf,
        operation: Operation,
        offset: Bytes,
        length: Bytes,
        /// The kernel's error.
        source: io::Error,
    },
    /// Too many consecutive requests failed, although the settings allow failures.
    #[error("{last}; it was the last of {requests} consecutive failed requests")]
    NothingElse {
        /// Number of consecutive failures.
        requests: u32,
        last: Box<MeasureError>,
    },
    /// A request did not transfer data because the target is too short, for example because another process truncated
    /// it.
    #[error(
        "{}: {} at offset {} transferred no data: the target has become smaller",
        path.display(), name(*operation), offset.get()
    )]
    Ended {
        /// The target as the user wrote it.
        path: PathBuf,
        operation: Operation,
        offset: Bytes,
    },
    /// A failed call on the target that was not a request.
    #[error("could not {action} {}: {source}", path.display())]
    System {
        /// The target as the user wrote it.
        path: PathBuf,
        /// Action that was tried.
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The target of a host measurement cannot be used.
    #[error("can't {action} {}: {source}", path.display())]
    HostTarget {
        /// The target as the user wrote it.
        path: PathBuf,
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The target of a host measurement is neither a folder nor a block device.
    #[error("{}: expected a folder or a block device, but found a different kind of file", path.display())]
    HostKind {
        /// The target as the user wrote it.
        path: PathBuf,
    },
    /// The run succeeded, but the file that was created for it was not removed.
    #[error("{}: the file that was created for the run could not be removed: {source}", path.display())]
    NotRemoved {
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

impl MeasureError {
    /// Returns the error for a test that does not define individual requests.
    pub fn unasked(test: &Test) -> Self {
        let name = test.name.clone();
        if test.is_trace() {
            Self::TraceAlone { test: name }
        } else {
            Self::Transactions { test: name }
        }
    }

    /// Returns one line of advice on how to continue, if there is a remedy.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoFolder { folder, .. } => {
                let there = folder.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok());
                match there.filter(|one| !one.is_dir()) {
                    Some(file) => {
                        format!("{} is not a folder: name a path in a folder", file.display())
                    }
                    None => format!("create it: mkdir -p {}", folder.display()),
                }
            }
            Self::Permission { .. } => {
                "choose a path that you are permitted to write, or run as root".to_owned()
            }
            Self::Exists { path, .. } => format!(
                "name a path that does not exist, or give `--overwrite {}` if its content may be lost",
                path.display()
            ),
            Self::DanglingLink { .. } => {
                "name the file itself; a file is not created through a link".into()
            }
            Self::OverwriteMismatch { .. } => {
                "name the same existing file twice, or omit `--overwrite`".to_owned()
            }
            Self::InUse { device, .. } => {
                format!("detach the device first: losetup -d /dev/{device}")
            }
            Self::Locked { .. } => {
                "end that program first (`lanemark serve` and other measurements lock their files), or choose a different file"
                    .into()
            }
            Self::DeviceInUse { .. } => {
                "end these uses first, or name a file or folder on a file system of that device"
                    .into()
            }
            Self::DeviceNotOffered { path, .. } => {
                format!(
                    "give `--i-will-lose-all-data-on {}` if all of this may be lost",
                    path.display()
                )
            }
            Self::OfferMismatch { .. } => {
                "name the device twice, or omit `--i-will-lose-all-data-on`".to_owned()
            }
            Self::Purge { .. } => {
                "use a command that works, such as --purge \"nvme format $LANEMARK_DEVICE\"".into()
            }
            Self::NoIdle { .. } => "omit `--no-idle`, or run as root".to_owned(),
            Self::NothingToPurge { .. } => "omit `--purge`".to_owned(),
            Self::NoDevice { .. } => {
                "under /dev, only block devices can be measured; `lsblk` lists them".to_owned()
            }
            Self::WrongKind { .. } => "name a file, a folder or a block device".to_owned(),
            Self::Replaced { .. } => "run again when no other program changes that path".to_owned(),
            Self::TargetTooSmall { .. } => {
                "use a smaller size, or a path that does not exist yet".to_owned()
            }
            Self::NoSpace { .. } => "use a smaller size, or a different file system".to_owned(),
            Self::Misaligned { step, .. } => format!("use a multiple of {step}"),
            Self::QueueDepth { most: 1, .. } => "use --engine io_uring, or more threads".to_owned(),
            Self::QueueDepth { most, .. } => format!("use a queue depth of up to {most}, and more threads"),
            Self::Transactions { .. } => {
                "measure a database with `lanemark oltp run`, or simulate this with `lanemark sim`"
                    .to_owned()
            }
            Self::TraceAlone { .. } => "name the trace instead of the workload".to_owned(),
            Self::Copies { .. } => {
                "use a read test and a concurrent write test: `start = \"beside\"`"
                    .to_owned()
            }
            Self::RoundsBeside { .. } => "use a duration instead of rounds".to_owned(),
            Self::Memory { .. } => "use a smaller block size, queue depth or thread count".to_owned(),
            Self::Ring { source } => return ring_hint(source),
            Self::Start { .. } => "use fewer threads, or raise `ulimit -n` and `ulimit -u`".into(),
            Self::Request { source, .. } => return request_hint(source),
            Self::NothingElse { last, .. } => return last.hint(),
            Self::Ended { .. } => {
                "make sure that no other program changes the target during a run".to_owned()
            }
            Self::NotRemoved { path, .. } => format!("remove it: rm {}", path.display()),
            Self::HostTarget { source, .. } => return request_hint(source),
            Self::HostKind { .. } => {
                "name a folder on the file system to measure, or the drive's device".to_owned()
            }
            Self::NothingToRun { .. } | Self::System { .. } => return None,
        };
        Some(hint)
    }
}

fn ring_hint(source: &io::Error) -> Option<String> {
    match source.kind() {
        io::ErrorKind::PermissionDenied => Some(
            "allow io_uring: `sysctl kernel.io_uring_disabled=0`; in a container, also change its seccomp profile"
                .to_owned(),
        ),
        io::ErrorKind::Unsupported => Some("use Linux 5.11 or newer".to_owned()),
        _ if source.raw_os_error() == Some(libc::EMFILE) => {
            Some("use fewer threads, or raise `ulimit -n`".to_owned())
        }
        io::ErrorKind::OutOfMemory => {
            Some("raise `ulimit -l` (locked memory), or use a smaller queue depth".to_owned())
        }
        _ => None,
    }
}

fn request_hint(source: &io::Error) -> Option<String> {
    match source.raw_os_error() {
        Some(libc::EINVAL) => {
            Some("the device may require a larger alignment: use a block size and alignment of 4 KiB".to_owned())
        }
        Some(libc::EIO) => Some(
            "the device reported an error, see `dmesg`; `--on-error continue` would let the run continue"
                .to_owned(),
        ),
        Some(libc::ENOSPC | libc::EDQUOT) => {
            Some("use a smaller size, or a different file system".to_owned())
        }
        _ => None,
    }
}

/// Describes the content of a device for the middle of a sentence.
fn on_it(holds: &[String]) -> String {
    match holds {
        [] => "blkid finds no known signature".to_owned(),
        holds => holds.join("; "),
    }
}

/// Returns the operation's name for the middle of a sentence.
fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "a read",
        Operation::Write => "a write",
        Operation::Flush => "a flush",
        Operation::Trim => "a trim",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_with_a_remedy_has_its_hint() {
        type Hint = fn(&io::Error) -> Option<String>;
        let hints: [(Hint, i32, Option<&str>); 11] = [
            (ring_hint, libc::EPERM, Some("io_uring_disabled")),
            (ring_hint, libc::ENOSYS, Some("Linux 5.11")),
            (ring_hint, libc::EMFILE, Some("ulimit -n")),
            (ring_hint, libc::ENOMEM, Some("ulimit -l")),
            (ring_hint, libc::EINVAL, None),
            (request_hint, libc::EINVAL, Some("4 KiB")),
            (request_hint, libc::EIO, Some("dmesg")),
            (request_hint, libc::ENOSPC, Some("smaller size")),
            (request_hint, libc::EDQUOT, Some("smaller size")),
            (request_hint, libc::EMFILE, None),
            (request_hint, libc::EAGAIN, None),
        ];
        for (hint, code, word) in hints {
            let text = hint(&io::Error::from_raw_os_error(code));
            match word {
                Some(word) => assert!(
                    text.as_ref().is_some_and(|text| text.contains(word)),
                    "{code}: {text:?}"
                ),
                None => assert_eq!(text, None, "{code}"),
            }
        }
    }
}
