//! The help of the command line: the groups of commands on the first screen. The file of a command's arguments states
//! its options with their groups, and its examples.

use clap::{Command, CommandFactory};

use crate::args::Args;

/// The commands by group, in the order in which `--help` lists them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Measure", &["bench", "inspect", "verify"]),
    ("Model", &["sim", "compare", "sweep", "study", "drive", "library", "plan"]),
    ("Emulate", &["serve", "trial"]),
    ("Databases", &["oltp"]),
    ("Show", &["report", "ui"]),
];

/// The end of the first screen.
const END: &str = "\
Example:
  lanemark sim samsung-980-pro-1tb@workstation-x570:m2 crystaldiskmark-8

Exit codes: 0 success; 1 the run failed, or a check found damage; 2 the input is
invalid; 3 the target was refused, to protect its data; 4 the figures were not
saved; 5 it is not known whether data was lost; 130 interrupted";

/// Returns the command line.
pub(crate) fn command() -> Command {
    let command = Args::command();
    let mut text = "{about}\n\n{usage-heading} {usage}\n".to_owned();
    for (group, names) in GROUPS {
        text += &format!("\n{group}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text += &format!("  {name:<9}{about}\n");
        }
    }
    text += "\nOptions:\n{options}\n\n";
    command.help_template(text + END).disable_help_subcommand(true)
}

#[cfg(test)]
mod tests {
    use lanemark_formats::fio::words as shell_words;

    use super::*;

    /// Returns all commands below `command`, each with its words after the program's name.
    fn all_commands(command: &Command, words: &str, found: &mut Vec<(String, Command)>) {
        found.push((words.to_owned(), command.clone()));
        for below in command.get_subcommands() {
            all_commands(below, format!("{words} {}", below.get_name()).trim_start(), found);
        }
    }

    #[test]
    fn every_command_has_examples_that_are_understood() {
        let mut found = Vec::new();
        all_commands(&command(), "", &mut found);
        for (words, one) in found.iter().filter(|(words, _)| !words.is_empty()) {
            let after = one.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = after.split_once("Example").map_or("", |(_, rest)| rest);
            let text = examples.replace("\\\n", "");
            let lines: Vec<&str> = text
                .lines()
                .flat_map(|line| line.split(" && "))
                .map(str::trim)
                .filter(|line| line.starts_with("lanemark "))
                .collect();
            assert!(!lines.is_empty() || words.starts_with("completions"), "{words}");
            for line in lines {
                let typed = line.split(" >").next().unwrap();
                let understood =
                    command().try_get_matches_from(shell_words(typed, "example").unwrap());
                assert!(understood.is_ok(), "{words}: {line}: {}", understood.unwrap_err());
            }
        }
    }

    #[test]
    fn the_first_screen_lists_every_command_once_within_80_columns() {
        let shown = command().render_help().to_string();
        assert!(shown.lines().count() <= 40, "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = command();
        let visible: Vec<&str> = command
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
            .map(Command::get_name)
            .collect();
        let mut sorted = listed.clone();
        sorted.sort_unstable();
        let mut expected = visible;
        expected.sort_unstable();
        assert_eq!(sorted, expected);
    }
}
