//! Servers beside each other under the same load, as ratios to a floor in the same run.
//!
//! See `bench/README.md`, or `--help` for the options.

mod contestants;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use latimer_bench::arguments::Arguments;
use latimer_bench::home::Home;
use latimer_bench::load::{Operation, Outcome, Plan, Span};
use latimer_bench::process::{LOAD_CORE, Process, SERVER_CORE, Starter, free_address};
use latimer_bench::report::{Report, heard, note};
use latimer_bench::role::Role;
use latimer_bench::{Failure, disk, role};
use serde::Serialize;

use self::contestants::Contestant;

const OPTIONS: &[&str] = &[
    "rounds",
    "again",
    "warm-up",
    "seconds",
    "connections",
    "nice",
    "only",
    "operations",
    "peers",
    "latimer",
    "folder",
    "results",
];

fn main() -> ExitCode {
    role::main(run)
}

fn run() -> Result<(), Failure> {
    let arguments = Arguments::read(OPTIONS)?;
    let (rounds, again): (u32, u32) = (arguments.or("rounds", 3)?, arguments.or("again", 2)?);
    let bench = Bench {
        span: Span::Seconds {
            warm_up: arguments.or("warm-up", 1.5)?,
            measured: arguments.or("seconds", 6.0)?,
        },
        connections: arguments.or("connections", 32)?,
        starter: Starter { nice: arguments.or("nice", 0)? },
        folder: arguments.or("folder", std::env::temp_dir())?,
    };
    let peers = arguments.get("peers").map(PathBuf::from);
    let latimer = arguments.get("latimer").map(PathBuf::from);
    let mut contestants = contestants::all(peers.as_deref(), latimer.as_deref());
    contestants.retain(|it| arguments.selects("only", &it.name));
    let results: PathBuf = arguments.or("results", PathBuf::from("bench/results"))?;
    let mut report = Report::new(&results, "serve", &arguments.shown());
    let disk = disk::probe(&bench.folder, Duration::from_secs(2))?;
    let mut rows = Vec::new();
    for round in 1..=rounds {
        for operation in Operation::ALL {
            if !arguments.selects("operations", operation.name()) {
                continue;
            }
            for contestant in contestants.iter().filter(|it| it.offers(operation)) {
                for _ in 0..=again {
                    let outcome = bench.measure(contestant, operation)?;
                    let disturbed = outcome.is_disturbed();
                    let row = Row::new(contestant, operation, round, outcome);
                    note(&row.to_string());
                    report.row(&row)?;
                    rows.push(row);
                    if !disturbed {
                        break;
                    }
                }
            }
        }
    }
    tables::print(&mut report, &rows, &disk, bench.connections);
    report.row(&disk)?;
    report.keep()
}

struct Bench {
    span: Span,
    connections: usize,
    starter: Starter,
    folder: PathBuf,
}

impl Bench {
    /// One server, started for this, under load.
    fn measure(&self, contestant: &Contestant, operation: Operation) -> Result<Outcome, Failure> {
        let address = free_address()?;
        let home = Home::new(&self.folder)?;
        let mut server = contestant.start(self.starter, SERVER_CORE, &address, home.path())?;
        server.wait_until_listening(&address)?;
        let plan = Plan {
            address,
            path: contestant.path.to_owned(),
            binding: contestant.binding,
            operation,
            connections: self.connections,
            span: self.span,
            server: server.id(),
            behind: None,
        };
        let mut load: Process = self.starter.start(LOAD_CORE, &Role::Load(plan))?;
        heard(&mut load).map_err(|error| format!("{}: {error}", contestant.name).into())
    }
}

/// One measurement.
#[derive(Debug, Serialize)]
struct Row {
    server: String,
    floor: &'static str,
    operation: Operation,
    round: u32,
    #[serde(flatten)]
    outcome: Outcome,
}

impl Row {
    fn new(contestant: &Contestant, operation: Operation, round: u32, outcome: Outcome) -> Self {
        Self { server: contestant.name.clone(), floor: contestant.floor, operation, round, outcome }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outcome {
            per_second, p99_micros, server_cpu_micros, load_busy, others, errors, ..
        } = self.outcome;
        let (round, name, server) = (self.round, self.operation.name(), &self.server);
        write!(
            out,
            "{round} {name:6} {server:24} {per_second:8.0}/s  p99 {p99_micros:7.0} us  \
             cpu {server_cpu_micros:6.1} us  load {load_busy:.2}  others {others:.2}"
        )?;
        match &self.outcome.first_error {
            Some(error) => write!(out, "  {errors} errors: {error}"),
            None => Ok(()),
        }
    }
}
