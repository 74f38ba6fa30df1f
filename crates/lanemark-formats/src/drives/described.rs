//! A drive as a tool describes it, and functions that read values in descriptions.

use serde::Serialize;
use serde_json::Value;

use crate::words::size;

/// Maximum number of drives in a file.
pub(super) const DRIVES_MAX: usize = 10_000;
/// Maximum length of a name or model name.
pub(super) const TEXT_MAX: usize = 200;
/// Size of a data unit: 1,000 sectors of 512 bytes (NVMe Base Specification, SMART log).
pub(super) const NVME_UNIT: f64 = 512_000.0;

/// A drive as a tool describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DescribedDrive {
    /// The kernel's name, such as `nvme0n1`.
    pub name: Option<String>,
    /// Model name that the drive reports.
    pub model: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Size of the drive.
    pub size_bytes: Option<u64>,
    /// The size of an addressable sector.
    pub sector_bytes: Option<u64>,
    /// Whether the drive has platters.
    pub rotational: Option<bool>,
    /// The interface, such as `nvme`, `sata` or `usb`.
    pub transport: Option<String>,
    /// The speed of the link and its maximum as the tool prints them, such as `3.0 Gb/s` and `6.0 Gb/s`.
    pub link: Option<(String, String)>,
    /// PCI functions and bridges from the processor to the drive, each with the rate of its link in GB/s, 10^9 bytes a
    /// second.
    pub pci: Vec<(String, Option<f64>)>,
    /// Temperature in °C.
    pub temperature: Option<f64>,
    /// Used share of the rated endurance in per cent; it may exceed 100.
    pub endurance_used: Option<f64>,
    /// Health that the drive reports.
    #[serde(flatten)]
    pub health: ReportedHealth,
    /// Use that the drive reports.
    #[serde(flatten)]
    pub usage: ReportedUsage,
    /// Observations that need attention, as text.
    pub findings: Vec<String>,
}

/// Health that a drive reports in its SMART data.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportedHealth {
    /// Whether the drive reports that it is about to fail.
    pub is_failing: Option<bool>,
    /// The bits of an NVMe drive's critical warning.
    pub critical_warning: Option<u64>,
    /// Temperature in °C from which the drive warns.
    pub temperature_warning: Option<f64>,
    /// Minutes above the warning temperature since the drive was made.
    pub minutes_above_warning: Option<f64>,
    /// Minutes above the critical temperature since the drive was made.
    pub minutes_above_critical: Option<f64>,
    /// Number of times that the drive has reduced its speed because of its temperature.
    pub thermal_transitions: Option<f64>,
    /// Names of the attributes that are at or below their thresholds.
    pub failing: Vec<String>,
    /// Number of errors of the medium that the drive could not correct.
    pub media_errors: Option<f64>,
    /// Number of sectors that the drive has replaced.
    pub reallocated_sectors: Option<f64>,
    /// Number of sectors that the drive could not read, and has not replaced.
    pub pending_sectors: Option<f64>,
    /// Number of checksum errors on the link.
    pub link_errors: Option<f64>,
    /// Share of the spare blocks that are left, in per cent.
    pub spare: Option<f64>,
    /// Share of the spare blocks from which the drive warns, in per cent.
    pub spare_threshold: Option<f64>,
}

/// Use that a drive reports in its SMART data.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportedUsage {
    /// Data that the host has written since the drive was made.
    pub written_bytes: Option<f64>,
    /// Time for which the drive was powered on.
    pub power_on_hours: Option<f64>,
    /// Time at which the tool ran, in seconds since 1970.
    pub reported_at: Option<f64>,
    /// Serial number, by which two reports of one drive are recognised.
    #[serde(skip)]
    pub serial: Option<String>,
}

/// The bits of a critical warning and their meanings (NVM Express Base Specification, SMART / Health Information).
const CRITICAL_WARNINGS: [(u64, &str); 5] = [
    (0b0_0001, "the spare blocks are below the drive's threshold"),
    (0b0_0100, "the drive reports that its reliability is degraded"),
    (0b0_1000, "the medium is read-only"),
    (0b1_0000, "the backup of the drive's volatile memory has failed"),
    (0b0_0010, "the temperature is outside the drive's limits"),
];
/// Names of block devices that are not drives. A boot partition of an eMMC is a separate device.
const NO_DRIVES: [&str; 9] = ["loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd", "drbd"];

/// Returns whether a block device of this name is a drive.
pub(super) fn is_drive_name(name: &str) -> bool {
    let is_part_of_emmc =
        name.starts_with("mmcblk") && (name.contains("boot") || name.contains("rpmb"));
    !is_part_of_emmc && !NO_DRIVES.iter().any(|prefix| name.starts_with(prefix))
}

impl DescribedDrive {
    /// Adds the findings that can be derived from the values, regardless of the tool.
    pub(super) fn judge(&mut self) {
        if let Some((now, most)) = &self.link
            && link_rate(now).zip(link_rate(most)).is_some_and(|(now, most)| now < most)
        {
            self.findings.push(format!("the link runs at {now}, but the drive supports {most}"));
        }
        if self.health.is_failing == Some(true) {
            self.findings.push("the drive reports that it is about to fail".to_owned());
        }
        let below = self.health.failing.iter();
        self.findings.extend(below.map(|name| format!("{name} is at its failure threshold")));
        let hot = self.temperature.zip(self.health.temperature_warning);
        // A virtual disk of a RAID adapter states 0 °C for both.
        let hot = hot.filter(|(now, limit)| now >= limit && *limit > 0.0);
        let text =
            |(now, limit)| format!("{now:.0} °C; the drive's warning limit is {limit:.0} °C");
        self.findings.extend(hot.map(text));
        let warning = self.health.critical_warning.unwrap_or(0);
        // If the limit is known, the bit of the temperature adds nothing.
        let raised = CRITICAL_WARNINGS.iter().filter(|(bit, _)| warning & bit != 0);
        let raised = raised.filter(|(bit, _)| *bit != 0b10 || hot.is_none());
        self.findings.extend(raised.map(|(_, meaning)| (*meaning).to_owned()));
        let above = |limit: &str| format!("min above its {limit} temperature since it was made");
        for (number, one, several) in [
            (self.health.minutes_above_warning, above("warning"), above("warning")),
            (self.health.minutes_above_critical, above("critical"), above("critical")),
            (
                self.health.thermal_transitions,
                "reduction of its speed because of its temperature".to_owned(),
                "reductions of its speed because of its temperature".to_owned(),
            ),
            (self.health.media_errors, "media error".to_owned(), "media errors".to_owned()),
            (
                self.health.pending_sectors,
                "sector that the drive could not read".to_owned(),
                "sectors that the drive could not read".to_owned(),
            ),
            (
                self.health.reallocated_sectors,
                "replaced sector".to_owned(),
                "replaced sectors".to_owned(),
            ),
            (
                self.health.link_errors,
                "checksum error on the link since it was made: check the cable".to_owned(),
                "checksum errors on the link since it was made: check the cable".to_owned(),
            ),
        ] {
            if let Some(number) = number.filter(|number| *number > 0.0) {
                let words = if number == 1.0 { one } else { several };
                self.findings.push(format!("{number:.0} {words}"));
            }
        }
        if let Some((spare, least)) = self.health.spare.zip(self.health.spare_threshold)
            && spare <= least
        {
            self.findings.push(format!(
                "{spare:.0}% of the spare blocks are left; the limit is {least:.0}%"
            ));
        }
        if let Some(used) = self.endurance_used.filter(|used| *used >= 90.0) {
            self.findings.push(format!("{used:.0}% of the rated endurance is used"));
        }
    }
}

/// Returns the roundest capacity of those that `lsblk` prints like this: `3.6T` is 4000 GB.
pub(super) fn capacity(text: &str) -> Option<u64> {
    // Some locales write a decimal comma.
    let text = text.replace(',', ".");
    let (bytes, _) = size(&text, false)?;
    let number = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let (unit, _) = size(&format!("1{}", &text[number.len()..]), false)?;
    let rounding = unit * 0.5 / 10_f64.powi(i32::try_from(decimals).ok()?);
    [1e12, 1e11, 1e10, 1e9]
        .into_iter()
        .map(|step| (bytes / step).round() * step)
        .find(|round| *round > 0.0 && (round - bytes).abs() <= rounding)
        .map_or(Some(bytes as u64), |round| Some(round as u64))
}

/// Returns the rate of a link in Gb/s: 6 for `6.0 Gb/s`, `6.0 Gbps` or `SATA/600`, and 63 for `PCIe 4.0 x4`.
fn link_rate(text: &str) -> Option<f64> {
    if let Some(rest) = text.strip_prefix("PCIe ") {
        let (generation, lanes) = rest.split_once(" x")?;
        let transfers = match generation.trim() {
            "1.0" | "1.1" => 2.5 * 0.8,
            "2.0" => 5.0 * 0.8,
            "3.0" => 8.0 * 128.0 / 130.0,
            "4.0" => 16.0 * 128.0 / 130.0,
            "5.0" => 32.0 * 128.0 / 130.0,
            "6.0" => 64.0,
            _ => return None,
        };
        let lanes: f64 = lanes.trim().parse().ok()?;
        return (1.0..=16.0).contains(&lanes).then_some(transfers * lanes);
    }
    if let Some(megabytes) = text.strip_prefix("SATA/") {
        return megabytes.trim().parse::<f64>().ok().map(|rate| rate / 100.0);
    }
    text.split_whitespace().next()?.parse().ok()
}

/// Returns the string in a JSON value, without leading and trailing space.
pub(super) fn text(value: Option<&Value>) -> Option<String> {
    let text: String = value?.as_str()?.trim().chars().take(TEXT_MAX).collect();
    (!text.is_empty()).then_some(text)
}

/// Returns the count in a JSON value; old versions of lsblk print numbers as strings.
pub(super) fn count(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Returns the kernel's name in the path of a device, such as `nvme0n1` for `/dev/nvme0n1`.
pub(super) fn device_name(path: &str) -> Option<String> {
    let name = path.trim().rsplit('/').next()?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.!:".contains(letter);
    (!name.is_empty() && name.len() <= 64 && name.chars().all(is_name)).then(|| name.to_owned())
}
