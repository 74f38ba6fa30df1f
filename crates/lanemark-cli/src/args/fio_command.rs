//! A fio command line as the workload, after `--`.

use clap::Args as ClapArgs;
use lanemark_formats::fio;
use lanemark_schema::text::shell_word;

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
            words => words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
        };
        if fio::is_command(&text) {
            Ok(text)
        } else {
            Err(Failure::input(format!("`{text}` is not a fio command line"))
                .hint("write -- fio --rw=randread --bs=4k, or name a workload"))
        }
    }
}
