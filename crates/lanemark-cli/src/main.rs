//! The `lanemark` program, which passes its command line to the command in this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(lanemark_cli::main_of(std::env::args_os()))
}
