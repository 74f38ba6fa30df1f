//! The commands of optional features, which a build may lack. The help of such a build omits these commands, and the
//! error message for such a command names the feature.

use std::ffi::OsString;

use crate::failure::Failure;

/// A command of an optional feature.
struct OptionalCommand {
    /// The command's words after the program's name.
    words: &'static [&'static str],
    /// The Cargo feature.
    feature: &'static str,
    /// Whether this build has the feature.
    is_built: bool,
}

const OPTIONAL: [OptionalCommand; 6] = [
    OptionalCommand { words: &["oltp"], feature: "oltp", is_built: cfg!(feature = "oltp") },
    OptionalCommand {
        words: &["oltp", "live"],
        feature: "serve",
        is_built: cfg!(feature = "serve"),
    },
    OptionalCommand { words: &["serve"], feature: "serve", is_built: cfg!(feature = "serve") },
    OptionalCommand {
        words: &["serve-control"],
        feature: "serve",
        is_built: cfg!(feature = "serve"),
    },
    OptionalCommand { words: &["trial"], feature: "serve", is_built: cfg!(feature = "serve") },
    OptionalCommand { words: &["ui"], feature: "ui", is_built: cfg!(feature = "ui") },
];

/// Returns the failure for a command line whose command is missing from this build. `words` begin with the program's
/// name.
pub(crate) fn missing_feature_error(words: &[OsString]) -> Option<Failure> {
    let typed = words.get(1..)?;
    let starts = |wanted: &[&str]| {
        wanted.len() <= typed.len() && wanted.iter().zip(typed).all(|(one, other)| other == one)
    };
    let lacked = OPTIONAL.iter().find(|optional| !optional.is_built && starts(optional.words))?;
    let OptionalCommand { words, feature, .. } = lacked;
    let message = format!("`lanemark {}` is not in this build", words.join(" "));
    Some(Failure::input(message).hint(format!("build with --features {feature}")))
}

/// Returns whether this build has the command with these words, such as `oltp run`.
#[cfg(test)]
pub(crate) fn has(words: &str) -> bool {
    let arguments = ["lanemark"].into_iter().chain(words.split(' ')).map(OsString::from);
    missing_feature_error(&arguments.collect::<Vec<_>>()).is_none()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Args;

    #[test]
    fn help_lists_a_command_exactly_if_this_build_has_it() {
        let all = Args::command();
        for OptionalCommand { words, feature, is_built } in &OPTIONAL {
            let below = |command: Option<clap::Command>, word: &&str| {
                command.and_then(|command| command.find_subcommand(word).cloned())
            };
            let found = words.iter().fold(Some(all.clone()), below).is_some();
            let words = words.join(" ");
            assert_eq!(found, has(&words), "{words}");
            if !is_built {
                let arguments = format!("lanemark {words}");
                let arguments: Vec<_> = arguments.split(' ').map(OsString::from).collect();
                let message = missing_feature_error(&arguments).unwrap().to_string();
                assert!(message.contains("--features"), "{feature}: {message}");
            }
        }
        assert!(has("sim") && has("bench --help") && has(""));
    }
}
