//! A command line of fio or of another program as the workload, after `--`.

use clap::Args as ClapArgs;
use lanemark_formats::command_lines;
use lanemark_schema::text::shell_word;

use crate::output::failure::Failure;

#[derive(Debug, ClapArgs)]
pub(crate) struct FioCommandArgs {
    /// A command line of fio, dd, hdparm or diskspd instead of the workload: -- fio --rw=randread --bs=4k
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
        if command_lines::is_command(&text) {
            Ok(text)
        } else {
            Err(Failure::input(format!("`{text}` is not a supported command line"))
                .hint(command_lines::SUPPORTED))
        }
    }
}
