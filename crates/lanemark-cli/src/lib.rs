//! The `lanemark` command, for the `lanemark` program and for other programs that embed it.
//!
//! Data goes to stdout; progress, warnings about the command and errors go to stderr. Exit codes: 0 for success, 1 if
//! the run failed or a check found damage, 2 for invalid input, 3 if the command refused a target to protect existing
//! data, 4 if the result could not be saved, 5 if it is not known whether a power cut lost data. A command that a
//! signal ended exits with 128 plus the signal's number: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP (completed
//! tests are saved).

mod args;
mod bench;
mod bench_trace;
mod compare;
mod completions;
mod delivery;
mod drive;
mod export;
mod failure;
mod features;
mod fit;
mod formats;
mod help;
mod host;
mod import;
mod inspect;
mod library;
#[cfg(feature = "oltp")]
mod managed;
#[cfg(feature = "serve")]
mod marked;
mod messages;
#[cfg(feature = "oltp")]
mod oltp;
#[cfg(feature = "oltp")]
mod oltp_args;
#[cfg(all(feature = "oltp", feature = "serve"))]
mod oltp_live;
mod outlets;
mod output;
mod path;
mod plan;
mod plot;
mod progress;
mod provenance;
mod replay;
mod report;
mod results;
mod samples;
mod saving;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "serve")]
mod serve_control;
#[cfg(feature = "serve")]
mod serve_start;
#[cfg(feature = "serve")]
mod served_disk;
#[cfg(feature = "serve")]
mod served_target;
mod sim;
mod stop;
mod study;
mod sweep;
mod trace_file;
#[cfg(feature = "serve")]
mod trial;
#[cfg(feature = "ui")]
mod ui;
#[cfg(not(feature = "serve"))]
mod unserved_target;
mod verify;
#[cfg(feature = "serve")]
mod warden;
mod whatif;

use std::ffi::OsString;

use clap::FromArgMatches;
use lanemark_files::private;
use lanemark_lab::reserved;
use lanemark_schema::text::is_shown;

use args::{Args, Command};
use failure::{CommandOutcome, Failure};
use messages::tell;
#[cfg(not(feature = "serve"))]
use unserved_target as served_target;

/// Runs the command in `words`, which begin with the program's name, and returns the exit code. This function catches
/// the signals of the process, and may end the process, on a signal and for some commands. Therefore a process can run
/// only one command.
pub fn main_of(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words = provenance::words_are(words);
    #[cfg(feature = "serve")]
    if warden::ran_as_one(words) {
        return 0;
    }
    if let Some(failure) = features::missing_feature_error(words) {
        tell!("{failure}");
        return failure.exit_code();
    }
    let understood = help::command().try_get_matches_from(words);
    let args = understood.and_then(|matches| Args::from_arg_matches(&matches));
    let args = args.unwrap_or_else(|error| not_understood(&error, words));
    let outcome = stop::watch().and_then(|()| run(&args));
    stop::clear_action();
    reserved::remove_reserved_files();
    private::remove_all();
    match outcome {
        Ok(CommandOutcome::Done) => saving::exit_code(),
        Ok(CommandOutcome::Damaged) => 1,
        #[cfg(feature = "serve")]
        Ok(CommandOutcome::Unknown) => 5,
        #[cfg(feature = "serve")]
        Ok(CommandOutcome::Code(code)) => code,
        Ok(CommandOutcome::Interrupted) => stop::exit_code(),
        Err(failure) => {
            tell!("{failure}");
            failure.exit_code()
        }
    }
}

/// Prints clap's error or help for a command line, and ends the program.
fn not_understood(error: &clap::Error, words: &[OsString]) -> ! {
    // Clap repeats the words without escaping them, and without hiding passwords.
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    if words.iter().all(|word| word.chars().all(is_shown) && is_public(word)) {
        error.exit();
    }
    tell!("{}", hide_passwords(&words, error.render().to_string()));
    std::process::exit(error.exit_code())
}

/// Returns whether a word contains no password of a database.
#[cfg(feature = "oltp")]
fn is_public(word: &str) -> bool {
    lanemark_oltp::secrets::without_password(word) == word
}

/// Returns true, because no command of this build reads the name of a database.
#[cfg(not(feature = "oltp"))]
fn is_public(_: &str) -> bool {
    true
}

/// Removes the passwords of `words`, and of their parts after `=`, from a message that quotes them.
#[cfg(feature = "oltp")]
fn hide_passwords(words: &[std::borrow::Cow<'_, str>], message: String) -> String {
    let parts =
        words.iter().flat_map(|word| [Some(&**word), word.split_once('=').map(|(_, value)| value)]);
    parts.flatten().filter(|part| !is_public(part)).fold(message, |message, part| {
        message.replace(part, &lanemark_oltp::secrets::without_password(part))
    })
}

/// Returns the message, because no command of this build reads the name of a database.
#[cfg(not(feature = "oltp"))]
fn hide_passwords(_: &[std::borrow::Cow<'_, str>], message: String) -> String {
    message
}

fn run(args: &Args) -> Result<CommandOutcome, Failure> {
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
        Command::Host(args) => host::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Results(args) => results::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Report(args) => report::run(args),
        Command::Plot(args) => plot::run(args),
        Command::Plan(args) => plan::run(args),
        #[cfg(feature = "oltp")]
        Command::Oltp(args) => oltp::run(args),
        Command::Library(args) => library::run(args),
        Command::Samples(args) => samples::run(args),
        Command::Completions(args) => completions::run(args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args),
        #[cfg(feature = "serve")]
        Command::ServeControl(args) => serve_control::control(args),
        #[cfg(feature = "serve")]
        Command::Trial(args) => trial::run(args),
        #[cfg(feature = "ui")]
        Command::Ui(args) => ui::run(args),
    }
}
