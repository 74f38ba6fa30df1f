//! The advice of warnings about a result.

use super::{LiveVerdict, Warning};

impl Warning {
    /// Returns the advice for the warning, unless it is a note about another program's output.
    pub fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::PageCache { .. } => "use ext4, xfs or btrfs, and for a database PostgreSQL 16",
            Self::NotRegistered { .. } => {
                "raise `ulimit -l` (locked memory) or run on a newer kernel"
            }
            Self::FewRepeats { .. } => "use at least three repeats",
            Self::Failed { .. } => {
                "check `dmesg` and the drive's log; failed requests are not included in other figures"
            }
            Self::ShortSample { .. } => "use a larger size or a longer duration",
            Self::Interrupted => "run again for the missing tests",
            Self::TrainedDown { .. } => "use a port with the drive's lanes and generation",
            Self::TimesBackward { .. } => "if the steps are long, sort the trace by time",
            Self::HeldBack { .. } => {
                "latencies grow with the length of the trace; use a lower --speed or \
                 --as-fast-as-possible"
            }
            Self::Wrapped { .. } => "use a drive as large as the recorded drive",
            Self::EmptyRequests { .. } => "check whether the trace is damaged",
            Self::NotSteady { .. } => "use longer rounds, or precondition the drive",
            Self::Punted { .. } => {
                "the figures include the work of the kernel's threads; use --engine sync, or a block device or \
                 file system that submits without waiting (ext4, xfs with direct I/O)"
            }
            Self::NotFromDevice { .. } => {
                "use direct I/O, a span larger than the caches, and written data that does not \
                 compress"
            }
            Self::OtherUse { .. } => "stop other programs that use the device, and run again",
            Self::WithoutFlash { .. } => {
                "blocks that were never written or are trimmed are not read from flash, and caches \
                 answer without reading the flash: write the whole span first (--precondition snia), or \
                 use a larger span"
            }
            Self::Holes { below: None, .. } => {
                "fill the file first: --overwrite allows a run to do so"
            }
            Self::Holes { below: Some(_), .. } => {
                "fill the device first: --i-will-lose-all-data-on allows a run to do so"
            }
            Self::NothingRequested => "to measure the target, use a different engine",
            Self::Compresses { .. } => {
                "the figures apply to data as compressible as the workload's"
            }
            Self::CacheBelow { what } if what.contains("loop device") => {
                "attach the file with direct I/O: losetup --direct-io=on"
            }
            Self::CacheBelow { .. } => {
                "read more data than fits in the host's memory, or measure on the host itself"
            }
            Self::Fresh { .. } => {
                "use --precondition snia, which first writes the whole device twice"
            }
            Self::NotPreconditioned { .. } => {
                "use --precondition snia, which first writes the whole target twice"
            }
            Self::Throttled { .. } => {
                "remove the limit, or treat the figures as the effect of the limit"
            }
            Self::Transient { .. } => {
                "use a longer run, or rounds until the test is steady (--steady 60s)"
            }
            Self::Overheated { .. } => {
                "cool the drive, or report the rate at the limit as its sustained rate"
            }
            Self::GeneratorBound { .. } => "use more threads, or a larger block",
            Self::Asleep { .. } => {
                "use --no-idle, which keeps the processors awake, to find the share of wake-ups in the latency"
            }
            Self::BufferFilling { .. } => "use a test with a ramp, or a larger volume",
            Self::Stolen { .. } => "run on a machine with dedicated processors",
            Self::OthersBusy { .. } => "stop other programs, and run again",
            Self::CoreWait { .. } => {
                "keep one core free per thread: stop other programs, or use fewer threads"
            }
            Self::NotDelivered { verdict: LiveVerdict::Early, .. } => "use a smaller --time-scale",
            Self::NotDelivered { .. } => "use a larger --time-scale, or a quieter machine",
            Self::Late { .. } => "use a lower rate, more threads, or --pin",
            Self::Unaccounted { .. } => {
                "use a longer run: requests that began before the sample or ended after it have too much weight"
            }
            Self::ClockDrift { .. } => "run again; if the warning remains, distrust all latencies",
            Self::CacheNotModelled { .. } => {
                "to load the drive itself, set direct=1 in the job, for fio too; \
                 `lanemark bench --buffered` measures a real page cache"
            }
            Self::NoCollection { .. } => {
                "--set drive.state.condition=random shows the steady state"
            }
            Self::Unfinished { .. } => {
                "use a longer run: percentiles and maximum are lower bounds, because these requests are not included"
            }
            Self::FromPercentiles { .. } => {
                "run fio with --output-format=json+ to record all percentiles; other programs print only some"
            }
            Self::OnlyMeans { .. } => {
                "no percentiles are shown, because the source states only means"
            }
            Self::RatesOnly { .. } => {
                "rates and mean latencies are as stated; counts and bytes are computed from these figures"
            }
            Self::Imported { .. } => return None,
            Self::BestOfRuns { .. } => {
                "expect the drive's mean or median throughput to be lower, and its latency to be higher"
            }
            Self::AssumedLimit { limit, .. } => limit.advice(),
            Self::NoLatencies { .. } => "run fio without gtod_reduce, disable_lat and disable_clat",
            Self::OptionsContradict { .. } => {
                "the entry is the sum of different jobs: run fio without group_reporting, or give each \
                 job a separate group (new_group)"
            }
            Self::NotStated { .. } => {
                "state the setting with an option of `lanemark report`: simulations require it, and \
                 Lanemark does not guess"
            }
        })
    }
}
