//! The warnings about a measurement, each with its evidence.
//!
//! Before a run, the target is checked for holes, compression, underlying caches and limits. After each sample, its
//! requests are compared with the counters of the device, the processors and the clocks.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use lanemark_schema::result::{Evidence, OutstandingRequests, Sample, Warning};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Test;
use lanemark_sim::spec::ProtocolKind;
use rustix::fs::{AtFlags, SeekFrom, StatxFlags};

use crate::engine::EngineKind;
use crate::limits::ThreadLimits;

/// A smaller difference between the requested and the moved bytes does not raise a warning.
const BYTES_SMALL: u64 = 16 << 20;
/// Unit of sizes and offsets in sysfs, regardless of the device's own sector size.
const SECTOR: u64 = 512;
/// A thread that uses more than this share of a core counts as fully busy.
const BUSY: f64 = 0.9;
/// Halves of a sample whose rates differ by more than this raise a warning. SNIA limits the slope of steady rounds to
/// the same share.
const HALVES_APART: f64 = 0.10;
/// The halves of a shorter sample are not compared.
const HALVES_FROM: Duration = Duration::from_seconds(2);
/// Minimum time below and at the temperature limit for a comparison of their rates, in seconds.
const HEAT_FROM: f64 = 2.0;
/// A larger drift between the clocks raises a warning.
const DRIFT_MAX: f64 = 1e-3;
/// Error of the kernel's processor use, in cores, for one core over one second. The kernel samples the use 100 times a
/// second; this is three standard deviations of the count in the worst case.
const TICK_ERROR: f64 = 0.15;
/// A thread that waits for a core for a larger share of its time raises a warning.
const CORE_WAIT_MAX: f64 = 0.1;
/// Stolen processor time, in cores, above which there is a warning.
const STOLEN_MAX: f64 = 0.1;
/// Latency below which the wakes of processors can raise a warning; on a virtual machine, a wake takes tens of
/// microseconds.
const ASLEEP_BELOW: Duration = Duration::from_microseconds(200);
/// Number of wakes per request above which there is a warning.
const ASLEEP_WAKES: f64 = 0.5;
/// A larger relative difference between throughput times latency and the number of outstanding requests raises a
/// warning.
const UNACCOUNTED_MAX: f64 = 0.05;
/// An open loop raises a warning if half of its requests are later than this.
const LATE: Duration = Duration::from_microseconds(100);

/// The properties of a target that are known before a run.
pub(crate) struct TargetTraits<'a> {
    /// Name of the block device under the target.
    pub(crate) block_device: Option<&'a str>,
    /// Range of the target that is read without having been written in full before.
    pub(crate) read_as_found: Option<(u64, u64)>,
    /// Whether the target is a block device.
    pub(crate) device: bool,
}

/// Returns the warnings about a target.
pub(crate) fn warnings_before_run(traits: &TargetTraits<'_>, file: impl AsFd) -> Vec<Warning> {
    let mut found = Vec::new();
    if let (Some((from, to)), false) = (traits.read_as_found, traits.device) {
        let share = holes(&file, from, to);
        if share > 0.01 {
            found.push(Warning::Holes { share, below: None });
        }
    }
    if let (Some((from, to)), Some(name), true) =
        (traits.read_as_found, traits.block_device, traits.device)
    {
        found.extend(holes_below(name, from, to));
    }
    found.extend(compression(traits, &file).map(|what| Warning::Compresses { what }));
    if let Some(name) = traits.block_device {
        found.extend(cache_below(name).map(|what| Warning::CacheBelow { what }));
        let limits = ThreadLimits::read(Some(name)).of_device();
        found.extend(limits.into_iter().map(|limit| Warning::Throttled { limit }));
    }
    found
}

/// Returns a warning if the file of a loop device has holes in the device's range from `from` to `to`.
fn holes_below(name: &str, from: u64, to: u64) -> Option<Warning> {
    let folder = fs::canonicalize(format!("/sys/class/block/{name}")).ok()?;
    let number =
        |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    // A partition begins at an offset on its disk.
    let start = number("start").filter(|_| folder.join("partition").exists());
    let disk = if start.is_some() { folder.parent()? } else { &folder };
    let medium = fs::read_to_string(disk.join("loop/backing_file")).ok()?;
    let offset = fs::read_to_string(disk.join("loop/offset")).ok()?.trim().parse::<u64>().ok()?;
    let before = offset.checked_add(start.unwrap_or(0).checked_mul(SECTOR)?)?;
    let medium = medium.trim_end();
    if !fs::metadata(medium).ok()?.is_file() {
        return None;
    }
    let share =
        holes(fs::File::open(medium).ok()?, from.checked_add(before)?, to.checked_add(before)?);
    (share > 0.01).then(|| Warning::Holes { share, below: Some(medium.to_owned()) })
}

/// Returns the share of the range from `from` to `to` of a file that was never written.
fn holes(file: impl AsFd, from: u64, to: u64) -> f64 {
    let mut at = from;
    let mut empty = 0;
    while at < to {
        // ENXIO means that no data follows; a file system without support for holes reports data everywhere.
        let data = match rustix::fs::seek(&file, SeekFrom::Data(at)) {
            Ok(data) => data.min(to),
            Err(rustix::io::Errno::NXIO) => to,
            Err(_) => return 0.0,
        };
        empty += data - at;
        at = match rustix::fs::seek(&file, SeekFrom::Hole(data)) {
            Ok(hole) if hole > data => hole,
            _ => to,
        };
    }
    empty as f64 / (to - from).max(1) as f64
}

/// Describes the layer that compresses the data of the target, if there is one.
fn compression(traits: &TargetTraits<'_>, file: impl AsFd) -> Option<String> {
    if traits.block_device.is_some_and(|name| name.starts_with("zram")) {
        return Some("a compressed block device in memory (zram)".to_owned());
    }

    /// The flag `STATX_ATTR_COMPRESSED` of `linux/stat.h`.
    const COMPRESSED: u64 = 0x4;
    let stat = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).ok()?;
    let compressed = stat.stx_attributes.bits() & COMPRESSED != 0;
    (compressed && !traits.device).then(|| "the file system".to_owned())
}

/// Describes a cache under a block device, if there is one.
fn cache_below(name: &str) -> Option<String> {
    let folder = PathBuf::from("/sys/class/block").join(name);
    let read_text = |file: &str| fs::read_to_string(folder.join(file)).ok();
    if read_text("loop/dio").is_some_and(|direct| direct.trim() == "0") {
        return Some(format!(
            "{name} is a loop device without direct I/O, so the page cache may hold its data"
        ));
    }
    let link = fs::canonicalize(&folder).ok()?;
    let bus = ["virtio", "vmbus", "xen"].iter().find(|bus| {
        link.components().any(|part| part.as_os_str().to_string_lossy().starts_with(**bus))
    })?;
    Some(format!("{name} is a virtual disk ({bus}), and its host may cache its data"))
}

/// The conditions under which a sample was taken.
pub(crate) struct SampleConditions<'a> {
    pub(crate) test: &'a Test,
    pub(crate) engine: EngineKind,
    /// Whether the page cache was bypassed.
    pub(crate) direct: bool,
    /// Bytes moved by all concurrent tests, including the ramp.
    pub(crate) moved: Bytes,
    /// Minimum time of a read from the device's flash; `None` if the device does not have flash or the time is unknown.
    pub(crate) flash_read_least: Option<Duration>,
    /// Times and the number of requests counted until each time, recorded a few times a second.
    pub(crate) history: &'a [(Duration, u64)],
}

/// Returns the warnings about a sample.
pub(crate) fn warnings_after_sample(
    taking: &SampleConditions<'_>,
    sample: &Sample,
) -> Vec<Warning> {
    let test = || taking.test.name.clone();
    let mut found = Vec::new();
    if !sample.errors.is_empty() {
        found.push(Warning::Failed { test: test(), errors: sample.errors.clone() });
    }
    let Some(evidence) = &sample.evidence else { return found };
    if taking.engine == EngineKind::Null {
        return vec![Warning::NothingRequested];
    }
    if let Some(workers) = evidence.punted {
        found.push(Warning::Punted { test: test(), workers });
    }
    found.extend(device_warning(taking, sample));
    found.extend(without_flash(taking, sample));
    if let Some(threads) = evidence.threads.filter(|threads| threads.busiest > BUSY) {
        found.push(Warning::GeneratorBound { test: test(), busiest: threads.busiest });
    }
    if let Some(used) = evidence.processors.filter(|used| used.stolen > STOLEN_MAX) {
        found.push(Warning::Stolen { test: test(), cores: used.stolen });
    }
    found.extend(sleep_warning(taking.test, sample));
    found.extend(crowding_warnings(taking.test, sample));
    // Limits are read for each sample, because another process may set or remove them during the run.
    let met_limits = evidence.limits.iter().filter(|limit| limit.is_met());
    found.extend(met_limits.map(|limit| Warning::Throttled { limit: limit.text.clone() }));
    if let Some(share) = evidence.clock_drift.filter(|share| share.abs() > DRIFT_MAX) {
        found.push(Warning::ClockDrift { share });
    }
    let heat = heat_warning(taking, evidence);
    if let Some((first, second)) = rates_of_halves(taking.history).filter(|_| heat.is_none())
        && (first - second).abs() > HALVES_APART * f64::midpoint(first, second)
        && taking.test.rounds.is_none()
    {
        found.push(Warning::Transient {
            test: test(),
            first_iops: first,
            second_iops: second,
            temperature_celsius: evidence.temperature_celsius,
        });
    }
    found.extend(heat);
    found.extend(lateness(taking.test, sample));
    found.extend(unaccounted_time_warning(taking.test, sample));
    found
}

/// Model names of NVMe drives whose media are faster than NAND flash: 3D XPoint, Z-NAND, XL-FLASH.
const FASTER: [&str; 9] =
    ["optane", "p4800x", "p4801x", "p5800x", "p5801x", "z-ssd", "sz983", "sz985", "fl6"];

/// Returns the minimum time of a read from the block device `name` if it is on a solid-state drive with NAND flash that
/// is attached directly through SATA or NVMe. The folder `block` is `/sys/class/block`.
pub(crate) fn flash_read_least(block: &Path, name: &str) -> Option<Duration> {
    let mut folder = fs::canonicalize(block.join(name)).ok()?;
    if folder.join("partition").exists() {
        folder.pop();
    }
    let read_text = |file: &str| fs::read_to_string(folder.join(file)).ok();
    if read_text("queue/rotational")?.trim() != "0" {
        return None;
    }
    let disk = folder.file_name()?.to_str()?;
    let on_ata = folder.components().any(|part| {
        let number = part.as_os_str().to_str().and_then(|part| part.strip_prefix("ata"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    });
    let protocol = match disk {
        _ if disk.starts_with("nvme") => ProtocolKind::Nvme,
        _ if disk.starts_with("sd") && on_ata => ProtocolKind::Ahci,
        _ => return None,
    };
    let model = read_text("device/model").unwrap_or_default().to_lowercase();
    let is_faster = FASTER.iter().any(|name| model.contains(name));
    (!is_faster).then(|| protocol.flash_read_least())
}

/// Returns a warning if individual reads completed faster than flash allows.
fn without_flash(taking: &SampleConditions<'_>, sample: &Sample) -> Option<Warning> {
    let test = taking.test;
    let least = taking.flash_read_least?;
    let is_alone = test.issue_depth() == 1 && test.threads == 1;
    let reads = sample.reads.as_ref().filter(|_| is_alone && !test.writes() && taking.direct)?;
    // For sequential requests, drives read ahead.
    if test.is_in_order() || reads.latency.count() == 0 {
        return None;
    }
    let read_ns = reads.latency.mean_ns();
    let least_ns = least.as_seconds() * 1e9;
    let test = test.name.clone();
    (read_ns < least_ns).then_some(Warning::WithoutFlash { test, read_ns, least_ns })
}

/// Returns a warning if requests waited for idle processors to wake.
fn sleep_warning(test: &Test, sample: &Sample) -> Option<Warning> {
    let evidence = sample.evidence.as_ref()?;
    let processors = evidence.processors.filter(|used| used.is_virtual)?;
    let rate = sample.iops().max(1.0);
    let wakes = processors.wakes? / rate;
    let is_short = evidence.outstanding?.mean / rate < ASLEEP_BELOW.as_seconds();
    (is_short && wakes >= ASLEEP_WAKES).then(|| Warning::Asleep { test: test.name.clone(), wakes })
}

/// Returns warnings about other programs on the processors.
fn crowding_warnings(test: &Test, sample: &Sample) -> Vec<Warning> {
    let name = || test.name.clone();
    let mut found = Vec::new();
    let Some(evidence) = &sample.evidence else { return found };
    if let Some((processors, used)) = evidence
        .processors
        .and_then(|used_processors| Some((used_processors, used_processors.others()?)))
    {
        let seconds = sample.elapsed.as_seconds().max(1e-3);
        let error = TICK_ERROR * (f64::from(processors.cores) / seconds).sqrt();
        if used >= processors.others_matter_from() + error {
            found.push(Warning::OthersBusy { test: name(), used, cores: processors.cores });
        }
    }
    let waited = evidence.threads.and_then(|threads| threads.core_wait);
    found.extend(
        waited
            .filter(|&share| share >= CORE_WAIT_MAX)
            .map(|share| Warning::CoreWait { test: name(), share }),
    );
    found
}

/// Returns a warning if throughput times latency differs from the number of outstanding requests (Little's law).
fn unaccounted_time_warning(test: &Test, sample: &Sample) -> Option<Warning> {
    let OutstandingRequests { mean, accounted } = sample.evidence.as_ref()?.outstanding?;
    ((accounted - mean).abs() > UNACCOUNTED_MAX * mean).then(|| Warning::Unaccounted {
        test: test.name.clone(),
        outstanding: mean,
        accounted,
    })
}

/// Returns a warning if the device did not move as many bytes as requested.
fn device_warning(taking: &SampleConditions<'_>, sample: &Sample) -> Option<Warning> {
    let device = sample.evidence.as_ref()?.device.as_ref()?;
    let test = taking.test.name.clone();
    // Writes through the page cache reach the device at a different time.
    let is_comparable = taking.direct || !taking.test.writes();
    let requested = taking.moved.get();
    let moved = (device.read_bytes + device.written_bytes).get();
    let asked_bytes = Bytes(requested);
    let device_bytes = Bytes(moved);
    if is_comparable && moved + requested / 10 + BYTES_SMALL / 4 < requested {
        return Some(Warning::NotFromDevice { test, asked_bytes, device_bytes });
    }
    let ours = requested as f64 * 1.1;
    (taking.direct && moved as f64 > ours + BYTES_SMALL as f64).then_some(Warning::OtherUse {
        test,
        asked_bytes,
        device_bytes,
    })
}

/// Returns the requests a second in the two halves of a sample, if the sample is long enough.
fn rates_of_halves(history: &[(Duration, u64)]) -> Option<(f64, f64)> {
    let counted: Vec<&(Duration, u64)> =
        history.iter().filter(|(at, _)| !at.picoseconds().eq(&0)).collect();
    let first = counted.first()?;
    let last = counted.last()?;
    let length = last.0.saturating_sub(first.0);
    if length < HALVES_FROM {
        return None;
    }
    let middle = first.0 + length / 2;
    let middle = counted.iter().find(|(at, _)| *at >= middle)?;
    let rate = |from: &(Duration, u64), to: &(Duration, u64)| {
        (to.1.saturating_sub(from.1)) as f64 / (to.0.saturating_sub(from.0)).as_seconds().max(1e-9)
    };
    Some((rate(first, middle), rate(middle, last)))
}

/// Returns a warning if the rate fell while the drive was at its temperature limit. A period between two readings is
/// hot or cool if both readings are.
fn heat_warning(taking: &SampleConditions<'_>, evidence: &Evidence) -> Option<Warning> {
    let temperatures = evidence.temperatures.as_ref()?;
    let mut hot = (0.0, 0.0);
    let mut cool = (0.0, 0.0);
    for pair in temperatures.readings.windows(2) {
        let [from, to] = [pair[0], pair[1]];
        let is_hot = temperatures.is_at_limit(from.celsius)?;
        if temperatures.is_at_limit(to.celsius)? == is_hot {
            let sum = if is_hot { &mut hot } else { &mut cool };
            sum.0 += requests_at(taking.history, to.at)? - requests_at(taking.history, from.at)?;
            sum.1 += (to.at - from.at).as_seconds();
        }
    }
    let rate = |(requests, seconds): (f64, f64)| (seconds >= HEAT_FROM).then(|| requests / seconds);
    let hot_iops = rate(hot)?;
    let cool_iops = rate(cool)?;
    (hot_iops < (1.0 - HALVES_APART) * cool_iops).then(|| Warning::Overheated {
        test: taking.test.name.clone(),
        limit_celsius: temperatures.limit_celsius.unwrap_or_default(),
        cool_iops,
        hot_iops,
    })
}

/// Returns the number of requests that were counted until `at`.
fn requests_at(history: &[(Duration, u64)], at: Duration) -> Option<f64> {
    let next = history.partition_point(|(time, _)| *time < at);
    history.get(next).or(history.last()).map(|(_, requests)| *requests as f64)
}

fn lateness(test: &Test, sample: &Sample) -> Option<Warning> {
    let kept = sample.punctuality.as_ref()?;
    let requests = kept.lateness.count();
    let late = Duration::from_nanoseconds(kept.own_lateness.percentile_ns(50.0)?);
    (late > LATE || kept.held_back > requests / 100 || kept.unsubmitted > 0).then(|| {
        Warning::Late {
            test: test.name.clone(),
            lateness_p50: Duration::from_nanoseconds(
                kept.lateness.percentile_ns(50.0).unwrap_or(0),
            ),
            held_back: kept.held_back,
            unsubmitted: kept.unsubmitted,
            requests,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_counted() {
        use std::os::unix::fs::FileExt;
        let file = tempfile::tempfile().unwrap();
        file.set_len(4 << 20).unwrap();
        assert_eq!(holes(&file, 0, 4 << 20), 1.0);
        file.write_all_at(&vec![1; 1 << 20], 1 << 20).unwrap();
        assert_eq!(holes(&file, 0, 4 << 20), 0.75);
        assert_eq!(holes(&file, 1 << 20, 2 << 20), 0.0);
    }

    #[test]
    fn flash_is_distinguished_from_disks_and_from_faster_media() {
        use ProtocolKind::{Ahci, Nvme};
        let sys = tempfile::tempdir().unwrap();
        let block = sys.path().join("class/block");
        fs::create_dir_all(&block).unwrap();
        for (folder, rotational, model, wanted) in [
            ("pci0/nvme/nvme0/nvme0n1", "0", Some("Crucial P5"), Some(Nvme)),
            ("pci0/nvme/nvme1/nvme1n1", "0", Some("INTEL SSDPED1D480GA Optane"), None),
            ("pci0/nvme/nvme2/nvme2n1", "0", None, Some(Nvme)),
            ("pci0/ata3/host2/block/sda", "0", Some("Crucial MX500"), Some(Ahci)),
            ("pci0/ata4/host3/block/sdb", "1", Some("ST2000DM001"), None),
            ("pci0/usb1/host4/block/sdc", "0", Some("Extreme"), None),
            ("pci0/atari/host4/block/sdd", "0", Some("Extreme"), None),
            ("virtio0/block/vda", "0", None, None),
        ] {
            let disk = sys.path().join("devices").join(folder);
            let name = disk.file_name().unwrap().to_str().unwrap().to_owned();
            fs::create_dir_all(disk.join("queue")).unwrap();
            fs::create_dir_all(disk.join("device")).unwrap();
            fs::create_dir_all(disk.join("part1")).unwrap();
            fs::write(disk.join("queue/rotational"), format!("{rotational}\n")).unwrap();
            fs::write(disk.join("part1/partition"), "1\n").unwrap();
            if let Some(model) = model {
                fs::write(disk.join("device/model"), format!("{model}\n")).unwrap();
            }
            let part = format!("{name}-part1");
            std::os::unix::fs::symlink(&disk, block.join(&name)).unwrap();
            std::os::unix::fs::symlink(disk.join("part1"), block.join(&part)).unwrap();
            let wanted = wanted.map(ProtocolKind::flash_read_least);
            assert_eq!(flash_read_least(&block, &name), wanted, "{name}");
            assert_eq!(flash_read_least(&block, &part), wanted, "{part}");
        }
        assert_eq!(flash_read_least(&block, "gone"), None);
    }

    #[test]
    fn halves_are_compared_from_two_seconds_on() {
        let at = |tenths: u64| Duration::from_microseconds(tenths * 100_000);
        let slowing = |end: u64| -> Vec<(Duration, u64)> {
            (0..=end)
                .map(|tenths| (at(tenths), tenths.min(15) * 100 + tenths.saturating_sub(15) * 50))
                .collect()
        };
        assert_eq!(rates_of_halves(&slowing(10)), None);
        let (first, second) = rates_of_halves(&slowing(30)).unwrap();
        assert!((first - 1000.0).abs() < 40.0 && (second - 500.0).abs() < 40.0, "{first} {second}");
    }
}

#[cfg(test)]
#[path = "warnings_bounds_tests.rs"]
mod bounds_tests;
