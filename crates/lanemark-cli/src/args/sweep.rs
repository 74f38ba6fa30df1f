//! The arguments of `lanemark sweep`.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_schema::units::Ratio;

use super::SeededArgs;

/// The arguments of `lanemark sweep`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Axes:
  NAME=VALUES, VALUES a list of values and ranges: 4,8,16   1..256*2   10..50+10   4KiB..1MiB*4
  of the test    queue_depth threads block read pattern span offset alignment volume duration
                 ramp think compressibility rate
  of the system  drive platform port
  model values   as for --set: drive.flash.channels, platform.link.dmi.pcie.lanes
The last axis changes fastest. Curves are drawn over the first axis of numbers, with a line for
each value of the next.

A sweep that was interrupted goes on when it is asked for again; nothing is run twice.
A point that no system or test can have is a row with the reason in its last column.

Several machines can share a sweep: each runs a range of its points into a part, --points 0..499,
and --merge PART PART --out FILE puts the parts together, to the same bytes as one run gives. The
.provenance.json beside a part goes where the part goes.")]
pub(crate) struct SweepArgs {
    /// The system, written DRIVE@PLATFORM:PORT, or a sweep's file, NAME.toml
    #[arg(required_unless_present = "merge")]
    pub(crate) system: Option<String>,
    /// The test, WORKLOAD:TEST
    #[arg(long, value_name = "WORKLOAD:TEST")]
    pub(crate) workload: Option<String>,
    /// A parameter with its values, queue_depth=1..256*2; again for further axes
    #[arg(long, value_name = "NAME=VALUES")]
    pub(crate) axis: Vec<String>,
    /// Say which queue depth gives this share of the most, "90%" [default axis: queue_depth, 1 to 256]
    #[arg(long, value_name = "SHARE", value_parser = target, conflicts_with = "points")]
    pub(crate) target: Option<Ratio>,
    /// Set a model value for all points, drive.flash.read="60 us"
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// The CSV file of the points, or with the feature `full` also a .parquet file beside one
    /// [default: sweep-HASH.csv in the folder of results, the same for the same sweep]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Run these points alone, the first and the last of them by number, 0..499
    #[arg(long, value_name = "A..B", value_parser = points, conflicts_with = "html")]
    pub(crate) points: Option<RangeInclusive<u64>>,
    /// Put these parts of a sweep together, and run nothing
    #[arg(long, value_name = "PART", num_args = 1.., requires = "out",
        conflicts_with_all = ["system", "workload", "axis", "set", "points", "jobs", "seed", "size", "duration", "repeats"])]
    pub(crate) merge: Vec<PathBuf>,
    /// Also write one HTML page with the curves
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Points at a time [default: as many as cores]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) run: SeededArgs,
}

/// Reads a range of points, both of which belong to it.
fn points(text: &str) -> Result<RangeInclusive<u64>, String> {
    let ends =
        text.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    let (from, to): (u64, u64) = ends.ok_or("write the first and the last point, 0..499")?;
    (from <= to).then_some(from..=to).ok_or("the first point comes after the last".to_owned())
}

/// Reads a share of the most, above none of it.
fn target(text: &str) -> Result<Ratio, String> {
    let share = text.parse().ok().filter(|share: &Ratio| share.get() > 0.0 && share.get() <= 1.0);
    share.ok_or("write a share above 0% and up to 100%, 90%".to_owned())
}

/// Reads a number of threads.
fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let known = text.parse().ok().filter(|jobs: &NonZeroUsize| jobs.get() <= 1024);
    known.ok_or("is not a number from 1 to 1024".to_owned())
}
