//! Maintenance commands of the workspace, run as `cargo xtask <command>`.

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

  generate          write crates/pb/src/generated from crates/pb/proto
  generate --check  write nothing; fail if the checked-in files differ";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A failure to write to standard error cannot be reported anywhere.
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
