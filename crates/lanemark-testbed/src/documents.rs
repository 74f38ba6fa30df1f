//! Finds commands and output lines in documents, and runs the commands in a folder without the files of the checkout.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The variable that names the root folder of an installed package; the commands then run in that root.
const INSTALLED: &str = "LANEMARK_INSTALLED";
/// Changes the root to `$1` and the working folder to `$2` under it, and runs the remaining arguments. The kernel's
/// file systems are bound in a mount namespace, which ends with the command.
const ENTER: &str = r#"
for each in proc sys dev; do mount --rbind "/$each" "$1/$each" || exit 125; done
root=$1 folder=$2
shift 2
exec chroot "$root" /usr/bin/env -i --chdir="$folder" PATH=/usr/bin HOME=/root LC_ALL=C.UTF-8 "$@"
"#;

/// The mark of omitted lines.
const OMITTED: &str = "…";

/// A command in a document, and the lines of its output that the document shows. `…` represents omitted lines.
#[derive(Debug)]
pub struct QuotedCommand {
    /// The words after `lanemark`.
    pub arguments: Vec<String>,
    /// The shown lines.
    pub lines: Vec<String>,
    /// The lines of the document that show the output, including `…` lines: the number of the first line, and of the
    /// line after the last.
    shown_at: (usize, usize),
}

/// Returns whether tests of documents rewrite the shown outputs instead of comparing them.
pub fn is_writing() -> bool {
    std::env::var("LANEMARK_DOCS").is_ok_and(|value| value == "write")
}

/// Returns the commands of a document in order: from tables, from `console` blocks with the output lines after each
/// command, and from `sh` blocks.
pub fn commands(text: &str) -> Vec<QuotedCommand> {
    let mut commands: Vec<QuotedCommand> = Vec::new();
    let mut block: Option<&str> = None;
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            block = block.is_none().then_some(language);
            continue;
        }
        match block {
            None if line.starts_with("| ") => {
                let spans = line.split('`').skip(1).step_by(2);
                let spans = spans.filter_map(|span| span.strip_prefix("lanemark "));
                commands.extend(spans.map(QuotedCommand::from_text));
            }
            Some("console") => match line.strip_prefix("$ lanemark ") {
                Some(command) => {
                    let shown_at = (number + 1, number + 1);
                    commands.push(QuotedCommand { shown_at, ..QuotedCommand::from_text(command) });
                }
                None => {
                    let command = commands.last_mut().expect("output follows a command");
                    command.shown_at.1 = number + 1;
                    command.lines.extend((line != OMITTED).then(|| line.to_owned()));
                }
            },
            Some("sh") if line.starts_with("lanemark ") => {
                let mut command = line["lanemark ".len()..].to_owned();
                while let Some(begin) = command.strip_suffix('\\') {
                    let (_, next) = lines.next().unwrap_or_default();
                    command = format!("{begin} {}", next.trim());
                }
                commands
                    .push(QuotedCommand::from_text(command.split(" #").next().unwrap_or_default()));
            }
            _ => {}
        }
    }
    commands
}

impl QuotedCommand {
    fn from_text(command: &str) -> Self {
        Self { arguments: words(command), lines: Vec::new(), shown_at: (0, 0) }
    }
}

/// An empty folder in which the commands of a document run, without the checkout and without the user's settings.
pub struct EmptyFolder {
    /// Root folder of the installed package; `None` if the program from the build runs.
    root: Option<PathBuf>,
    program: PathBuf,
    folder: TempDir,
    home: TempDir,
}

impl EmptyFolder {
    /// Creates the folder, in `scratch` or in the root of the installed package. The commands run `program`, or the
    /// installed program.
    pub fn new(program: &str, scratch: &str) -> Self {
        let root = std::env::var_os(INSTALLED).map(PathBuf::from);
        let scratch = root.as_ref().map_or_else(|| PathBuf::from(scratch), |root| root.join("tmp"));
        let [folder, home] =
            [(); 2].map(|()| tempfile::tempdir_in(&scratch).expect("the folder can be created"));
        let program = if root.is_some() { "lanemark" } else { program };
        Self { root, program: program.into(), folder, home }
    }

    /// Runs the program with these arguments.
    pub fn run(&self, arguments: &[String]) -> Output {
        let mut command = match &self.root {
            None => {
                let mut command = Command::new(&self.program);
                command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.home.path());
                command
            }
            Some(root) => {
                let mut command = Command::new("unshare");
                if !rustix::process::geteuid().is_root() {
                    command.arg("--map-root-user");
                }
                let inside = Path::new("/").join(
                    self.folder.path().strip_prefix(root).expect("the folder is in the root"),
                );
                command.args(["--mount", "sh", "-c", ENTER, "sh"]).arg(root).arg(inside);
                command.arg(&self.program);
                command
            }
        };
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.output().expect("the program starts")
    }

    /// Runs the commands of a document, and returns a line for each difference: a command that fails, or a shown line
    /// that the command does not print.
    pub fn differences(&self, commands: &[QuotedCommand]) -> Vec<String> {
        let mut wrong = Vec::new();
        for QuotedCommand { arguments, lines, .. } in commands {
            let output = self.run(arguments);
            let command = format!("lanemark {}", arguments.join(" "));
            if !output.status.success() {
                let errors = String::from_utf8_lossy(&output.stderr);
                wrong.push(format!("{command}: {}: {errors}", output.status));
            }
            let printed = String::from_utf8_lossy(&output.stdout);
            let printed: Vec<String> = printed.lines().map(squeezed).collect();
            let missing = lines.iter().filter(|line| !printed.contains(&squeezed(line)));
            wrong.extend(missing.map(|line| {
                format!("{command}: not printed: {line}; printed:\n{}", printed.join("\n"))
            }));
        }
        wrong
    }

    /// Runs the commands of the document `text`, and returns the document with their outputs in place of the shown
    /// lines. Omitted parts stay omitted: lines before the first `…` come from the start of the output, lines after the
    /// last `…` from the end, and lines between two `…` start at the output line with the same first word.
    pub fn rewritten(&self, text: &str, commands: &[QuotedCommand]) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let mut rewritten = String::new();
        let mut at = 0;
        for QuotedCommand { arguments, shown_at: (from, to), .. } in commands {
            let printed = String::from_utf8_lossy(&self.run(arguments).stdout).into_owned();
            if from == to {
                continue;
            }
            let printed: Vec<&str> = printed.trim_end().lines().collect();
            let kept = lines[at..*from].iter().copied();
            let replacement = shown_again(&lines[*from..*to], &printed);
            kept.chain(replacement).for_each(|line| rewritten += &format!("{line}\n"));
            at = *to;
        }
        lines[at..].iter().for_each(|line| rewritten += &format!("{line}\n"));
        rewritten
    }

    /// Returns the names of the files that the commands left in the folder.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder can be read");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// Returns the lines of an output that replace the shown lines `old`.
fn shown_again<'p>(old: &[&str], printed: &[&'p str]) -> Vec<&'p str> {
    let parts: Vec<&[&str]> = old.split(|line| *line == OMITTED).collect();
    if parts.len() == 1 {
        return printed.to_vec();
    }
    let mut lines = Vec::new();
    let mut at = 0;
    for (number, part) in parts.iter().enumerate() {
        let first = part.iter().find(|line| !line.trim().is_empty());
        let word = first.and_then(|line| line.split_whitespace().next());
        let same = |line: &&str| line.split_whitespace().next() == word;
        let from = match number {
            0 => Some(0),
            _ if number + 1 == parts.len() => {
                Some(printed.len().saturating_sub(part.len()).max(at))
            }
            _ => printed[at..].iter().position(same).map(|offset| at + offset),
        };
        if let Some(from) = from {
            at = (from + part.len()).min(printed.len());
            lines.extend(&printed[from.min(at)..at]);
        }
        if number + 1 < parts.len() {
            lines.push(OMITTED);
        }
    }
    lines
}

/// Splits a command line at spaces outside double quotes.
pub fn words(text: &str) -> Vec<String> {
    let mut quoted = false;
    let mut words = vec![String::new()];
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().expect("there is a first word").push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns a line with each run of spaces replaced by one space.
pub fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_rewritten_with_new_outputs_and_its_omissions() {
        let printed = ["answer", "", "head", "row 1", "row 2", "", "end 1", "end 2"];
        let again = |old: &[&str]| shown_again(old, &printed).join("|");
        assert_eq!(again(&["old", "lines"]), printed.join("|"));
        assert_eq!(again(&["old", OMITTED]), "answer|…");
        assert_eq!(again(&[OMITTED, "old 1", "old 2"]), "…|end 1|end 2");
        assert_eq!(
            again(&["old", OMITTED, "head", "row 9", OMITTED, "old"]),
            "answer|…|head|row 1|…|end 2"
        );
        let folder = EmptyFolder::new("echo", "/tmp");
        let text = "a\n```console\n$ lanemark x y\nold\n```\nb\n";
        let wanted = "a\n```console\n$ lanemark x y\nx y\n```\nb\n";
        assert_eq!(folder.rewritten(text, &commands(text)), wanted);
        assert_eq!(folder.rewritten(wanted, &commands(wanted)), wanted);
    }

    #[test]
    fn commands_of_tables_consoles_and_scripts_are_found_in_order() {
        let text = "`lanemark no`\n| a | `lanemark a \"b c\"`, `lanemark d` |\n```console\n$ lanemark e\n1  2\n…\n```\n\
                    ```sh\nmake x\nlanemark f \\\n  g  # note\n```\n```toml\nlanemark h\n```\n";
        let found = commands(text);
        let words: Vec<String> = found.iter().map(|command| command.arguments.join("|")).collect();
        assert_eq!(words, ["a|b c", "d", "e", "f|g"]);
        assert_eq!(found[2].lines, ["1  2"]);
    }
}
