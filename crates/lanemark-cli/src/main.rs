//! The `lanemark` program, which runs the command of this crate with the words of the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(lanemark_cli::main_of(std::env::args_os()))
}
