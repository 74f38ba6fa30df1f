//! The `lanemark` program, which passes the words of the command line to this crate's command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(lanemark_cli::main_of(std::env::args_os()))
}
