//! The arguments for a recorded trace instead of a workload.

use std::path::Path;

use clap::Args as ClapArgs;
use lanemark_lab::{input, opened};
use lanemark_sim::replay::{OUTSTANDING_MAX, Pace, Speed};
use lanemark_study::Library;
use lanemark_study::library::LibraryKind;
use lanemark_trace::{BlkparseAction, Format};

use crate::output::failure::Failure;

/// Endings of workload files.
const WORKLOADS: [&str; 3] = ["toml", "fio", "icf"];
/// Number of outstanding requests of a replay as fast as possible.
const QUEUE_DEPTH: u32 = 32;

#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Trace")]
pub(crate) struct TraceArgs {
    /// Trace format: msr, blkparse, ftrace, iolog, mqsim, disksim, alibaba, spc, fiu, biosnoop or csv; or the columns
    /// in order, such as time_s,operation,sector,sectors [default: detected from the first lines]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) trace_format: Option<Format>,
    /// Replay speed relative to the recording, such as "2x" or "0.5x" [default: 1x]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) speed: Option<Speed>,
    /// Submit the next request when a request completes, regardless of the recorded times
    #[arg(long, conflicts_with = "speed")]
    pub(crate) as_fast_as_possible: bool,
    /// Number of outstanding requests with --as-fast-as-possible [default: 32]
    #[arg(long, value_name = "N", requires = "as_fast_as_possible")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(OUTSTANDING_MAX)))]
    pub(crate) queue_depth: Option<u32>,
    /// Replay only this device or file, named as in the trace (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Vec<String>,
    /// Replay only the first N requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Wrap requests beyond the end of the drive, or beyond --size: take each offset modulo that size
    #[arg(long)]
    pub(crate) wrap: bool,
    /// blkparse event to replay: Q, G, I, D or C [default: Q, queued]
    #[arg(long, value_name = "LETTER")]
    pub(crate) action: Option<BlkparseAction>,
}

impl TraceArgs {
    /// Returns the pace of the replay.
    pub(crate) fn pace(&self) -> Pace {
        if self.as_fast_as_possible {
            Pace::AsFastAsPossible { queue_depth: self.queue_depth.unwrap_or(QUEUE_DEPTH) }
        } else {
            Pace::Recorded(self.speed.unwrap_or(Speed::RECORDED))
        }
    }

    /// Rejects the options for a trace if there is no trace; `own` are further options, each with its presence.
    pub(crate) fn refuse_without_trace(&self, own: &[(&str, bool)]) -> Result<(), Failure> {
        let all = [
            ("--trace-format", self.trace_format.is_some()),
            ("--speed", self.speed.is_some()),
            ("--as-fast-as-possible", self.as_fast_as_possible),
            ("--device", !self.device.is_empty()),
            ("--action", self.action.is_some()),
            ("--limit", self.limit.is_some()),
            ("--wrap", self.wrap),
        ];
        match all.iter().chain(own).find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => Err(Failure::input(format!("{option} applies only to a trace"))
                .hint("name a trace file instead of a workload, or remove the option")),
        }
    }
}

/// Rejects options of workloads, each with its presence, because a trace states these values.
pub(crate) fn refuse_with_trace(options: &[(&str, bool)]) -> Result<(), Failure> {
    match options.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::input(format!("{option} does not apply to a trace"))
            .hint("remove the option, or name a workload")),
    }
}

/// Returns the trace that the name of a workload denotes: a file or pipe that is neither an entry of the library nor a
/// workload by its ending. A name with another ending is a trace even if there is no such file.
pub(crate) fn trace_file<'n>(library: &Library, name: &'n str) -> Option<&'n Path> {
    let path = Path::new(name);
    let is_file = input::is_piped(path) || path.is_file();
    // The name of a test may follow the name of a workload file.
    let file = if is_file { name } else { name.split(':').next().unwrap_or(name) };
    let ending = Path::new(file).extension().and_then(|ending| ending.to_str());
    let is_workload = ending.is_some_and(|ending| WORKLOADS.contains(&ending))
        || library.names(LibraryKind::Workload).iter().any(|known| known == file)
        || opened::is_foreign(file);
    (!is_workload && (is_file || ending.is_some())).then_some(path)
}
