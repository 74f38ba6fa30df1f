//! `lanemark compare`: compares two results test by test.

use lanemark_lab::results;
use lanemark_report::{compare_runs, compare_table, database_compare_text};

use crate::args::CompareArgs;
use crate::failure::{CommandOutcome, Failure};
use crate::output;

pub(crate) fn run(args: &CompareArgs) -> Result<CommandOutcome, Failure> {
    let a = results::load_run(&args.a)?;
    let b = results::load_run(&args.b)?;
    let a = (args.a.as_str(), &a);
    let b = (args.b.as_str(), &b);
    if args.json {
        output::print_json(&compare_runs(a, b))?;
    } else {
        let style = output::style();
        let text = match database_compare_text(a.1, b.1, &style) {
            Some(text) => text,
            None => compare_table(a, b, args.detail, &style),
        };
        output::print(&text)?;
    }
    Ok(CommandOutcome::Done)
}
