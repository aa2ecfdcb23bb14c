//! Maintenance jobs of the workspace, run as `cargo xtask <job>`.

use std::{
    env,
    error::Error,
    io::{self, Write},
    process::ExitCode,
};

mod generate;

use generate::Mode;

const USAGE: &str = "\
usage: cargo xtask generate [--check]

  generate          writes crates/pb/src/generated from crates/pb/proto
  generate --check  writes nothing; fails when what is checked in differs";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let args: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["generate"] => generate::run(Mode::Write),
        ["generate", "--check"] => generate::run(Mode::Check),
        _ => Err(USAGE.into()),
    }
}
