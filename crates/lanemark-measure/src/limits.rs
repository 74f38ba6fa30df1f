//! The limits that control groups impose on a run: rates of devices, and processor time.
//!
//! Both versions of control groups are read (kernel documentation, `cgroup-v1/blkio-controller.rst`, `cgroup-v2.rst`:
//! `io.max`, `cpu.max`, `cpu.stat`): the groups of this thread and all visible groups above them. Limits on underlying
//! devices also apply: on the disk of a partition, on the members of a mapped device, and on the device that stores the
//! file of a loop device.
//!
//! How close a sample is to the limit on a device is computed from the rate of the sample; for a quota, it is computed
//! from the time during which the kernel kept the group off the processors. Weights and latency targets are not read,
//! because they do not enforce fixed values.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lanemark_schema::result::{CgroupLimit, CgroupLimitKind, DirectionResult, Evidence, Sample};
use lanemark_schema::units::{Bytes, Duration};

use crate::sample::TakenSample;

/// Maximum depth of a stack of devices.
const DEPTH_MAX: u32 = 8;

/// The files of the first version, each with a flag for reads and a flag for bytes.
const FIRST: [(&str, bool, bool); 4] = [
    ("blkio.throttle.read_bps_device", true, true),
    ("blkio.throttle.write_bps_device", false, true),
    ("blkio.throttle.read_iops_device", true, false),
    ("blkio.throttle.write_iops_device", false, false),
];
/// The keys of `io.max`, with the same two flags.
const SECOND: [(&str, bool, bool); 4] =
    [("rbps", true, true), ("wbps", false, true), ("riops", true, false), ("wiops", false, false)];

/// The limits that apply to this thread.
#[derive(Debug, Default)]
pub(crate) struct ThreadLimits {
    devices: Vec<CgroupDeviceLimit>,
    quotas: Vec<ProcessorQuota>,
}

/// The limits of a group on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CgroupDeviceLimit {
    text: String,
    reads: bool,
    bytes: bool,
    per_second: u64,
}

/// A group's quota of processor time.
#[derive(Debug)]
struct ProcessorQuota {
    text: String,
    folder: PathBuf,
    /// Total time that the group had been kept off the processors when the limits were read.
    throttled_ns: u64,
}

/// The rates of a sample: bytes and requests a second, read and written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampleRates {
    pub(crate) read: (f64, f64),
    pub(crate) written: (f64, f64),
}

impl SampleRates {
    /// Returns the total rates of concurrent samples, or the device's rates if they are higher.
    pub(crate) fn from_samples(taken_samples: &[TakenSample], between: &Evidence) -> Self {
        let rates = |of: fn(&Sample) -> Option<&DirectionResult>| {
            let rates_of_samples = taken_samples.iter().filter_map(|one| {
                let direction = of(&one.sample)?;
                let seconds = one.sample.elapsed.as_seconds().max(1e-9);
                let requests = direction.latency.count() as f64;
                Some((direction.bytes.get() as f64 / seconds, requests / seconds))
            });
            rates_of_samples.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let device = between.device.clone().unwrap_or_default();
        let seconds = device.elapsed.as_seconds().max(1e-9);
        let greater_rates = |rates: (f64, f64), bytes: Bytes, requests: u64| {
            (rates.0.max(bytes.get() as f64 / seconds), rates.1.max(requests as f64 / seconds))
        };
        Self {
            read: greater_rates(
                rates(|sample| sample.reads.as_ref()),
                device.read_bytes,
                device.reads,
            ),
            written: greater_rates(
                rates(|sample| sample.writes.as_ref()),
                device.written_bytes,
                device.writes,
            ),
        }
    }
}

impl ThreadLimits {
    /// Reads the limits now; `device` is the name of the block device under the target.
    pub(crate) fn read(device: Option<&str>) -> Self {
        let numbers = device.map(numbers).unwrap_or_default();
        let groups = fs::read_to_string("/proc/thread-self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut found = Self::default();
        for controller in ["blkio", "cpu", ""] {
            let Some((root, group)) = hierarchy(&groups, &mounts, controller) else { continue };
            for folder in group.ancestors() {
                let path = root.join(folder);
                let group = folder.display();
                if controller != "cpu" {
                    found.read_devices(&path, &group.to_string(), &numbers);
                }
                if controller != "blkio" {
                    found.quotas.extend(quota(&path, &group.to_string()));
                }
            }
        }
        found.devices.dedup();
        found
    }

    fn read_devices(&mut self, path: &Path, group: &str, numbers: &BTreeSet<String>) {
        let mut add = |file: &str, line: &str, (reads, bytes), per_second: &str| {
            if let Ok(per_second) = per_second.parse()
                && per_second > 0
            {
                let text = format!("{file} of group /{group}: {line}");
                self.devices.push(CgroupDeviceLimit { text, reads, bytes, per_second });
            }
        };
        let lines = |file: &str| {
            let content = fs::read_to_string(path.join(file)).unwrap_or_default();
            let ours = content.lines().filter(|line| {
                line.split(' ').next().is_some_and(|number| numbers.contains(number))
            });
            ours.map(str::to_owned).collect::<Vec<_>>()
        };
        for (file, reads, bytes) in FIRST {
            for line in lines(file) {
                add(file, &line, (reads, bytes), line.split(' ').nth(1).unwrap_or_default());
            }
        }
        for line in lines("io.max") {
            for (key, reads, bytes) in SECOND {
                let value =
                    line.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
                add("io.max", &line, (reads, bytes), value.unwrap_or_default());
            }
        }
    }

    /// Returns the current limits of the device as text.
    pub(crate) fn of_device(&self) -> Vec<String> {
        let mut texts: Vec<String> =
            self.devices.iter().map(|device| device.text.clone()).collect();
        texts.dedup();
        texts
    }

    /// Returns how close each limit was in a sample that began when the limits were read and took `elapsed`.
    pub(crate) fn met(&self, rates: SampleRates, elapsed: Duration) -> Vec<CgroupLimit> {
        let of_device = |limit: &CgroupDeviceLimit| {
            let (bytes, requests) = if limit.reads { rates.read } else { rates.written };
            let rate = if limit.bytes { bytes } else { requests };
            let share = rate / limit.per_second as f64;
            CgroupLimit { text: limit.text.clone(), kind: CgroupLimitKind::Device, share }
        };
        let of_quota = |quota: &ProcessorQuota| {
            let now_ns = throttled_ns(&quota.folder)?;
            let lost_ns = now_ns.saturating_sub(quota.throttled_ns) as f64;
            let share = lost_ns / (elapsed.as_seconds() * 1e9).max(1.0);
            // The throttled time is a sum over the processors.
            Some(CgroupLimit {
                text: quota.text.clone(),
                kind: CgroupLimitKind::Processor,
                share: share.min(1.0),
            })
        };
        let quotas = self.quotas.iter().filter_map(of_quota);
        self.devices.iter().map(of_device).chain(quotas).collect()
    }
}

/// Returns the numbers of a block device and of all its underlying devices.
fn numbers(device: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_devices_below(&PathBuf::from("/sys/class/block").join(device), DEPTH_MAX, &mut found);
    found
}

fn collect_devices_below(folder: &Path, depth: u32, found: &mut BTreeSet<String>) {
    let Ok(folder) = fs::canonicalize(folder) else { return };
    let number = fs::read_to_string(folder.join("dev")).unwrap_or_default().trim().to_owned();
    if depth == 0 || number.is_empty() || !found.insert(number) {
        return;
    }
    if let (true, Some(disk)) = (folder.join("partition").exists(), folder.parent()) {
        collect_devices_below(disk, depth - 1, found);
    }
    for member in fs::read_dir(folder.join("slaves")).into_iter().flatten().flatten() {
        collect_devices_below(&member.path(), depth - 1, found);
    }
    let medium = fs::read_to_string(folder.join("loop/backing_file")).ok();
    if let Some(stat) = medium.and_then(|file| rustix::fs::stat(file.trim_end()).ok()) {
        let is_device = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_block_device();
        let number = if is_device { stat.st_rdev } else { stat.st_dev };
        let major = rustix::fs::major(number);
        let minor = rustix::fs::minor(number);
        collect_devices_below(
            &PathBuf::from(format!("/sys/dev/block/{major}:{minor}")),
            depth - 1,
            found,
        );
    }
}

/// Returns the quota of a group, if one is set.
fn quota(path: &Path, group: &str) -> Option<ProcessorQuota> {
    let read = |file: &str| Some(fs::read_to_string(path.join(file)).ok()?.trim().to_owned());
    let (file, content) = match (read("cpu.max"), read("cpu.cfs_quota_us")) {
        (Some(content), _) => ("cpu.max", content),
        (None, content) => ("cpu.cfs_quota_us", content?),
    };
    // `max 100000` and -1 mean that there is no limit.
    content.split(' ').next()?.parse::<u64>().ok()?;
    let text = format!("{file} of group /{group}: {content}");
    Some(ProcessorQuota { text, throttled_ns: throttled_ns(path)?, folder: path.to_owned() })
}

/// Reads from the group's `cpu.stat` how long the group was kept off the processors.
fn throttled_ns(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path.join("cpu.stat")).ok()?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        line?.trim().parse::<u64>().ok()
    };
    value("throttled_time").or_else(|| value("throttled_usec")?.checked_mul(1000))
}

/// Finds the mount point of a controller's hierarchy, and the group in the hierarchy. An empty controller means the
/// unified hierarchy.
fn hierarchy(groups: &str, mounts: &str, controller: &str) -> Option<(PathBuf, PathBuf)> {
    let has = |list: &str| list.split(',').any(|one| one == controller);
    let group = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        let group = parts.next()?;
        let ours = if controller.is_empty() { controllers.is_empty() } else { has(controllers) };
        ours.then(|| PathBuf::from(group))
    })?;
    mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let name = kind.next()?;
        let options = kind.nth(1)?;
        let wanted = match controller {
            "" => name == "cgroup2",
            _ => name == "cgroup" && has(options),
        };
        let mut fields = fields.split(' ').skip(3);
        let root = fields.next()?;
        let point = fields.next()?;
        // In a container, only a part of the hierarchy is mounted, and group names start at the root of that part or
        // above it.
        let inside = group.strip_prefix(root).or_else(|_| group.strip_prefix("/"));
        wanted.then(|| (PathBuf::from(point), inside.map(Path::to_owned).unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::DeviceUse;

    use super::*;

    const GROUPS: &str = "7:blkio:/a/b\n3:cpu,cpuacct:/docker/x/y\n0::/init\n";
    const MOUNTS: &str = "\
30 29 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
31 29 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
32 29 0:28 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct
";

    #[test]
    fn the_place_of_a_group_is_found() {
        let found = |controller| {
            let (root, group) = hierarchy(GROUPS, MOUNTS, controller)?;
            Some((root.display().to_string(), group.display().to_string()))
        };
        let expected = |root: &str, group: &str| Some((root.to_owned(), group.to_owned()));
        assert_eq!(found(""), expected("/sys/fs/cgroup/unified", "init"));
        assert_eq!(found("blkio"), expected("/sys/fs/cgroup/blkio", "a/b"));
        assert_eq!(found("cpu"), expected("/sys/fs/cgroup/cpu", "y"));
        assert_eq!(found("memory"), None);
        assert_eq!(hierarchy("nonsense", "nonsense", ""), None);
    }

    #[test]
    fn the_rates_match_all_samples_or_the_device() {
        let taken = |reads: u64, writes: u64, seconds: u64| {
            let direction = |count: u64, bytes: Bytes| {
                let mut one = DirectionResult::new();
                (0..count).for_each(|_| one.record(bytes, Duration::from_microseconds(9)));
                Some(one)
            };
            let sample = Sample {
                elapsed: Duration::from_seconds(seconds),
                reads: direction(reads, Bytes::kibi(4)),
                writes: direction(writes, Bytes::kibi(8)),
                ..Sample::empty()
            };
            TakenSample { sample, refusal: None, moved: Bytes::ZERO, failure: None }
        };
        let both = [taken(100, 10, 2), taken(40, 0, 4)];
        let rates = SampleRates::from_samples(&both, &Evidence::default());
        assert_eq!(rates.read, (60.0 * 4_096.0, 60.0));
        assert_eq!(rates.written, (5.0 * 8_192.0, 5.0));
        // Other programs also use the device.
        let device = DeviceUse {
            elapsed: Duration::from_seconds(2),
            reads: 1_000,
            read_bytes: Bytes(100),
            writes: 4,
            written_bytes: Bytes::mebi(1),
            ..DeviceUse::default()
        };
        let between = Evidence { device: Some(device), ..Evidence::default() };
        let rates = SampleRates::from_samples(&both, &between);
        assert_eq!(rates.read, (60.0 * 4_096.0, 500.0));
        assert_eq!(rates.written, (524_288.0, 5.0));
    }

    #[test]
    fn limits_of_both_versions_are_compared_with_a_sample() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        file("blkio.throttle.read_iops_device", "7:1 500\n7:0 2000\n");
        file("io.max", "7:0 rbps=8388608 wbps=max riops=max wiops=120\n");
        file("cpu.max", "50000 100000\n");
        file("cpu.stat", "usage_usec 7\nnr_throttled 1\nthrottled_usec 1000\n");
        let mut limits = ThreadLimits::default();
        limits.read_devices(folder.path(), "g", &BTreeSet::from(["7:0".to_owned()]));
        limits.quotas.extend(quota(folder.path(), "g"));
        file("cpu.stat", "usage_usec 7\nnr_throttled 9\nthrottled_usec 201000\n");
        let rates = SampleRates { read: (4_194_304.0, 1990.0), written: (0.0, 60.0) };
        let met = limits.met(rates, Duration::from_seconds(1));
        let shares: Vec<f64> = met.iter().map(|limit| (limit.share * 1000.0).round()).collect();
        assert_eq!(shares, [995.0, 500.0, 500.0, 200.0]);
        assert_eq!(met[3].text, "cpu.max of group /g: 50000 100000");
        let held: Vec<bool> = met.iter().map(CgroupLimit::is_met).collect();
        assert_eq!(held, [true, false, false, true]);
        file("cpu.max", "max 100000\n");
        assert!(quota(folder.path(), "g").is_none());
    }

    #[test]
    fn the_numbers_of_all_lower_devices_are_found() {
        let tree = tempfile::tempdir().unwrap();
        let device = |path: &str, number: &str| {
            let folder = tree.path().join(path);
            fs::create_dir_all(folder.join("slaves")).unwrap();
            fs::write(folder.join("dev"), format!("{number}\n")).unwrap();
            folder
        };
        let disk = device("sda", "8:0");
        let partition = device("sda/sda1", "8:1");
        fs::write(partition.join("partition"), "1\n").unwrap();
        let other = device("sdb", "8:16");
        let mapped = device("dm-0", "254:0");
        for (name, target) in [("sda1", &partition), ("sdb", &other)] {
            std::os::unix::fs::symlink(target, mapped.join("slaves").join(name)).unwrap();
        }
        let of = |folder: &Path, depth: u32| {
            let mut found = BTreeSet::new();
            collect_devices_below(folder, depth, &mut found);
            found.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of(&disk, 8), ["8:0"]);
        assert_eq!(of(&partition, 8), ["8:0", "8:1"]);
        assert_eq!(of(&mapped, 8), ["254:0", "8:0", "8:1", "8:16"]);
        // Each level of a stack uses one step of the depth.
        assert_eq!(of(&mapped, 2), ["254:0", "8:1", "8:16"]);
        assert_eq!(of(&mapped, 1), ["254:0"]);
        assert!(of(&mapped, 0).is_empty());
        assert!(of(&tree.path().join("nothing"), 8).is_empty());
        // The search ends even if a device is below itself.
        std::os::unix::fs::symlink(&mapped, other.join("slaves/dm-0")).unwrap();
        assert_eq!(of(&mapped, 8), ["254:0", "8:0", "8:1", "8:16"]);
    }
}
