//! The command line: arguments, output and exit codes.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | it did its job |
//! | 1 | it failed |
//! | 2 | the command line or the configuration is wrong: trying again is in vain |
//! | 130 | it was interrupted twice |

mod arguments;
mod completion;
mod config;
mod failure;
mod log;
mod output;
mod serve;
mod signal;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command, ConfigCommand};
use failure::Failure;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Ends the process by itself when there is something wrong, or only help to show.
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.to_string());
            ExitCode::from(failure.code)
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Serve(serve) => serve::serve(&serve),
        Command::DemoServer(demo) => serve::demo_server(&demo),
        Command::Config(ConfigCommand::Check(check)) => config::check(&check),
        Command::Config(ConfigCommand::Show(show)) => config::show(&show),
        Command::Config(ConfigCommand::HashKey) => config::hash_key(),
        Command::Completion { shell } => completion::print(shell),
    }
}
