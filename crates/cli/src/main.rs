//! The command line: arguments, output and exit codes.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | success, also if the reader of standard output closes the pipe |
//! | 1 | failure |
//! | 2 | invalid command line or configuration: a retry cannot succeed |
//! | 130, 143 | a second signal, SIGINT or SIGTERM, stopped the server at once |

mod args;
mod card;
mod completion;
mod config;
mod error;
mod log;
mod output;
mod push;
mod serve;
mod signal;

use std::process::ExitCode;

use clap::Parser;

use args::{CardCommand, Cli, Command, ConfigCommand, DeadLetterCommand, PushCommand};
use error::CliError;
use output::StdoutError;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => run(cli),
        Err(message) if message.use_stderr() => message.exit(),
        // The text of `--help` or `--version`.
        Err(text) => text.print().map_err(|error| StdoutError::new(error).into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if error.is_printed() {
                output::error(&error);
            }
            ExitCode::from(error.exit_code)
        }
    }
}

fn run(cli: Cli) -> Result<(), CliError> {
    match cli.command {
        Command::Serve(serve) => serve::serve(&serve),
        Command::DemoServer(demo) => serve::demo_server(&demo),
        Command::Card(CardCommand::Keygen(keygen)) => card::keygen(&keygen),
        Command::Card(CardCommand::Sign(sign)) => card::sign(&sign),
        Command::Card(CardCommand::Verify(verify)) => card::verify(&verify),
        Command::Config(ConfigCommand::Check(check)) => config::check(&check),
        Command::Config(ConfigCommand::Show(show)) => config::show(&show),
        Command::Config(ConfigCommand::HashKey) => config::hash_key(),
        Command::Push(PushCommand::Dead(dead)) => match dead {
            DeadLetterCommand::List(list) => push::list(&list),
            DeadLetterCommand::Replay(selection) => push::replay(&selection),
            DeadLetterCommand::Drop(selection) => push::delete(&selection),
        },
        Command::Completion { shell } => completion::print(shell),
    }
}
