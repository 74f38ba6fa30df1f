//! The `lanemark` command, for the `lanemark` program and for other programs that embed it.
//!
//! Data goes to stdout; progress, warnings about the command and errors go to stderr. Exit codes: 0 for success, 1 if
//! the run failed or a check found damage, 2 for invalid input, 3 if the command refused a target to protect existing
//! data, 4 if the result could not be saved, 5 if it is not known whether a power cut lost data. A command that a
//! signal ended exits with 128 plus the signal's number: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP (completed
//! tests are saved).

mod args;
mod emulate;
mod measure;
mod model;
mod output;
mod show;

use std::ffi::OsString;

use clap::FromArgMatches;
use lanemark_files::private;
use lanemark_lab::reserved;
use lanemark_schema::text::is_shown;

use args::{Args, Command, help};
use emulate::{serve, trial};
use measure::{bench, inspect, oltp, verify};
use model::{compare, drive, library, plan, sim, study, sweep};
use output::failure::{CommandOutcome, Failure};
use output::messages::tell;
use output::{provenance, saving, stop};
use show::{completions, report, ui};

/// Runs the command in `words`, which begin with the program's name, and returns the exit code. This function catches
/// the signals of the process, and may end the process, on a signal and for some commands. Therefore a process can run
/// only one command.
pub fn main_of(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words = provenance::words_are(words);
    if lanemark_trial::warden::ran_as_warden(words) {
        return 0;
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
        Ok(CommandOutcome::Unknown) => 5,
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
fn is_public(word: &str) -> bool {
    lanemark_oltp::secrets::without_password(word) == word
}

/// Removes the passwords of `words`, and of their parts after `=`, from a message that quotes them.
fn hide_passwords(words: &[std::borrow::Cow<'_, str>], message: String) -> String {
    let parts =
        words.iter().flat_map(|word| [Some(&**word), word.split_once('=').map(|(_, value)| value)]);
    parts.flatten().filter(|part| !is_public(part)).fold(message, |message, part| {
        message.replace(part, &lanemark_oltp::secrets::without_password(part))
    })
}

fn run(args: &Args) -> Result<CommandOutcome, Failure> {
    match &args.command {
        Command::Bench(args) => bench::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Sim(args) => sim::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Sweep(args) => sweep::run(args),
        Command::Study(args) => study::run(args),
        Command::Drive(args) => drive::run(args),
        Command::Library(args) => library::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Trial(args) => trial::run(args),
        Command::Oltp(args) => oltp::run(args),
        Command::Report(args) => report::run(args),
        Command::Ui(args) => ui::run(args),
        Command::Completions(args) => completions::run(args),
    }
}
