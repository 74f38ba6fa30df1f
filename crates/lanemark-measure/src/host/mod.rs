//! Measures the costs of a request on this machine's processors, which are the values in a host file.
//!
//! Each part is measured several times, so that every value has a range:
//!
//! - *Zeros*: reads of `/dev/zero`. Their processor time is the cost of the system call, the file layer and the data in
//!   memory. This cost becomes the host's `request_submit` and `request_complete`.
//! - *Target*: random reads of a block device, or of a file on a file system, without the page cache. Their additional
//!   processor time is the cost of the file system, the block layer and the driver. This cost becomes the `driver_time`
//!   of the target's protocol. Reads of 1 MiB show the time that depends on the length, `pin_per_mib`. A block device
//!   is opened for reading only.
//! - *Wake*: the time from a timer interrupt until the sleeping thread runs. This time becomes `wake`.
//!
//! Concurrent threads show by how much the processor time grows. Processor time is read from each thread's clock
//! (`CLOCK_THREAD_CPUTIME_ID`), so that the device's time is not included.

mod figures;
mod reads;
mod target;
mod wake;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use figures::{DriverCost, HostFigures, MARK, MeasuredValue};
pub use target::ProtocolName;

use crate::error::MeasureError;
use reads::{HostReads, ReadSlice};
use target::{BLOCK, HostTarget, LONG};

/// Number of slices per part; the range of each value is computed from its slices.
const SLICES: u32 = 5;
/// Shares of the duration for reads of zeros, short and long reads of the target, concurrent threads, and wakes.
const SHARES: [f64; 5] = [0.25, 0.25, 0.1, 0.25, 0.15];
/// Maximum number of concurrent threads.
const THREADS_MAX: usize = 16;

/// A measurement of this machine as a host.
#[derive(Clone, Copy, Debug)]
pub struct HostProbe<'a> {
    /// A block device, which is only read, or a folder, in which a file is created for the run. Without a target, the
    /// driver's time is not measured.
    pub target: Option<&'a Path>,
    /// Duration of the whole measurement.
    pub duration: Duration,
    /// Stops the measurement early when set to true.
    pub stop: &'a AtomicBool,
}

impl HostProbe<'_> {
    /// Measures this machine. `on` is called with the name of each part when the part begins. Returns `None` if the
    /// measurement was stopped early.
    ///
    /// # Errors
    /// Returns the error of the target or of the first failed request.
    pub fn run(&self, on: &mut dyn FnMut(&str)) -> Result<Option<HostFigures>, MeasureError> {
        let target = self.target.map(HostTarget::open).transpose()?;
        let zeros = HostTarget::zeros()?;
        // Without a target, the other parts take its time.
        let of_target = if target.is_some() { 0.0 } else { SHARES[1] + SHARES[2] };
        let slice = |part: usize, parts: f64| {
            self.duration.mul_f64(SHARES[part] / (1.0 - of_target) / parts)
        };
        on("reads of /dev/zero");
        let Some(of_zeros) = self.slices(&zeros, BLOCK, slice(0, f64::from(SLICES)))? else {
            return Ok(None);
        };
        let mut driver = None;
        if let Some(target) = &target {
            on("reads of the target");
            let Some(slices) = self.slices(target, BLOCK, slice(1, f64::from(SLICES)))? else {
                return Ok(None);
            };
            let long = if target.size >= u64::from(LONG) {
                self.slices(target, LONG, slice(2, f64::from(SLICES)))?
            } else {
                Some(Vec::new())
            };
            let Some(long) = long else { return Ok(None) };
            driver = Some(DriverCost::from_slices(target.protocol, &of_zeros, &slices, &long));
        }
        let counts = thread_counts();
        let mut by_threads = Vec::new();
        for &threads in &counts {
            on("reads by several threads");
            let slice_per_thread = slice(3, counts.len() as f64);
            let Some(slice) = self.threads(&zeros, threads, slice_per_thread)? else {
                return Ok(None);
            };
            by_threads.push((threads as u32, slice.request_ns()));
        }
        on("wakes");
        let Some(wakes) = wake::samples(slice(4, 1.0), self.stop) else { return Ok(None) };
        Ok(Some(HostFigures::compute(&of_zeros, driver, &by_threads, &wakes)))
    }

    /// Reads `target` with one thread, for several slices, `length` bytes at a time.
    fn slices(
        &self,
        target: &HostTarget,
        length: u32,
        each: Duration,
    ) -> Result<Option<Vec<ReadSlice>>, MeasureError> {
        let mut slices = Vec::new();
        for number in 0..SLICES {
            let reads = HostReads {
                target,
                length,
                seed: u64::from(number),
                duration: each,
                stop: self.stop,
            };
            let Some(slice) = reads.run()? else { return Ok(None) };
            slices.push(slice);
        }
        Ok(Some(slices))
    }

    /// Reads `target` with `threads` concurrent threads, and returns the sum of their slices.
    fn threads(
        &self,
        target: &HostTarget,
        threads: usize,
        duration: Duration,
    ) -> Result<Option<ReadSlice>, MeasureError> {
        let run =
            |seed: u64| HostReads { target, length: BLOCK, seed, duration, stop: self.stop }.run();
        let all = std::thread::scope(|scope| {
            let running: Vec<_> =
                (0..threads).map(|seed| scope.spawn(move || run(seed as u64))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
            };
            running.into_iter().map(join).collect::<Vec<_>>()
        });
        let mut sum = ReadSlice::default();
        for thread in all {
            let Some(slice) = thread? else { return Ok(None) };
            sum = sum.and(&slice);
        }
        Ok(Some(sum))
    }
}

/// Returns the numbers of threads that are measured: powers of two up to the number of processors.
fn thread_counts() -> Vec<usize> {
    let most = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    (0..).map(|power| 1 << power).take_while(|count| *count <= most).collect()
}
