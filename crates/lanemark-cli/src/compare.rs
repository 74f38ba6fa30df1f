//! `lanemark compare`: compares two results test by test.

use lanemark_lab::results;
use lanemark_report::compare_table;

use crate::args::CompareArgs;
use crate::failure::{Failure, Outcome};
use crate::output;

pub(crate) fn run(args: &CompareArgs) -> Result<Outcome, Failure> {
    let a = results::load_run(&args.a)?;
    let b = results::load_run(&args.b)?;
    output::print(&compare_table((&args.a, &a), (&args.b, &b), &output::style()))?;
    Ok(Outcome::Done)
}
