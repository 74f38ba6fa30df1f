//! The kernel threads that work for a thread of this program.
//!
//! The kernel threads of a ring are threads of this process, named after their owner: `iou-wrk-…` threads carry out
//! requests that could not be submitted without waiting, and `iou-sqp-…` threads take submissions. These threads end
//! with the ring, so their owner reads them while the ring exists. Their processor time is not part of the owner's
//! processor time.

use std::fs;
use std::path::Path;

/// The processor time of one owner's kernel threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelThreads {
    /// Number of threads that carry out requests.
    pub(crate) punting: u64,
    pub(crate) cpu_ns: u64,
}

impl KernelThreads {
    /// Reads the kernel threads of the calling thread, with their processor time since they began.
    pub(crate) fn of_this_thread() -> Self {
        let owner = rustix::thread::gettid().as_raw_nonzero();
        let worker = format!("iou-wrk-{owner}");
        let poller = format!("iou-sqp-{owner}");
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let mut sum = Self::default();
        for folder in threads.map(|thread| thread.path()) {
            let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
            let punts = name.trim_end() == worker;
            if punts || name.trim_end() == poller {
                sum.punting += u64::from(punts);
                sum.cpu_ns += cpu_ns(&folder).unwrap_or(0);
            }
        }
        sum
    }

    /// Returns the threads in `self`, with their processor time since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { punting: self.punting, cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns) }
    }

    /// Returns the sum over the threads of two owners.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { punting: self.punting + other.punting, cpu_ns: self.cpu_ns + other.cpu_ns }
    }
}

fn cpu_ns(folder: &Path) -> Option<u64> {
    let text = fs::read_to_string(folder.join("schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_since_a_reading_and_of_all_owners() {
        let threads = |punting, cpu_ns| KernelThreads { punting, cpu_ns };
        assert_eq!(threads(3, 90).since(threads(2, 40)), threads(3, 50));
        assert_eq!(threads(1, 10).since(threads(2, 40)), threads(1, 0));
        assert_eq!(threads(3, 90).and(threads(2, 40)), threads(5, 130));
    }

    #[test]
    fn the_time_of_a_thread_is_its_first_number() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(cpu_ns(folder.path()), None);
        fs::write(folder.path().join("schedstat"), "1234 56 7\n").unwrap();
        assert_eq!(cpu_ns(folder.path()), Some(1234));
        fs::write(folder.path().join("schedstat"), "many\n").unwrap();
        assert_eq!(cpu_ns(folder.path()), None);
    }
}
