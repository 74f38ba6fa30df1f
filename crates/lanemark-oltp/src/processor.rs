//! The processor time of the machine (`/proc/stat`), of a server's processes, and of a thread.
//!
//! The kernel counts the time of processes in ticks of a hundredth of a second (`/proc/PID/stat`). The scheduler counts
//! the time of threads in nanoseconds (`schedstat`): time on a processor, and time waiting for a processor.

use std::fs;
use std::path::PathBuf;

use lanemark_schema::result::SessionProcessorTime;

/// Ticks per second in `/proc`. The kernel fixes this value for programs (`USER_HZ`), regardless of its internal clock.
const TICKS: f64 = 100.0;

/// Time of all processors since the machine started, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessorTime {
    busy: u64,
    all: u64,
}

impl ProcessorTime {
    /// Reads the current processor time.
    pub(crate) fn now() -> Option<Self> {
        parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Returns the share of the processors' time since `earlier` that was spent on work, from 0 to 1.
    pub(crate) fn busy_since(self, earlier: Self) -> Option<f64> {
        let all_ticks = self.all.checked_sub(earlier.all).filter(|&ticks| ticks > 0)?;
        Some(self.busy.saturating_sub(earlier.busy) as f64 / all_ticks as f64)
    }
}

/// Returns the share of all processors' time between two readings that `ours_s` does not explain. `ours_s` is in
/// processor-seconds. The share includes time that a hypervisor took and the kernel's work for all programs.
pub(crate) fn share_of_others(
    later: ProcessorTime,
    earlier: ProcessorTime,
    ours_s: f64,
) -> Option<f64> {
    let all_ticks = later.all.checked_sub(earlier.all).filter(|&ticks| ticks > 0)?;
    let busy = later.busy.saturating_sub(earlier.busy) as f64;
    Some(((busy - ours_s * TICKS) / all_ticks as f64).clamp(0.0, 1.0))
}

/// Waits for `time`, and returns the share of the machine's processors that was busy meanwhile, from 0 to 1; `None` if
/// the kernel does not state it.
pub fn busy_for(time: std::time::Duration) -> Option<f64> {
    let earlier = ProcessorTime::now()?;
    std::thread::sleep(time);
    ProcessorTime::now()?.busy_since(earlier)
}

fn parse(text: &str) -> Option<ProcessorTime> {
    let fields = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    // Guest time, which starts at the ninth field, is already part of user time.
    let ticks: Vec<u64> = fields.take(8).map_while(|field| field.parse().ok()).collect();
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    let all: u64 = ticks.iter().sum();
    (ticks.len() >= 5).then_some(ProcessorTime { busy: all - idle, all })
}

/// Fields of a process in `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    parent: u32,
    /// Ticks of the process.
    own: u64,
    /// Ticks of the process's children that have ended.
    ended: u64,
}

impl Process {
    fn read(process: &str) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        // A program's name may contain parentheses and spaces.
        let fields: Vec<&str> = text.rsplit_once(") ")?.1.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let own = ticks(11)? + ticks(12)?;
        Some(Self { parent: fields.get(1)?.parse().ok()?, own, ended: ticks(13)? + ticks(14)? })
    }
}

/// Returns the processor time of this process so far, in seconds.
pub(crate) fn own_s() -> Option<f64> {
    Process::read("self").map(|process| process.own as f64 / TICKS)
}

/// A process and its children, except one child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessFamily {
    parent: u32,
    except: u32,
}

impl ProcessFamily {
    /// Returns the parent of `process` with its children, except `process` itself; `None` if the title of `process`
    /// does not begin with `title`.
    pub(crate) fn find(process: u32, title: &str) -> Option<Self> {
        // In a container with a separate PID namespace, this number may belong to another process here.
        let found = fs::read_to_string(format!("/proc/{process}/cmdline")).ok()?;
        let parent = Process::read(&process.to_string())?.parent;
        found.starts_with(title).then_some(Self { parent, except: process })
    }

    /// Returns the processor time so far in seconds, including children that have ended since the last reading.
    pub(crate) fn seconds(&self) -> Option<f64> {
        let parent = Process::read(&self.parent.to_string())?;
        let mut ticks = parent.own + parent.ended;
        for entry in fs::read_dir("/proc").ok()?.flatten() {
            let name = entry.file_name();
            let Some(number) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            // The parent counts the time of a child that has ended in the meantime.
            let Some(process) = Process::read(&number.to_string()) else { continue };
            if process.parent == self.parent && number != self.except {
                ticks += process.own + process.ended;
            }
        }
        Some(ticks as f64 / TICKS)
    }
}

/// A thread or a single-threaded process, whose time the scheduler counts.
#[derive(Clone, Debug)]
pub(crate) struct KernelTask(PathBuf);

/// The time of a task so far, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskTime {
    running: u64,
    ready: u64,
}

impl KernelTask {
    /// Returns the calling thread.
    pub(crate) fn own() -> Self {
        Self("/proc/thread-self/schedstat".into())
    }

    pub(crate) fn process(number: i64) -> Self {
        Self(format!("/proc/{number}/schedstat").into())
    }

    /// Reads the current time of the task.
    pub(crate) fn time(&self) -> Option<TaskTime> {
        TaskTime::parse(&fs::read_to_string(&self.0).ok()?)
    }
}

impl TaskTime {
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_whitespace().map(str::parse);
        let running = fields.next()?.ok()?;
        let ready = fields.next()?.ok()?;
        Some(Self { running, ready })
    }

    pub(crate) fn since(self, earlier: Self) -> SessionProcessorTime {
        SessionProcessorTime {
            running_s: self.running.saturating_sub(earlier.running) as f64 / 1e9,
            ready_s: self.ready.saturating_sub(earlier.ready) as f64 / 1e9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_task_are_in_seconds() {
        let of = |text: &str| TaskTime::parse(text).unwrap();
        let used = of("9000000000 4500000000 17").since(of("2000000000 1000000000 3"));
        assert_eq!((used.running_s, used.ready_s), (7.0, 3.5));
        // A counter that was reset does not yield negative times.
        let used = of("1 1 0").since(of("2 2 0"));
        assert_eq!((used.running_s, used.ready_s), (0.0, 0.0));
    }

    #[test]
    fn waiting_for_a_drive_is_idle() {
        let earlier = parse("cpu  0 0 0 0 0 0 0 0 0 0\n").unwrap();
        let later = parse("cpu  30 10 10 40 10 0 0 0 5 0\ncpu0 1").unwrap();
        assert_eq!(later.busy_since(earlier), Some(0.5));
        assert_eq!(later.busy_since(later), None);
    }

    #[test]
    fn busy_time_that_is_not_ours_belongs_to_others() {
        let earlier = parse("cpu  0 0 0 0 0 0 0 0 0 0\n").unwrap();
        let later = parse("cpu  100 0 20 200 60 0 0 20 0 0\n").unwrap();
        assert_eq!(share_of_others(later, earlier, 1.0), Some(0.1));
        assert_eq!(share_of_others(later, earlier, 9.0), Some(0.0));
        assert_eq!(share_of_others(later, later, 1.0), None);
    }

    #[test]
    fn a_process_is_read_regardless_of_its_name() {
        let text = "7 (a) b (c) S 3 7 7 0 -1 4 1 2 3 4 50 6 70 8 20 0 1 0 99 0 0";
        assert_eq!(Process::parse(text), Some(Process { parent: 3, own: 56, ended: 78 }));
        assert_eq!(Process::parse("7 (a) S 3"), None);
    }

    #[test]
    fn a_thread_that_works_has_time_on_a_processor() {
        let Some(before) = KernelTask::own().time() else { return };
        let mut hash = 1_u64;
        while KernelTask::own().time().unwrap().since(before).running_s < 0.01 {
            (0..10_000).for_each(|round| hash = std::hint::black_box(hash.rotate_left(5) ^ round));
        }
        assert_eq!(TaskTime::parse("5 7 2"), Some(TaskTime { running: 5, ready: 7 }));
        assert_eq!(TaskTime::parse(""), None);
    }

    #[test]
    fn a_family_has_the_time_of_its_children() {
        let child = std::process::Command::new("sleep").arg("60").spawn();
        let Ok(mut child) = child else { return };
        // Until a child executes another program, it has the name of its parent.
        let family = std::iter::repeat_with(|| ProcessFamily::find(child.id(), "sleep"))
            .take(10_000)
            .find_map(|family| {
                std::thread::sleep(std::time::Duration::from_millis(1));
                family
            });
        let seconds = family.and_then(|family| family.seconds());
        assert!(ProcessFamily::find(child.id(), "postgres").is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(family.map(|family| family.parent), Some(std::process::id()));
        assert!(seconds.unwrap() <= own_s().unwrap() + 1.0);
    }
}
