//! `latimer completion`.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output;

/// Prints the script for a shell.
pub(crate) fn print(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "latimer", &mut script);
    output::print(String::from_utf8_lossy(&script).trim_end());
    Ok(())
}
