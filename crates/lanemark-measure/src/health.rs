//! The health of an NVMe drive: its SMART / health information log (NVMe base specification, log page 02h).
//!
//! The admin command Get Log Page reads the log, through an ioctl of the kernel that requires root. The health is
//! absent if the device is not an NVMe drive, or if the user is not permitted to read its health. SATA drives report
//! their temperature through the kernel's own sensor (`drivetemp`), which `evidence` reads.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use lanemark_schema::result::DriveHealth;
use lanemark_schema::units::Bytes;
use rustix::fs::{Mode, OFlags};

/// `NVME_IOCTL_ADMIN_CMD` of `linux/nvme_ioctl.h`: `_IOWR('N', 0x41, struct nvme_passthru_cmd)` of 72 bytes.
const NVME_IOCTL_ADMIN_CMD: libc::Ioctl = 0xC048_4E41_u32 as libc::Ioctl;
/// Opcode of Get Log Page.
const GET_LOG_PAGE: u8 = 0x02;
/// Identifier of the SMART / health information log page.
const HEALTH: u32 = 0x02;
/// The namespace id that addresses all namespaces.
const BROADCAST: u32 = 0xffff_ffff;
const LENGTH: usize = 512;
/// Unit of data in the log: a thousand sectors.
const UNIT: u64 = 512_000;

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Default)]
struct NvmePassthruCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_length: u32,
    data_length: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<NvmePassthruCommand>() == 72);

/// Reads the health of the drive under a block device, such as `nvme0n1p2` or `nvme0n1`.
pub(crate) fn health(device: &str) -> Option<DriveHealth> {
    let controller = controller(device)?;
    let node = Path::new("/dev").join(controller);
    let file = rustix::fs::open(node, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    parse(&read(&file)?)
}

/// Returns the controller of a namespace, such as `nvme0`.
fn controller(device: &str) -> Option<String> {
    let rest = device.strip_prefix("nvme")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let name = format!("nvme{}", &rest[..digits]);
    // For a multipath namespace, the number identifies the subsystem; its first controller is queried.
    fs::metadata(format!("/sys/class/nvme/{name}")).is_ok().then_some(name)
}

fn read(file: &OwnedFd) -> Option<[u8; LENGTH]> {
    let mut log = [0u8; LENGTH];
    let mut command = NvmePassthruCommand {
        opcode: GET_LOG_PAGE,
        namespace: BROADCAST,
        address: log.as_mut_ptr() as u64,
        data_length: LENGTH as u32,
        // The log page, and its length in four-byte words minus one.
        words_10_15: [HEALTH | ((LENGTH as u32 / 4 - 1) << 16), 0, 0, 0, 0, 0],
        timeout_ms: 1000,
        ..NvmePassthruCommand::default()
    };
    // SAFETY: the command is the kernel's own struct, and refers to `log`, with its correct length, for the answer.
    let answer = unsafe {
        libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ADMIN_CMD, std::ptr::from_mut(&mut command))
    };
    (answer == 0).then_some(log)
}

fn parse(log: &[u8; LENGTH]) -> Option<DriveHealth> {
    let number = |at: usize, length: usize| {
        log[at..at + length].iter().rev().fold(0u128, |sum, &byte| sum << 8 | u128::from(byte))
    };
    let kelvin = number(1, 2) as u16;
    let units = |at: usize| {
        let units = u64::try_from(number(at, 16)).unwrap_or(u64::MAX);
        Bytes(units.saturating_mul(UNIT))
    };
    // A drive without health data answers with zeros.
    log.iter().any(|&byte| byte != 0).then(|| DriveHealth {
        temperature_celsius: (kelvin > 0).then(|| f64::from(kelvin) - 273.0),
        warnings: log[0],
        spare_percent: log[3],
        used_percent: log[5],
        read: units(32),
        written: units(48),
        media_errors: u64::try_from(number(160, 16)).unwrap_or(u64::MAX),
        throttled_minutes: number(192, 4) as u64 + number(196, 4) as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_read_by_its_places() {
        let mut log = [0u8; LENGTH];
        assert_eq!(parse(&log), None);
        log[0] = 0b10;
        log[1..3].copy_from_slice(&315u16.to_le_bytes());
        (log[3], log[5]) = (100, 7);
        log[32..40].copy_from_slice(&2_000_000u64.to_le_bytes());
        log[48..56].copy_from_slice(&u64::MAX.to_le_bytes());
        log[160] = 3;
        log[192] = 5;
        let health = parse(&log).unwrap();
        assert_eq!(health.temperature_celsius, Some(42.0));
        assert_eq!((health.warnings, health.spare_percent, health.used_percent), (2, 100, 7));
        assert_eq!((health.read, health.written), (Bytes(1_024_000_000_000), Bytes(u64::MAX)));
        assert_eq!((health.media_errors, health.throttled_minutes), (3, 5));
    }

    #[test]
    fn only_nvme_devices_have_a_controller() {
        assert_eq!(controller("sda"), None);
        assert_eq!(controller("nvme"), None);
        assert_eq!(controller("nvmeXn1"), None);
        assert_eq!(health("vda"), None);
    }
}
