//! `lanemark completions`: shell completions and manual pages.

use std::path::Path;

use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use lanemark_lab::results::OutputFile;

use crate::args::help;
use crate::args::{CompletionsArgs, CompletionsCommand};
use crate::output;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::outlets::MANUAL;

pub(crate) fn run(args: &CompletionsArgs) -> Result<CommandOutcome, Failure> {
    match &args.command {
        CompletionsCommand::Bash => print(Shell::Bash)?,
        CompletionsCommand::Zsh => print(Shell::Zsh)?,
        CompletionsCommand::Fish => print(Shell::Fish)?,
        CompletionsCommand::Man { folder } => write_manual_pages(folder)?,
    }
    Ok(CommandOutcome::Done)
}

fn print(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(shell, &mut help::command(), "lanemark", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Writes a page for the program and a page for each command, after reserving all file names.
fn write_manual_pages(folder: &Path) -> Result<(), Failure> {
    let fail = |error: &dyn std::fmt::Display| {
        Failure::input(format!("{}: can't be written: {error}", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| fail(&error))?;
    let mut command = help::command();
    command.build();
    let mut all = Vec::new();
    collect_subcommands(command.disable_help_subcommand(true), "lanemark", &mut all);
    let write_page = |(name, command): (String, Command)| {
        let page = folder.join(format!("{name}.1"));
        Ok((OutputFile::open(&page, &MANUAL)?, name, command))
    };
    let pages = all.into_iter().map(write_page).collect::<Result<Vec<_>, Failure>>()?;
    for (outlet, name, command) in &pages {
        let mut page = Vec::new();
        let man = Man::new(command.clone()).title(name.clone()).section("1").source("Lanemark");
        man.render(&mut page).map_err(|error| fail(&error))?;
        outlet.write(&String::from_utf8_lossy(&page))?;
    }
    tell!("wrote {} pages to {}", pages.len(), folder.display());
    Ok(())
}

/// Collects `command` and its subcommands, each with the name of its page, such as `lanemark-oltp-run`.
fn collect_subcommands(command: Command, name: &str, all: &mut Vec<(String, Command)>) {
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        collect_subcommands(below.clone(), &format!("{name}-{}", below.get_name()), all);
    }
    all.push((name.to_owned(), command));
}
