//! The `lanemark` command.
//!
//! Data goes to stdout; progress, warnings about the command and errors go to stderr. Exit codes:
//! 0 done, 1 the run failed or a check found damage, 2 something in the input is wrong, 3 a target was refused so that nothing is
//! lost, 130 interrupted (what had ended is saved).

mod args;
mod bench;
mod bench_trace;
mod bottleneck;
mod compare;
mod export;
mod failure;
mod fit;
mod formats;
mod import;
mod inspect;
mod library;
mod oltp;
mod oltp_args;
mod output;
mod parallel;
mod path;
mod plan;
mod progress;
mod replay;
mod report;
mod results;
mod sim;
mod stop;
mod study;
mod sweep;
mod trace_file;
mod verify;
mod watch;
mod whatif;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::Outcome;

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match &args.command {
        Command::Study(args) => study::run(args),
        Command::Sim(args) => sim::run(args),
        Command::Sweep(args) => sweep::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Path(args) => path::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Import(args) => import::run(args),
        Command::Export(args) => export::run(args),
        Command::Verify(args) => verify::run(args),
        Command::WhatIf(args) => whatif::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Report(args) => report::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Oltp(args) => oltp::run(args),
        Command::Library(args) => library::run(args),
    };
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Damaged) => ExitCode::FAILURE,
        Ok(Outcome::Interrupted) => ExitCode::from(130),
        Err(failure) => {
            eprint!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
