//! The command line: arguments, output and exit codes.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | it did its job |
//! | 1 | it failed |
//! | 2 | the command line, or a file it names, is wrong: trying again is in vain |
//! | 130 | it was interrupted twice |

mod arguments;
mod card;
mod completion;
mod config;
mod failure;
mod log;
mod output;
mod push;
mod serve;
mod signal;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, CardCommand, Command, ConfigCommand, DeadCommand, PushCommand};
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
        Command::Card(CardCommand::Keygen(keygen)) => card::keygen(&keygen),
        Command::Card(CardCommand::Sign(sign)) => card::sign(&sign),
        Command::Card(CardCommand::Verify(verify)) => card::verify(&verify),
        Command::Config(ConfigCommand::Check(check)) => config::check(&check),
        Command::Config(ConfigCommand::Show(show)) => config::show(&show),
        Command::Config(ConfigCommand::HashKey) => config::hash_key(),
        Command::Push(PushCommand::Dead(dead)) => match dead {
            DeadCommand::List(list) => push::list(&list),
            DeadCommand::Replay(which) => push::replay(&which),
            DeadCommand::Drop(which) => push::forget(&which),
        },
        Command::Completion { shell } => completion::print(shell),
    }
}
