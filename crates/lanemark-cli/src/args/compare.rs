//! The arguments of `lanemark compare`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args as ClapArgs;
use lanemark_schema::units::{BytesPerSecond, Duration};
use lanemark_schema::workload::bound::QUEUE_DEPTH;

use super::gate::LossGate;
use super::systems::with_systems;
use super::{HostOption, MemoryArgs, SeedArgs};

#[derive(Debug, ClapArgs)]
#[command(after_help = with_systems("\
The second system takes each part that it does not name from the first:
  :PORT                            the same drive in another port
  @PLATFORM:PORT                   the same drive in another platform
  DRIVE                            another drive in the same port
  DRIVE@:PORT                      another drive in another port

Examples:
  lanemark compare before.json after.json --fail-if 'slower by 5%'
  lanemark compare new.json --baseline results/ --fail-if 'slower by 5%'
  lanemark compare samsung-850-pro-1tb@workstation-z170:sata samsung-950-pro-512gb@workstation-z170:m2
  lanemark compare samsung-980-pro-1tb@workstation-x570:m2 :m2-2
  lanemark compare --drives 'nvme 1tb 2020'@workstation-x570:m2 --workload quick
  lanemark compare measured.json --model ./my-drive.toml@workstation-x570:m2 :m2-2"))]
pub(crate) struct CompareArgs {
    /// Systems or results; a result is a saved one or another program's, and FILE#SYSTEM selects one system of a study.
    /// One system is compared with itself after the changes of --queue-depth and --set; three or more are ranked
    #[arg(required_unless_present = "drives", num_args = 1.., value_name = "SYSTEM|RESULT")]
    pub(crate) systems: Vec<String>,
    /// Rank each drive of the library whose name, kind, capacity and year match all words, in each port of the platform
    /// that it fits (repeatable)
    #[arg(long, help_heading = "Ranking", value_name = "WORDS@PLATFORM[:PORT]")]
    pub(crate) drives: Vec<String>,
    /// Prices of drives in a ranking, as CSV with the columns drive,price
    #[arg(long, help_heading = "Ranking", value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
    /// Rate that a system must reach in a ranking of one test, such as 50000iops or "2 GB/s"
    #[arg(long, help_heading = "Ranking", value_name = "RATE")]
    pub(crate) at_least: Option<RateTarget>,
    /// Limit for the 99th percentile of latency in a ranking of one test, such as 2ms
    #[arg(long, help_heading = "Ranking", value_name = "TIME")]
    pub(crate) p99_below: Option<Duration>,
    /// Model of the system that a measured result describes, DRIVE@PLATFORM:PORT; without it, the measurement is
    /// compared with the prediction for the other system
    #[arg(long, value_name = "SYSTEM", help_heading = "Model")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostOption,
    /// Queue depth of all tests on the second system
    #[arg(long, help_heading = "Workload", value_name = "N", value_parser = clap::value_parser!(u32).range(QUEUE_DEPTH.range()))]
    pub(crate) queue_depth: Option<u32>,
    /// Override a model value of the second system, such as platform.link.dmi.pcie.lanes=1 (repeatable)
    #[arg(long, help_heading = "Model", value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Output of `lanemark drive --from … --json` with the drive's model; the intervals include the ranges of the fit
    #[arg(long, help_heading = "Model", value_name = "FILE")]
    pub(crate) fit: Option<PathBuf>,
    /// Tests to run [default: the tests of the result; without a result, data-sheet]
    #[arg(long, help_heading = "Workload", value_name = "WORKLOAD[:TEST]")]
    pub(crate) workload: Option<String>,
    /// Skip the 80% intervals, which require additional short simulations with varied values
    #[arg(long, help_heading = "Analysis")]
    pub(crate) no_interval: bool,
    /// Also predict tests whose measurement contradicts the model of the measured system
    #[arg(long, help_heading = "Analysis")]
    pub(crate) force: bool,
    /// Exit with 1 if the interval of a test excludes a loss of throughput below this share, such as 'slower by 5%'
    #[arg(long, help_heading = "Analysis", value_name = "LOSS")]
    pub(crate) fail_if: Option<LossGate>,
    /// Compare one result with the last ten in this folder that have the same target and tests, and add it unless
    /// --fail-if fails
    #[arg(long, help_heading = "Analysis", value_name = "FOLDER", conflicts_with_all = ["drives", "model", "detail"])]
    pub(crate) baseline: Option<PathBuf>,
    /// Of two results, also compare latency percentiles, and describe both targets. Of two systems, state the evidence:
    /// how measured figures are applied to the other system, and which value contributes most to the intervals
    #[arg(long, help_heading = "Output")]
    pub(crate) detail: bool,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Simulate each test and its repeats completely, instead of stopping when the figures have converged
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) run: SeedArgs,
}

/// A rate that a system must reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RateTarget {
    /// Requests a second.
    Iops(f64),
    /// Throughput.
    Rate(BytesPerSecond),
}

impl FromStr for RateTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.to_lowercase();
        match lower.strip_suffix("iops") {
            Some(number) => {
                let number: Option<f64> = number.trim().parse().ok();
                let number = number.filter(|number| number.is_finite() && *number > 0.0);
                number.map(Self::Iops).ok_or("expected a number above 0 before iops".to_owned())
            }
            None => text.parse().map(Self::Rate).map_err(|_| {
                "expected requests a second such as 50000iops, or a rate such as \"2 GB/s\""
                    .to_owned()
            }),
        }
    }
}
