//! The targets of the reads: the kernel's `/dev/zero`, a file in a folder, or a block device that is only read.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use lanemark_schema::rng::{Rng, StreamKey};

use crate::error::MeasureError;

/// Length of a short read.
pub(super) const BLOCK: u32 = 4096;
/// Length of a long read, which shows the processor time per byte.
pub(super) const LONG: u32 = 1 << 20;
/// Size of a file that is created for the run.
const FILE_SIZE: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct HostTarget {
    pub path: PathBuf,
    pub file: File,
    /// Size of the part that is read, in bytes.
    pub size: u64,
    pub protocol: ProtocolName,
}

/// The protocol of a target's drive, by the names of the tables in host files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolName {
    Nvme,
    /// SATA, through an AHCI adapter.
    Ahci,
    /// A SAS adapter.
    Sas,
    /// USB Attached SCSI.
    Uasp,
    /// Any other kind of device, such as a virtual disk or a RAM disk. Its driver is assumed to cost as much as the
    /// NVMe driver.
    Other,
}

impl ProtocolName {
    /// Returns the name of the protocol's table in a host file.
    pub fn table(self) -> &'static str {
        match self {
            Self::Nvme | Self::Other => "nvme",
            Self::Ahci => "ahci",
            Self::Sas => "sas",
            Self::Uasp => "uasp",
        }
    }

    /// Returns the protocol of the device at a path in sysfs.
    fn from_sysfs(sysfs: &Path) -> Self {
        let parts = || sysfs.iter().filter_map(|part| part.to_str());
        let is_numbered = |part: &str, start: &str| {
            part.strip_prefix(start)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let has = |start: &str| parts().any(|part| is_numbered(part, start));
        if has("nvme") {
            Self::Nvme
        } else if has("usb") {
            Self::Uasp
        } else if has("ata") {
            Self::Ahci
        } else if has("host") && !has("virtio") && !has("vmbus") {
            Self::Sas
        } else {
            Self::Other
        }
    }

    /// Returns the protocol of the device with this number, if sysfs knows the device.
    fn of_device(number: u64) -> Self {
        let major = libc::major(number);
        let minor = libc::minor(number);
        let path = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"));
        path.map_or(Self::Other, |path| Self::from_sysfs(&path))
    }
}

impl HostTarget {
    /// Opens the target that does not need a device: the kernel's `/dev/zero`. Files of a RAM file system are not
    /// suitable, because io_uring passes their requests to other threads.
    pub(super) fn zeros() -> Result<Self, MeasureError> {
        let path = PathBuf::from("/dev/zero");
        let to_error =
            |source| MeasureError::HostTarget { path: path.clone(), action: "open", source };
        let file = File::open(&path).map_err(to_error)?;
        Ok(Self { path, file, size: FILE_SIZE, protocol: ProtocolName::Other })
    }

    /// Opens a block device for reading, or creates a file in a folder. The file does not have a name, so it disappears
    /// with the run.
    pub(super) fn open(path: &Path) -> Result<Self, MeasureError> {
        let to_error = |action: &'static str| {
            move |source: io::Error| match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    MeasureError::Permission { path: path.to_owned(), action }
                }
                _ => MeasureError::HostTarget { path: path.to_owned(), action, source },
            }
        };
        let about = path.metadata().map_err(to_error("open"))?;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_DIRECT);
        if about.file_type().is_block_device() {
            let file = options.open(path).map_err(to_error("read"))?;
            let end = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0));
            let size = end.map_err(io::Error::from).map_err(to_error("read"))?;
            if size < u64::from(BLOCK) {
                return Err(to_error("read")(io::ErrorKind::UnexpectedEof.into()));
            }
            let protocol = ProtocolName::of_device(about.rdev());
            return Ok(Self { path: path.to_owned(), file, size, protocol });
        }
        if !about.is_dir() {
            return Err(MeasureError::HostKind { path: path.to_owned() });
        }
        let mut unnamed = OpenOptions::new();
        unnamed.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE);
        let mut file = unnamed.open(path).map_err(to_error("write a file in"))?;
        fill(&mut file).map_err(to_error("write a file in"))?;
        file.sync_all().map_err(to_error("write a file in"))?;
        // The page cache is bypassed from now on. A file system without direct I/O cannot be measured.
        let flags = rustix::fs::fcntl_getfl(&file).map_err(io::Error::from);
        let direct = flags.map_err(to_error("open"))? | rustix::fs::OFlags::DIRECT;
        let set = rustix::fs::fcntl_setfl(&file, direct).map_err(io::Error::from);
        set.map_err(to_error("bypass the page cache of"))?;
        let protocol = ProtocolName::of_device(about.dev());
        Ok(Self { path: path.to_owned(), file, size: FILE_SIZE, protocol })
    }
}

/// Writes the whole file with random data, because a compressed target reads uniform data faster.
fn fill(file: &mut impl Write) -> io::Result<()> {
    let mut rng = Rng::new(StreamKey::from_seed(1));
    let mut part = vec![0; 1 << 20];
    for _ in 0..FILE_SIZE / part.len() as u64 {
        part.chunks_exact_mut(8)
            .for_each(|word| word.copy_from_slice(&rng.next_u64().to_le_bytes()));
        file.write_all(&part)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_device_names_its_protocol() {
        for (path, wanted) in [
            (
                "/sys/devices/pci0000:00/0000:00:1d.0/0000:02:00.0/nvme/nvme0/nvme0n1",
                ProtocolName::Nvme,
            ),
            (
                "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda",
                ProtocolName::Ahci,
            ),
            (
                "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host4/target4:0:0/4:0:0:0/block/sdb",
                ProtocolName::Uasp,
            ),
            (
                "/sys/devices/pci0000:00/0000:01:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0/block/sdc",
                ProtocolName::Sas,
            ),
            (
                "/sys/devices/pci0000:00/0000:00:04.0/virtio1/host0/target0:0:0/0:0:0:0/block/sda",
                ProtocolName::Other,
            ),
            ("/sys/devices/virtual/block/loop0", ProtocolName::Other),
        ] {
            assert_eq!(ProtocolName::from_sysfs(Path::new(path)), wanted, "{path}");
        }
    }

    #[test]
    fn the_pages_of_the_file_differ_and_do_not_compress() {
        let mut file = Vec::new();
        fill(&mut file).unwrap();
        assert_eq!(file.len() as u64, FILE_SIZE);
        let pages: std::collections::HashSet<&[u8]> = file.chunks(4096).collect();
        assert_eq!(pages.len() as u64, FILE_SIZE / 4096);
        let mut counts = [0_u32; 256];
        file[..1 << 20].iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        // Each value occurs 4,096 times on average, with a deviation of 64.
        assert!(counts.iter().all(|count| (3_700..4_500).contains(count)), "{counts:?}");
    }
}
