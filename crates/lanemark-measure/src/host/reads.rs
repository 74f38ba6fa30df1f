//! Random reads by one thread, and the processor time to submit and to complete them.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::workload::Operation;
use rustix::time::{ClockId, clock_gettime};

use super::target::HostTarget;
use crate::arena::Arena;
use crate::engine::{Engine, EngineRequest, Ring, RingOptions, open_uring};
use crate::error::MeasureError;
use crate::kernel_threads::KernelThreads;

/// Maximum number of outstanding requests.
const DEPTH: u32 = 32;
/// Maximum number of outstanding bytes.
const OUTSTANDING: u32 = 4 << 20;
/// Divisor of a slice's duration for the ramp, which is not counted.
const RAMP: u32 = 10;
/// Number of pairs of clock readings that are used to compute the clock's own time.
const READINGS: u32 = 2_000;

#[derive(Clone, Copy)]
pub(super) struct HostReads<'a> {
    pub target: &'a HostTarget,
    pub length: u32,
    pub seed: u64,
    pub duration: Duration,
    pub stop: &'a AtomicBool,
}

/// The processor time of a number of requests, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadSlice {
    pub requests: u64,
    pub submit_ns: f64,
    pub complete_ns: f64,
}

impl ReadSlice {
    /// Returns the time to submit a request.
    pub(super) fn submit(&self) -> f64 {
        self.submit_ns / self.requests.max(1) as f64
    }

    /// Returns the time to complete a request.
    pub(super) fn complete(&self) -> f64 {
        self.complete_ns / self.requests.max(1) as f64
    }

    /// Returns the processor time of a request.
    pub(super) fn request_ns(&self) -> f64 {
        self.submit() + self.complete()
    }

    /// Returns the sum of two threads' slices.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            submit_ns: self.submit_ns + other.submit_ns,
            complete_ns: self.complete_ns + other.complete_ns,
        }
    }
}

impl HostReads<'_> {
    /// Reads for the duration. Returns `None` if the measurement was stopped.
    pub(super) fn run(&self) -> Result<Option<ReadSlice>, MeasureError> {
        let ring = |source| MeasureError::Ring { source };
        let length = self.length;
        let depth = (OUTSTANDING / self.length).clamp(1, DEPTH);
        let mut uring = open_uring(depth, RingOptions::default()).map_err(ring)?;
        let arena = Arena::new(depth, length as usize).map_err(ring)?;
        let mut ring = Ring::new(&mut uring, self.target.file.as_fd(), arena, true);
        let mut rng = Rng::new(StreamKey::from_seed(self.seed));
        let blocks = (self.target.size / u64::from(length)).max(1);
        let mut transfer = || EngineRequest {
            operation: Operation::Read,
            offset: rng.below(blocks) * u64::from(length),
            skip: 0,
            length,
        };
        let reading = clock_time();
        let begun = Instant::now();
        let ramp = self.duration / RAMP;
        let mut slice = ReadSlice::default();
        let mut counts = false;
        let mut free: Vec<u32> = (0..depth).collect();
        let mut kernel = KernelThreads::default();
        loop {
            let elapsed = begun.elapsed();
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if elapsed >= self.duration {
                break;
            }
            if !counts && elapsed >= ramp {
                (counts, slice) = (true, ReadSlice::default());
                kernel = KernelThreads::of_this_thread();
            }
            let started = thread_ns();
            for slot in free.drain(..) {
                ring.push(slot, transfer());
            }
            ring.submit().map_err(|source| self.failed(source))?;
            let submitted = thread_ns();
            ring.submit_and_wait(Some(100_000_000)).map_err(|source| self.failed(source))?;
            while let Some((slot, answer)) = ring.next_completion() {
                if answer < 0 {
                    return Err(self.failed(std::io::Error::from_raw_os_error(-answer)));
                }
                slice.requests += 1;
                free.push(slot);
            }
            let completed = thread_ns();
            slice.submit_ns += (submitted - started - reading).max(0.0);
            slice.complete_ns += (completed - submitted - reading).max(0.0);
        }
        let kernel = KernelThreads::of_this_thread().since(kernel);
        slice.submit_ns += kernel.cpu_ns as f64;
        match slice.requests {
            0 => Err(self.failed(std::io::ErrorKind::TimedOut.into())),
            _ => Ok(Some(slice)),
        }
    }

    fn failed(&self, source: std::io::Error) -> MeasureError {
        let path = self.target.path.clone();
        MeasureError::HostTarget { path, action: "read", source }
    }
}

/// Returns the processor time of this thread in nanoseconds.
fn thread_ns() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

/// Returns the time of a clock reading that is included in the difference between two readings.
fn clock_time() -> f64 {
    let begun = thread_ns();
    for _ in 1..READINGS {
        std::hint::black_box(thread_ns());
    }
    (thread_ns() - begun) / f64::from(READINGS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::ProtocolName;

    #[test]
    fn times_of_a_request_average_both_threads() {
        let slice =
            |requests, submit_ns, complete_ns| ReadSlice { requests, submit_ns, complete_ns };
        let both = slice(3, 600.0, 900.0).and(&slice(1, 400.0, 300.0));
        assert_eq!((both.requests, both.submit(), both.complete()), (4, 250.0, 300.0));
        assert_eq!(both.request_ns(), 550.0);
        let none = ReadSlice::default();
        assert_eq!((none.submit(), none.complete(), none.request_ns()), (0.0, 0.0, 0.0));
    }

    /// `/dev/full` returns zeros like `/dev/zero`, but does not support requests that must not wait. A kernel thread
    /// therefore fills the memory, and its processor time belongs to the submission.
    #[test]
    fn time_of_kernel_threads_belongs_to_the_submission() {
        const LENGTH: u32 = 1 << 20;
        let path = std::path::PathBuf::from("/dev/full");
        let file = std::fs::File::open(&path).unwrap();
        let mut memory = vec![1; LENGTH as usize];
        let begun = thread_ns();
        for _ in 0..100 {
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut memory, 0).unwrap();
        }
        let own = (thread_ns() - begun) / 100.0;
        let size = u64::from(LENGTH) * 64;
        let target = HostTarget { path, file, size, protocol: ProtocolName::Other };
        let reads = HostReads {
            target: &target,
            length: LENGTH,
            seed: 1,
            duration: Duration::from_millis(500),
            stop: &AtomicBool::new(false),
        };
        let slice = reads.run().unwrap().unwrap();
        assert!(slice.submit() > own / 2.0, "{} ns for {own} ns", slice.submit());
    }

    #[test]
    fn the_clock_of_a_thread_advances_with_its_work_and_not_with_its_sleep() {
        let begun = thread_ns();
        std::thread::sleep(Duration::from_millis(50));
        let slept = thread_ns();
        assert!((0.0..40e6).contains(&(slept - begun)), "{}", slept - begun);
        while thread_ns() - slept < 2e6 {}
        // A reading takes between ten nanoseconds and a few microseconds.
        let reading = clock_time();
        assert!((5.0..100_000.0).contains(&reading), "{reading}");
    }
}
