//! The arguments for a trace that `lanemark bench` replays.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_sim::replay::Speed;
use lanemark_trace::{BlkparseAction, Format};

use crate::failure::Failure;

/// A recorded trace instead of a workload.
#[derive(Debug, ClapArgs)]
pub(crate) struct TraceArgs {
    /// Replay this recorded trace instead of a workload
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workload", "duration", "repeats"])]
    pub(crate) trace: Option<PathBuf>,
    /// Trace format: msr, blkparse, iolog, mqsim, disksim or csv [default: detected from the first lines]
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub(crate) trace_format: Option<Format>,
    /// Replay speed relative to the recording, such as "2x" or "0.5x" [default: 1x]
    #[arg(long, value_name = "FACTOR", requires = "trace")]
    pub(crate) speed: Option<Speed>,
    /// Submit the next request when a request completes, regardless of the recorded times
    #[arg(long, requires = "trace", conflicts_with = "speed")]
    pub(crate) as_fast_as_possible: bool,
    /// Maximum number of outstanding requests [default: 128]
    #[arg(long, value_name = "N", requires = "trace")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub(crate) outstanding: Option<u32>,
    /// Replay only this device or file, named as in the trace [default: all, as one device]
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub(crate) trace_device: Option<String>,
    /// blkparse event to replay: Q, G, I, D or C [default: Q, queued]
    #[arg(long, value_name = "LETTER", requires = "trace")]
    pub(crate) action: Option<BlkparseAction>,
    /// Replay only the first N requests
    #[arg(long, value_name = "N", requires = "trace", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Wrap requests beyond --size: take each offset modulo that size
    #[arg(long, requires = "trace")]
    pub(crate) wrap: bool,
}

impl TraceArgs {
    /// Rejects options for a trace if there is no trace. The parser accepts them if a workload is given: clap does not
    /// require an option (`--trace`) that conflicts with a given option.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.trace.is_some() {
            return Ok(());
        }
        let given = [
            ("--trace-format", self.trace_format.is_some()),
            ("--speed", self.speed.is_some()),
            ("--as-fast-as-possible", self.as_fast_as_possible),
            ("--outstanding", self.outstanding.is_some()),
            ("--trace-device", self.trace_device.is_some()),
            ("--action", self.action.is_some()),
            ("--limit", self.limit.is_some()),
            ("--wrap", self.wrap),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => {
                Err(Failure::input(format!("{option} applies only together with --trace"))
                    .hint("add --trace FILE, or remove the option"))
            }
        }
    }
}
