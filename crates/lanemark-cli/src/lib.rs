//! The `lanemark` command, for the program of that name and for whatever brings it along.
//!
//! Data goes to stdout; progress, warnings about the command and errors go to stderr. Exit codes:
//! 0 done, 1 the run failed or a check found damage, 2 something in the input is wrong, 3 a target was refused so that nothing is
//! lost, 128 and the signal's number where a signal ended it: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP (what had
//! ended is saved).

mod args;
mod bench;
mod bench_trace;
mod charts;
mod compare;
mod completions;
mod delivery;
mod drive;
#[cfg(feature = "exact")]
mod exact;
mod export;
mod failure;
mod fit;
mod formats;
mod help;
mod import;
mod inspect;
mod library;
#[cfg(feature = "postgres")]
mod managed;
mod messages;
mod oltp;
mod oltp_args;
#[cfg(all(feature = "fuse", feature = "postgres"))]
mod oltp_live;
mod outlets;
mod output;
#[cfg(feature = "parquet")]
mod parquet_file;
mod path;
mod plan;
mod plot;
#[cfg(feature = "png")]
mod png_file;
mod progress;
mod provenance;
mod replay;
mod report;
mod results;
#[cfg(feature = "serve")]
mod serve;
mod sim;
mod stop;
mod study;
mod sweep;
mod trace_file;
#[cfg(feature = "ui")]
mod ui;
mod verify;
#[cfg(any(feature = "exact", all(feature = "fuse", feature = "postgres")))]
mod warden;
mod watch;
mod whatif;

use std::ffi::OsString;

use clap::FromArgMatches;
use lanemark_core::text::is_shown;
use lanemark_lab::reserved;

use args::{Args, Command};
use failure::{Failure, Outcome};
use messages::tell;

/// Runs the command that `words` say, the program's name first, and returns the exit code. It catches the signals of the
/// process, and ends it where a signal or the words say so: a process runs one command.
pub fn main_of(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words = provenance::words_are(words);
    #[cfg(feature = "exact")]
    exact::as_first_process(words);
    #[cfg(any(feature = "exact", all(feature = "fuse", feature = "postgres")))]
    if warden::ran_as_one(words) {
        return 0;
    }
    let understood = help::command().try_get_matches_from(words);
    let args = understood.and_then(|matches| Args::from_arg_matches(&matches));
    let args = args.unwrap_or_else(|error| not_understood(&error, words));
    let outcome = stop::watch().and_then(|()| run(&args));
    stop::ended();
    reserved::abandon();
    match outcome {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::Damaged) => 1,
        #[cfg(feature = "exact")]
        Ok(Outcome::Code(code)) => code,
        Ok(Outcome::Interrupted) => stop::exit_code(),
        Err(failure) => {
            tell!("{failure}");
            failure.exit_code()
        }
    }
}

/// Ends the program with what clap says of a command line, or with its help.
fn not_understood(error: &clap::Error, words: &[OsString]) -> ! {
    // It repeats words as they are.
    if words.iter().all(|word| word.to_string_lossy().chars().all(is_shown)) {
        error.exit();
    }
    tell!("{}", error.render());
    std::process::exit(error.exit_code())
}

fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.command {
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
        Command::Drive(args) => drive::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Results(args) => results::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Report(args) => report::run(args),
        Command::Plot(args) => plot::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Oltp(args) => oltp::run(args),
        Command::Library(args) => library::run(args),
        Command::Completions(args) => completions::run(args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args),
        #[cfg(feature = "serve")]
        Command::ServeControl(args) => serve::control(args),
        #[cfg(feature = "exact")]
        Command::Exact(args) => exact::run(args),
        #[cfg(feature = "ui")]
        Command::Ui(args) => ui::run(args),
    }
}
