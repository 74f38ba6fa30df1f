//! A new result next to the earlier results of the same work on the same target, for a gate in continuous integration.

use std::path::Path;

use lanemark_lab::results::{self, ResultFile};
use lanemark_report::{baseline_text, compare_baseline};

use super::options::{gated, refuse_simulation_options};
use crate::args::CompareArgs;
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;

/// Number of earlier results that are compared.
const EARLIER_MAX: usize = 10;

/// Compares the only result in `args` with the earlier ones in `folder`, and adds it there unless the gate fails.
pub(super) fn run(args: &CompareArgs, folder: &Path) -> Result<CommandOutcome, Failure> {
    refuse_simulation_options(args)?;
    let [name] = args.systems.as_slice() else {
        return Err(Failure::input("--baseline applies to one result")
            .hint("name the new result, and remove the others"));
    };
    let new = results::load_run(name)?;
    if !new.complete {
        return Err(Failure::input(format!("{name} is the result of an interrupted run"))
            .hint("measure again"));
    }
    let earlier = results::earlier_runs(folder, &new, EARLIER_MAX)?;
    let compared = compare_baseline(&folder.display().to_string(), &earlier.runs, (name, &new));
    let decision = args.fail_if.map(|gate| gate.check_runs(&compared)).unwrap_or_default();
    if args.json {
        output::print_json(&compared)?;
    } else {
        output::print(&baseline_text(&compared, &output::style()))?;
    }
    if earlier.has_new {
        tell!("{} already contains this result", folder.display());
    } else if decision.reason.is_none() {
        let file = ResultFile::new(folder, &new.workload.id, &new.provenance.started_at)?;
        file.save_run(&new)?;
        tell!("added {}", file.path().display());
    }
    Ok(gated(decision))
}
