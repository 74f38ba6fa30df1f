//! Reads fio's command line, such as `fio --name=a --rw=randread --bs=4k`, as a job file.
//!
//! Options before the first `--name` are global, and each `--name` begins a job. Options of the fio program that do not
//! change the requests, such as `--output`, are ignored. As in fio, a name has one or two dashes, and its value follows
//! after `=` or is the next word. A command line without `--name`, which fio rejects, is one job.

use super::option;
use crate::error::{FormatError, FormatErrors, OptionNote, SupportLevel, shown};

/// Maximum number of words on a command line.
const WORDS_MAX: usize = 10_000;

/// Job options that do not have a value.
const FLAGS: [&str; 9] = [
    "time_based",
    "stonewall",
    "wait_for_previous",
    "group_reporting",
    "thread",
    "new_group",
    "exitall",
    "exitall_on_error",
    "norandommap",
];

/// Options of the fio program that do not change the requests, each with whether it has a value.
const NEEDLESS: [(&str, bool); 16] = [
    ("output", true),
    ("output-format", true),
    ("terse-version", true),
    ("eta", true),
    ("eta-interval", true),
    ("eta-newline", true),
    ("status-interval", true),
    ("max-jobs", true),
    ("alloc-size", true),
    ("idle-prof", true),
    ("aux-path", true),
    ("minimal", false),
    ("append-terse", false),
    ("readonly", false),
    ("bandwidth-log", false),
    ("warnings-fatal", false),
];

/// A command line as a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioCommandLine {
    /// The text of the job file. The number of a line is the number of the word from which the line was made.
    pub text: String,
    /// Notes on options of the fio program that do not have an effect here.
    pub notes: Vec<OptionNote>,
}

/// Reads the words of a command line. `file` is its name in errors; the line number in an error is the number of a
/// word.
///
/// # Errors
/// Returns an error for each word that is not an option of fio or the value of an option.
pub fn command(words: &[String], file: &str) -> Result<FioCommandLine, FormatErrors> {
    let mut faults = Vec::new();
    let mut notes = Vec::new();
    let begin = words.iter().position(|word| word != "sudo").unwrap_or(0);
    if words.len() > WORDS_MAX {
        let message = format!("{} words; the maximum is {WORDS_MAX}", words.len());
        return Err(FormatError::file(file, message).into());
    }
    let has_name = |word: &String| {
        let option = word.trim_start_matches('-');
        word.starts_with('-') && (option == "name" || option.starts_with("name="))
    };
    let mut lines = vec![String::new(); words.len().max(begin + 1)];
    lines[begin] = if words.iter().any(has_name) { "[global]" } else { "[fio]" }.to_owned();
    let mut at = begin + 1;
    while at < words.len() {
        let line = at;
        let word = &words[at];
        at += 1;
        let wrong = |message: String| FormatError::at(file, line as u64 + 1, message);
        let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            faults.push(wrong(format!("`{}` is not an option", shown(word))).hint(
                "a job file is a complete workload; use its name instead of the command line",
            ));
            continue;
        };
        let (name, mut value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let needless = NEEDLESS.iter().find(|(known, _)| *known == name);
        let takes = needless.map_or(!FLAGS.contains(&name), |(_, takes)| *takes);
        if value.is_none() && takes && words.get(at).is_some_and(|next| !next.starts_with('-')) {
            value = Some(words[at].clone());
            at += 1;
        }
        if needless.is_some() {
            notes.push(OptionNote {
                file: file.to_owned(),
                line: line as u64 + 1,
                option: name.to_owned(),
                kept: SupportLevel::Needless,
                reason: "it does not change the requests".to_owned(),
            });
            continue;
        }
        let unusable = |text: &str| text.contains(['\n', '\r', ';', '#']);
        if value.as_deref().is_some_and(unusable) {
            faults.push(wrong(format!("`{}` contains a comment character", shown(word))));
            continue;
        }
        lines[line] = match (name, value) {
            ("name", Some(name)) if !name.is_empty() && !name.contains([']', '[']) => {
                format!("[{name}]")
            }
            ("name", _) => {
                faults.push(wrong(format!("`{}`: a job needs a name", shown(word))));
                continue;
            }
            _ if option::find(name).is_none() => {
                let error = wrong(format!("`--{}` is not a known option", shown(name)));
                faults.push(match option::nearest(name) {
                    Some(near) => error.hint(format!("did you mean --{near}?")),
                    None => error.hint("`fio --showcmd` does the reverse"),
                });
                continue;
            }
            (name, Some(value)) => format!("{name}={value}"),
            (name, None) => name.to_owned(),
        };
    }
    if !faults.is_empty() {
        return Err(FormatErrors(faults));
    }
    Ok(FioCommandLine { text: lines.join("\n"), notes })
}

/// Returns the words of a command line as a shell separates them. Quotes, backslashes and continued lines are resolved,
/// but variables and substitutions are not.
///
/// # Errors
/// Returns an error if a quote is not closed.
pub fn words(text: &str, file: &str) -> Result<Vec<String>, FormatError> {
    // A continued line would otherwise begin with an empty word.
    let all = shlex::split(&text.replace("\r\n", "\n").replace("\\\n", ""))
        .ok_or_else(|| FormatError::file(file, "a quote is not closed"))?;
    if all.len() > WORDS_MAX {
        return Err(FormatError::file(file, format!("more than {WORDS_MAX} words")));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str) -> String {
        command(&words(line, "fio").unwrap(), "fio").unwrap().text
    }

    #[test]
    fn options_before_the_first_name_are_global() {
        let all =
            text("fio --bs=4k --direct 1 --name=a --rw=randread --time_based --name b -rw=read");
        let lines: Vec<&str> = all.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(
            lines,
            ["[global]", "bs=4k", "direct=1", "[a]", "rw=randread", "time_based", "[b]", "rw=read"]
        );
        assert_eq!(text("sudo /usr/bin/fio --rw=read"), "\n[fio]\nrw=read");
    }

    #[test]
    fn quotes_and_continued_lines_are_resolved() {
        let all = words("fio --name='a b' \\\n --filename=\"/dev/x\" c\\ d ''", "fio").unwrap();
        assert_eq!(all, ["fio", "--name=a b", "--filename=/dev/x", "c d", ""]);
        assert!(words("fio 'a", "fio").is_err());
    }

    #[test]
    fn a_word_that_is_no_option_is_an_error_at_its_number() {
        let error =
            |line: &str| command(&words(line, "fio").unwrap(), "fio").unwrap_err().to_string();
        assert!(error("fio --name=a job.fio").starts_with("fio:3: `job.fio`"));
        assert!(error("fio --rx=read").starts_with("fio:2: `--rx`"));
        assert!(error("fio --client=host --rw=read").contains("--client"));
        assert!(error("fio --name=a;b --rw=read").contains("comment character"));
        assert!(error("fio --name --rw=read").contains("needs a name"));
        let own = command(&words("fio --output=x.txt --minimal --rw=read", "f").unwrap(), "f");
        assert_eq!(own.unwrap().notes.len(), 2);
    }
}
