//! The options of a comparison: which of them apply, the laboratory that they set up, and the gate.

use lanemark_lab::{Lab, RunLength};

use crate::args::{CompareArgs, GateDecision};
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::stop;

/// Rejects options of a ranking for up to two systems.
pub(super) fn refuse_ranking_options(args: &CompareArgs) -> Result<(), Failure> {
    let options = [
        ("--prices", args.prices.is_some()),
        ("--at-least", args.at_least.is_some()),
        ("--p99-below", args.p99_below.is_some()),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::input(format!("{option} applies to a ranking"))
            .hint("name three systems or more, or add --drives WORDS@PLATFORM")),
    }
}

/// Rejects options of simulations for two results.
pub(super) fn refuse_simulation_options(args: &CompareArgs) -> Result<(), Failure> {
    let options = [
        ("--model", args.model.is_some()),
        ("--host", args.host.host.is_some()),
        ("--queue-depth", args.queue_depth.is_some()),
        ("--set", !args.set.is_empty()),
        ("--fit", args.fit.is_some()),
        ("--workload", args.workload.is_some()),
        ("--force", args.force),
        ("--full", args.full),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::input(format!("{option} does not apply to two results"))
            .hint("name a system instead of a result, or remove the option")),
    }
}

/// Reports the reason for which `--fail-if` fails the command, if there is one.
pub(super) fn gated(decision: GateDecision) -> CommandOutcome {
    if !decision.unjudged.is_empty() {
        tell!("not judged, because the interval is not known: {}", decision.unjudged.join(", "));
    }
    match decision.reason {
        Some(reason) => {
            tell!("failed: {reason}");
            CommandOutcome::Damaged
        }
        None => CommandOutcome::Done,
    }
}

/// Returns the laboratory with the settings of the arguments.
pub(super) fn lab(args: &CompareArgs) -> Lab {
    Lab {
        cancel: stop::on_signal().into(),
        length: RunLength::from_full(args.full),
        memory: args.memory.memory,
        ..Lab::default()
    }
}
