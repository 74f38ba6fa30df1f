//! A fio command line as the workload, after `--`.

use clap::Args as ClapArgs;
use lanemark_formats::fio;

use crate::failure::Failure;

#[derive(Debug, ClapArgs)]
pub(crate) struct FioCommandArgs {
    /// A fio command line instead of the workload: -- fio --rw=randread --bs=4k
    #[arg(last = true, value_name = "FIO COMMAND", conflicts_with = "workload")]
    fio_command: Vec<String>,
}

impl FioCommandArgs {
    /// Returns the command line as a workload name, or `named` if there is no command line.
    pub(crate) fn workload(&self, named: Option<&str>) -> Result<String, Failure> {
        let text = match self.fio_command.as_slice() {
            [] => return Ok(named.unwrap_or_default().to_owned()),
            [whole] => whole.clone(),
            words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        };
        if fio::is_command(&text) {
            Ok(text)
        } else {
            Err(Failure::input(format!("`{text}` is not a fio command line"))
                .hint("write -- fio --rw=randread --bs=4k, or name a workload"))
        }
    }
}

/// Quotes a word so that a shell reads it back unchanged.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./:,%+@".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
