//! The arguments for a trace that `lanemark bench` replays.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_sim::replay::Speed;
use lanemark_trace::{Action, Format};

use crate::failure::Failure;

/// A recorded trace instead of a workload.
#[derive(Debug, ClapArgs)]
pub(crate) struct TraceArgs {
    /// Replay this recorded trace instead of a workload
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workload", "duration", "repeats"])]
    pub(crate) trace: Option<PathBuf>,
    /// The trace's format: msr, blkparse, iolog, mqsim, disksim or csv [default: told from its first lines]
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub(crate) trace_format: Option<Format>,
    /// How many times as fast as recorded, "2x" or "0.5x" [default: 1x]
    #[arg(long, value_name = "FACTOR", requires = "trace")]
    pub(crate) speed: Option<Speed>,
    /// Submit the next request when one is complete, whatever the recorded times
    #[arg(long, requires = "trace", conflicts_with = "speed")]
    pub(crate) as_fast_as_possible: bool,
    /// The most requests outstanding [default: 128]
    #[arg(long, value_name = "N", requires = "trace")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub(crate) outstanding: Option<u32>,
    /// Replay this device or file of the trace, by its name there [default: all, as one]
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub(crate) trace_device: Option<String>,
    /// Which of blkparse's events to replay: Q, G, I, D or C [default: Q, queued]
    #[arg(long, value_name = "LETTER", requires = "trace")]
    pub(crate) action: Option<Action>,
    /// Replay so many requests and leave out the rest
    #[arg(long, value_name = "N", requires = "trace", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Move requests behind --size into it, by the remainder of their offset
    #[arg(long, requires = "trace")]
    pub(crate) wrap: bool,
}

impl TraceArgs {
    /// Refuses options of a trace where none is given. The parser does not, beside a workload: what conflicts with the
    /// missing `--trace` is there, and with that it takes nothing as required.
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
                Err(Failure::input(format!("{option} is about a trace, and none is replayed"))
                    .hint("add --trace FILE, or leave it out"))
            }
        }
    }
}
