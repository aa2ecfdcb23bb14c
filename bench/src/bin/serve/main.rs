//! Benchmark of servers under the same load, as ratios to a baseline measured in the same run.
//!
//! See `bench/README.md`.

mod servers;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use latimer_bench::arguments::Arguments;
use latimer_bench::load::{LoadResult, Operation, Plan, Span};
use latimer_bench::process::{LOAD_CORE, Process, SERVER_CORE, Starter, free_address};
use latimer_bench::report::{Report, print_progress, read_json};
use latimer_bench::role::Role;
use latimer_bench::temp_dir::TempDir;
use latimer_bench::{BenchError, disk, role};
use serde::Serialize;

use self::servers::ServerSpec;

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

fn run() -> Result<(), BenchError> {
    let arguments = Arguments::parse(OPTIONS)?;
    let (rounds, retries): (u32, u32) =
        (arguments.get_or("rounds", 3)?, arguments.get_or("again", 2)?);
    let bench = Bench {
        span: Span::Seconds {
            warm_up: arguments.get_or("warm-up", 1.5)?,
            measured: arguments.get_or("seconds", 6.0)?,
        },
        connections: arguments.get_or("connections", 32)?,
        starter: Starter { nice: arguments.get_or("nice", 0)? },
        temp_root: arguments.get_or("folder", std::env::temp_dir())?,
    };
    let peers = arguments.get("peers").map(PathBuf::from);
    let latimer = arguments.get("latimer").map(PathBuf::from);
    let mut servers = servers::all_servers(peers.as_deref(), latimer.as_deref());
    servers.retain(|it| arguments.selects("only", &it.name));
    let results: PathBuf = arguments.get_or("results", PathBuf::from("bench/results"))?;
    let mut report = Report::new(&results, "serve", &arguments.without_paths());
    let disk = disk::probe(&bench.temp_root, Duration::from_secs(2))?;
    let mut rows = Vec::new();
    for round in 1..=rounds {
        for operation in Operation::ALL {
            if !arguments.selects("operations", operation.name()) {
                continue;
            }
            for spec in servers.iter().filter(|it| it.supports(operation)) {
                for _ in 0..=retries {
                    let result = bench.measure(spec, operation)?;
                    let disturbed = result.is_disturbed();
                    let row = Row::new(spec, operation, round, result);
                    print_progress(&row.to_string());
                    report.write_row(&row)?;
                    rows.push(row);
                    if !disturbed {
                        break;
                    }
                }
            }
        }
    }
    tables::print(&mut report, &rows, &disk, bench.connections);
    report.write_row(&disk)?;
    report.save()
}

struct Bench {
    span: Span,
    connections: usize,
    starter: Starter,
    temp_root: PathBuf,
}

impl Bench {
    /// Starts a server with an empty store, and measures it under load.
    fn measure(&self, spec: &ServerSpec, operation: Operation) -> Result<LoadResult, BenchError> {
        let address = free_address()?;
        let temp_dir = TempDir::new(&self.temp_root)?;
        let mut server = spec.start(self.starter, SERVER_CORE, &address, temp_dir.path())?;
        server.wait_until_listening(&address)?;
        let plan = Plan {
            address,
            path: spec.path.to_owned(),
            binding: spec.binding,
            operation,
            connections: self.connections,
            span: self.span,
            server_process: server.id(),
            upstream_process: None,
        };
        let mut load: Process = self.starter.start(LOAD_CORE, &Role::Load(plan))?;
        read_json(&mut load).map_err(|error| format!("{}: {error}", spec.name).into())
    }
}

/// Result of one run of a server.
#[derive(Debug, Serialize)]
struct Row {
    server: String,
    /// Name of the baseline that the server is compared with.
    #[serde(rename = "floor")]
    baseline: &'static str,
    operation: Operation,
    round: u32,
    #[serde(flatten)]
    outcome: LoadResult,
}

impl Row {
    fn new(spec: &ServerSpec, operation: Operation, round: u32, outcome: LoadResult) -> Self {
        Self { server: spec.name.clone(), baseline: spec.baseline, operation, round, outcome }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let LoadResult {
            per_second,
            p99_micros,
            server_cpu_micros,
            load_busy,
            other_cpu_share,
            errors,
            ..
        } = self.outcome;
        let (round, name, server) = (self.round, self.operation.name(), &self.server);
        write!(
            out,
            "{round} {name:6} {server:24} {per_second:8.0}/s  p99 {p99_micros:7.0} us  \
             cpu {server_cpu_micros:6.1} us  load {load_busy:.2}  others {other_cpu_share:.2}"
        )?;
        match &self.outcome.first_error {
            Some(error) => write!(out, "  {errors} errors: {error}"),
            None => Ok(()),
        }
    }
}
