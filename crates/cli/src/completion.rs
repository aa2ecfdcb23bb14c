//! `latimer completion`.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::args::Cli;
use crate::error::CliError;
use crate::output;

/// Prints the completion script of a shell.
pub(crate) fn print(shell: Shell) -> Result<(), CliError> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "latimer", &mut script);
    output::print(String::from_utf8_lossy(&script).trim_end())?;
    Ok(())
}
