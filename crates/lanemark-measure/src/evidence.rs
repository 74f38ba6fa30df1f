//! Readings of the machine before and after a sample, and their difference.
//!
//! The readings come from `/sys/class/block/*/stat` (kernel documentation, `block/stat.rst`) and `/proc/stat`. A value
//! that cannot be read is absent; it is not an error.
//!
//! The time of **others** is the processors' busy time minus the time of this program and the kernel's own threads
//! (`PF_KTHREAD` in `/proc/*/stat`). Kernel threads may work for the target, like the thread of a loop device. They are
//! not visible inside a container, and count as others there. The time of interrupts is not attributed to any program.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use lanemark_schema::result::{DeviceUse, Evidence, ProcessorUse};
use lanemark_schema::units::{Bytes, Duration};

use crate::clock::Clock;
use crate::health::health;
use crate::temperature;

/// Size of a sector in block statistics, regardless of the device's own sector size.
const SECTOR: u64 = 512;

/// The machine's counters at one moment.
#[derive(Debug)]
pub(crate) struct CounterReading {
    clock: Clock,
    at_ns: u64,
    device: Option<(String, BlockStat)>,
    processors: Option<ProcessorCounters>,
    /// Number of times that processors have left an idle state.
    wakes: Option<u64>,
    /// Processor time of this program, in ns.
    own_ns: u64,
    /// Processor time of the kernel's threads, in ns.
    kernel_ns: Option<u64>,
}

/// The columns of `/sys/class/block/*/stat`, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct BlockStat([u64; 17]);

/// The columns of the line `cpu` in `/proc/stat`, in their order, and the number of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessorCounters {
    ticks: [u64; 8],
    count: u32,
}

impl CounterReading {
    /// Takes a reading; `device` is the name of the block device under the target.
    pub(crate) fn take(clock: Clock, device: Option<&str>) -> Self {
        let kernel_ns = kernel_threads_ns();
        Self { kernel_ns, ..Self::without_kernel_threads(clock, device) }
    }

    fn without_kernel_threads(clock: Clock, device: Option<&str>) -> Self {
        Self {
            clock,
            at_ns: clock.now_ns(),
            device: device.and_then(|name| Some((name.to_owned(), stat(name)?))),
            processors: fs::read_to_string("/proc/stat").ok().and_then(|text| processors(&text)),
            wakes: wakes(Path::new("/sys/devices/system/cpu")),
            own_ns: own_ns(),
            kernel_ns: None,
        }
    }

    /// Returns the difference between this reading and now.
    pub(crate) fn until_now(&self) -> Evidence {
        let name = self.device.as_ref().map(|(name, _)| name.as_str());
        let mut now = Self::without_kernel_threads(self.clock, name);
        // Reading many threads takes a while, so both readings are outside the measured time.
        now.kernel_ns = kernel_threads_ns();
        let elapsed = Duration::from_nanoseconds(now.at_ns - self.at_ns);
        let device = self.device_since(now.device.as_ref(), elapsed);
        let processors = self.processors_since(&now);
        let health = name.and_then(health);
        let stated = health.as_ref().and_then(|health| health.temperature_celsius);
        Evidence {
            device,
            processors,
            threads: None,
            outstanding: None,
            limits: Vec::new(),
            punted: None,
            temperature_celsius: name.and_then(temperature::read).or(stated),
            temperatures: None,
            health,
            clock_drift: self.clock.drift(),
        }
    }
}

impl CounterReading {
    /// Returns the time since the reading.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_nanoseconds(self.clock.now_ns().saturating_sub(self.at_ns))
    }

    /// Returns the use of the processors between this reading and `now`.
    fn processors_since(&self, now: &Self) -> Option<ProcessorUse> {
        let used = now.processors.as_ref()?.since(self.processors.as_ref()?)?;
        let elapsed_ns = (now.at_ns - self.at_ns).max(1) as f64;
        let each_ns =
            |(before, after): (u64, u64)| after.saturating_sub(before) as f64 / elapsed_ns;
        Some(ProcessorUse {
            own: Some(each_ns((self.own_ns, now.own_ns))),
            kernel: self.kernel_ns.zip(now.kernel_ns).map(each_ns),
            wakes: self.wakes.zip(now.wakes).map(|wakes| each_ns(wakes) * 1e9),
            is_virtual: is_virtual(),
            ..used
        })
    }

    fn device_since(
        &self,
        now: Option<&(String, BlockStat)>,
        elapsed: Duration,
    ) -> Option<DeviceUse> {
        let (name, before) = self.device.as_ref()?;
        let (_, after) = now?;
        Some(after.since(before, name, elapsed))
    }
}

impl BlockStat {
    fn parse(text: &str) -> Option<Self> {
        let mut columns = [0; 17];
        let mut count = 0;
        for (column, word) in columns.iter_mut().zip(text.split_whitespace()) {
            *column = word.parse().ok()?;
            count += 1;
        }
        // Kernels before 4.18 do not count discards, and kernels before 5.5 do not count flushes.
        (count >= 11).then_some(Self(columns))
    }

    fn since(&self, before: &Self, name: &str, elapsed: Duration) -> DeviceUse {
        let column = |index: usize| self.0[index].saturating_sub(before.0[index]);
        let milliseconds = |index| Duration::from_microseconds(column(index) * 1000);
        DeviceUse {
            name: name.to_owned(),
            reads: column(0),
            read_bytes: Bytes(column(2) * SECTOR),
            read_time: milliseconds(3),
            writes: column(4),
            written_bytes: Bytes(column(6) * SECTOR),
            write_time: milliseconds(7),
            busy: milliseconds(9),
            trims: column(11),
            flushes: column(15),
            flush_time: milliseconds(16),
            elapsed,
        }
    }
}

impl ProcessorCounters {
    /// Returns the use in cores, from the columns user, nice, system, idle, iowait, irq, softirq and steal.
    fn since(&self, before: &Self) -> Option<ProcessorUse> {
        let ticks = |index: usize| self.ticks[index].saturating_sub(before.ticks[index]) as f64;
        let all: f64 = (0..8).map(ticks).sum();
        let cores = |ticks: f64| ticks / all * f64::from(self.count);
        (all > 0.0).then(|| ProcessorUse {
            cores: self.count,
            user: cores(ticks(0) + ticks(1)),
            system: cores(ticks(2)),
            interrupts: cores(ticks(5) + ticks(6)),
            stolen: cores(ticks(7)),
            idle: cores(ticks(3) + ticks(4)),
            own: None,
            kernel: None,
            wakes: None,
            is_virtual: false,
        })
    }
}

/// Returns the processor time of this program since it began, including the kernel threads of its rings.
fn own_ns() -> u64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned()
}

/// Reads the number of times that processors entered an idle state, which equals the number of wakes
/// (`cpuidle/state*/usage` of each processor; kernel documentation, `cpuidle.rst`). If the name of the first state
/// shows that it only polls, it is not counted.
fn wakes(processors: &Path) -> Option<u64> {
    let mut wakes = None;
    for processor in fs::read_dir(processors).ok()?.flatten() {
        let Ok(states) = fs::read_dir(processor.path().join("cpuidle")) else { continue };
        for state in states.flatten() {
            let read_text = |file: &str| fs::read_to_string(state.path().join(file)).ok();
            if read_text("name").is_some_and(|name| name.trim() != "POLL") {
                *wakes.get_or_insert(0) += read_text("usage")?.trim().parse::<u64>().ok()?;
            }
        }
    }
    wakes
}

/// Returns whether the processors report a hypervisor; only x86 processors report it.
fn is_virtual() -> bool {
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let flags = text.lines().find(|line| line.starts_with("flags"));
        flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
    });
    *FOUND
}

/// Returns the processor time of all of the kernel's own threads, if they are visible.
fn kernel_threads_ns() -> Option<u64> {
    /// The flag `PF_KTHREAD` of `linux/sched.h`.
    const KERNEL_THREAD: u64 = 0x0020_0000;
    let hertz = rustix::param::clock_ticks_per_second();
    let mut ticks = None;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let is_process =
            entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        let text = is_process.then(|| fs::read_to_string(entry.path().join("stat")).ok()).flatten();
        // The name, in brackets, may contain any character.
        let Some((_, fields)) = text.as_deref().and_then(|text| text.rsplit_once(')')) else {
            continue;
        };
        let field = |index: usize| {
            fields
                .split_whitespace()
                .nth(index)
                .and_then(|word| word.parse::<u64>().ok())
                .unwrap_or(0)
        };
        // According to proc_pid_stat(5), flags are field 9, utime is field 14 and stime is field 15. The first field
        // after the name is field 3.
        if field(6) & KERNEL_THREAD != 0 {
            *ticks.get_or_insert(0) += field(11) + field(12);
        }
    }
    ticks.map(|ticks| time_of_ticks(ticks, hertz))
}

/// Returns the time of `ticks` of a clock with `hertz` ticks a second, in ns.
fn time_of_ticks(ticks: u64, hertz: u64) -> u64 {
    ticks * (1_000_000_000 / hertz.max(1))
}

fn stat(device: &str) -> Option<BlockStat> {
    BlockStat::parse(&fs::read_to_string(format!("/sys/class/block/{device}/stat")).ok()?)
}

fn processors(text: &str) -> Option<ProcessorCounters> {
    let count =
        text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count()
            as u32;
    let mut words = text.lines().find_map(|line| line.strip_prefix("cpu "))?.split_whitespace();
    let mut ticks = [0; 8];
    for tick in &mut ticks {
        *tick = words.next()?.parse().ok()?;
    }
    (count > 0).then_some(ProcessorCounters { ticks, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_converted_by_the_rate_of_their_clock() {
        let ms = 1_000_000;
        for (ticks, hertz, wanted) in [(0, 100, 0), (3, 100, 30 * ms), (7, 1000, 7 * ms)] {
            assert_eq!(time_of_ticks(ticks, hertz), wanted, "{ticks} at {hertz} Hz");
        }
    }

    #[test]
    fn block_statistics_are_read_by_column() {
        let before = BlockStat::parse("1 0 8 5 2 0 16 7 0 9 12").unwrap();
        let after = BlockStat::parse(" 4 0 24 15 4 0 48 27 0 49 42 3 0 0 0 6 1\n").unwrap();
        let used = after.since(&before, "sda", Duration::from_seconds(1));
        assert_eq!((used.reads, used.writes, used.trims, used.flushes), (3, 2, 3, 6));
        assert_eq!((used.read_bytes, used.written_bytes), (Bytes(8192), Bytes(16_384)));
        assert_eq!(used.busy, Duration::from_microseconds(40_000));
        assert!((used.busy_share() - 0.04).abs() < 1e-12);
        assert_eq!(BlockStat::parse("1 2 3"), None);
        assert_eq!(BlockStat::parse("1 2 3 4 5 6 7 8 9 10 x"), None);
    }

    #[test]
    fn processor_time_is_reported_in_cores() {
        let before = processors("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0\ncpu1 0\n").unwrap();
        let after = processors("cpu  50 0 100 30 10 4 6 0 0 0\ncpu0 0\ncpu1 0\n").unwrap();
        let used = after.since(&before).unwrap();
        assert_eq!((used.user, used.system, used.interrupts, used.idle), (0.5, 1.0, 0.1, 0.4));
        assert_eq!((before.since(&before), processors("intr 5\n")), (None, None));
    }

    #[test]
    fn processor_time_and_wakes_match_the_time_between_two_readings() {
        let clock = Clock::new();
        let at = |at_ns, ticks: [u64; 8], wakes, own_ns, kernel_ns| CounterReading {
            clock,
            at_ns,
            device: None,
            processors: Some(ProcessorCounters { ticks, count: 4 }),
            wakes,
            own_ns,
            kernel_ns,
        };
        // In half a second on four processors, this program takes 0.75 s and kernel threads take 0.1 s, with 500 wakes.
        let before = at(1_000_000_000, [0; 8], Some(40), 250_000_000, Some(7));
        let after = at(
            1_500_000_000,
            [100, 0, 0, 100, 0, 0, 0, 0],
            Some(540),
            1_000_000_000,
            Some(100_000_007),
        );
        let used = before.processors_since(&after).unwrap();
        assert_eq!((used.user, used.idle), (2.0, 2.0));
        assert_eq!((used.own, used.kernel, used.wakes), (Some(1.5), Some(0.2), Some(1000.0)));
        // A counter that is unknown at one end is absent, and a counter that decreases is zero.
        let less = CounterReading { wakes: None, kernel_ns: None, own_ns: 0, ..after };
        let used = before.processors_since(&less).unwrap();
        assert_eq!((used.own, used.kernel, used.wakes), (Some(0.0), None, None));
        // Two readings in the same nanosecond have a difference with finite figures.
        let same = CounterReading { at_ns: before.at_ns, wakes: Some(41), ..less };
        let used = before.processors_since(&same).unwrap();
        assert_eq!((used.own, used.wakes), (Some(0.0), Some(1e9)));
        let unknown = CounterReading { processors: None, ..same };
        assert_eq!(before.processors_since(&unknown), None);
    }

    #[test]
    fn wakes_include_all_states_but_polling() {
        let tree = tempfile::tempdir().unwrap();
        let state = |path: &str, name: &str, usage: &str| {
            let folder = tree.path().join(path);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("name"), format!("{name}\n")).unwrap();
            fs::write(folder.join("usage"), format!("{usage}\n")).unwrap();
        };
        fs::create_dir_all(tree.path().join("cpu0/topology")).unwrap();
        assert_eq!(wakes(tree.path()), None);
        state("cpu0/cpuidle/state0", "POLL", "1000");
        state("cpu0/cpuidle/state1", "C1", "20");
        state("cpu0/cpuidle/state2", "C6", "3");
        state("cpu1/cpuidle/state1", "C1", "400");
        assert_eq!(wakes(tree.path()), Some(423));
        state("cpu1/cpuidle/state2", "C6", "many");
        assert_eq!(wakes(tree.path()), None);
    }

    #[test]
    fn this_machine_has_processors() {
        let reading = CounterReading::take(Clock::new(), None);
        std::thread::sleep(std::time::Duration::from_millis(40));
        let between = reading.until_now();
        assert!(between.processors.is_some_and(|used| used.cores > 0));
        assert_eq!(between.device, None);
    }
}
