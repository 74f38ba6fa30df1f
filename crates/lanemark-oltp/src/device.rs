//! The counters of the block device that stores a folder (`Documentation/block/stat.rst` of Linux).
//!
//! The counters cover the whole device, so they include the work of other programs. There are no counters for a file
//! system that is not on exactly one block device, such as a network file system or a file system on several devices.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Number of bytes in a sector of these counters, regardless of the device's own sector size.
const SECTOR: u64 = 512;

/// The work of a device between two readings.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct DeviceWork {
    /// The kernel's name of the device.
    pub device: String,
    pub reads: u64,
    pub read_bytes: u64,
    /// Total time of all reads.
    pub read_ms: u64,
    pub writes: u64,
    pub write_bytes: u64,
    /// Total time of all writes.
    pub write_ms: u64,
    /// Number of flushes, if the kernel counts them.
    pub flushes: u64,
    /// Total time of all flushes.
    pub flush_ms: u64,
    /// Time with one or more outstanding requests.
    pub busy_ms: u64,
}

impl DeviceWork {
    /// Returns the mean latency of a read in microseconds, measured by the block layer.
    pub fn read_us(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.read_ms as f64 * 1e3 / self.reads as f64)
    }

    /// Returns the mean latency of a write in microseconds.
    pub fn write_us(&self) -> Option<f64> {
        (self.writes > 0).then(|| self.write_ms as f64 * 1e3 / self.writes as f64)
    }

    /// Returns the total time of all requests, which may exceed the elapsed time if requests overlapped.
    pub fn time_ms(&self) -> u64 {
        self.read_ms + self.write_ms + self.flush_ms
    }
}

/// One device and the path of its counters.
#[derive(Clone, Debug)]
pub(crate) struct BlockDevice {
    name: String,
    counters: PathBuf,
}

impl BlockDevice {
    /// Returns the device that stores `path`, if there is exactly one.
    pub(crate) fn containing(path: &Path) -> Option<Self> {
        let number = path.metadata().ok()?.dev();
        let major = rdev_major(number);
        let minor = rdev_minor(number);
        let folder = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        let name = folder.canonicalize().ok()?.file_name()?.to_str()?.to_owned();
        Some(Self { name, counters: folder.join("stat") })
    }

    /// Reads the work of the device since the machine started.
    pub(crate) fn read(&self) -> Option<DeviceWork> {
        parse(&self.name, &std::fs::read_to_string(&self.counters).ok()?)
    }
}

/// Returns the major number in a device number, in Linux's format.
fn rdev_major(number: u64) -> u64 {
    ((number >> 8) & 0xfff) | ((number >> 32) & !0xfff)
}

fn rdev_minor(number: u64) -> u64 {
    (number & 0xff) | ((number >> 12) & !0xff)
}

fn parse(name: &str, text: &str) -> Option<DeviceWork> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let field = |at: usize| fields.get(at).copied().unwrap_or(0);
    (fields.len() >= 11).then(|| DeviceWork {
        device: name.to_owned(),
        reads: field(0),
        read_bytes: field(2) * SECTOR,
        read_ms: field(3),
        writes: field(4),
        write_bytes: field(6) * SECTOR,
        write_ms: field(7),
        busy_ms: field(9),
        flushes: field(15),
        flush_ms: field(16),
    })
}

/// Returns the work between two readings.
pub(crate) fn work_between(earlier: &DeviceWork, later: &DeviceWork) -> DeviceWork {
    DeviceWork {
        device: later.device.clone(),
        reads: later.reads.saturating_sub(earlier.reads),
        read_bytes: later.read_bytes.saturating_sub(earlier.read_bytes),
        read_ms: later.read_ms.saturating_sub(earlier.read_ms),
        writes: later.writes.saturating_sub(earlier.writes),
        write_bytes: later.write_bytes.saturating_sub(earlier.write_bytes),
        write_ms: later.write_ms.saturating_sub(earlier.write_ms),
        busy_ms: later.busy_ms.saturating_sub(earlier.busy_ms),
        flushes: later.flushes.saturating_sub(earlier.flushes),
        flush_ms: later.flush_ms.saturating_sub(earlier.flush_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_their_places() {
        let old = "10 0 80 5 20 0 160 40 0 30 45";
        let work = parse("sda", old).unwrap();
        assert_eq!((work.reads, work.read_bytes, work.read_us()), (10, 40_960, Some(500.0)));
        assert_eq!((work.writes, work.write_bytes, work.write_us()), (20, 81_920, Some(2_000.0)));
        let new = format!("{old} 0 0 0 0 7 9");
        assert_eq!(parse("sda", &new).map(|work| (work.flushes, work.flush_ms)), Some((7, 9)));
        assert_eq!(parse("sda", "1 2 3"), None);
        assert_eq!((work.time_ms(), DeviceWork::default().read_us()), (45, None));
    }

    #[test]
    fn a_device_number_is_taken_apart_as_the_kernel_packs_it() {
        assert_eq!((rdev_major(0x0801), rdev_minor(0x0801)), (8, 1));
        assert_eq!((rdev_major(0x10_fe03), rdev_minor(0x10_fe03)), (254, 259));
    }
}
