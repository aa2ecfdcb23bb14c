//! Benchmark of a hop through the gateway, compared with nginx, and of the client library, compared
//! with reqwest.
//!
//! See `bench/README.md`.

mod agents;
mod calls;
mod event_latency;
mod libraries;
mod routes;

use std::fmt::Debug;
use std::path::PathBuf;
use std::process::ExitCode;

use latimer_bench::arguments::Arguments;
use latimer_bench::call::Library;
use latimer_bench::load::Operation;
use latimer_bench::process::Starter;
use latimer_bench::report::{Report, print_progress};
use latimer_bench::{BenchError, role};
use serde::Serialize;

use self::agents::Agent;
use self::routes::{Route, Routes};

const OPTIONS: &[&str] =
    &["rounds", "seconds", "connections", "rate", "nice", "latimer", "nginx", "folder", "results"];

fn main() -> ExitCode {
    role::main(run)
}

fn run() -> Result<(), BenchError> {
    let arguments = Arguments::parse(OPTIONS)?;
    let latimer = arguments.get("latimer").ok_or("--latimer PROGRAM is required")?;
    let bench = Bench {
        starter: Starter { nice: arguments.get_or("nice", 0)? },
        seconds: arguments.get_or("seconds", 4.0)?,
        connections: arguments.get_or("connections", 32)?,
        rate: arguments.get_or("rate", 200)?,
        temp_root: arguments.get_or("folder", std::env::temp_dir())?,
    };
    let rounds: u32 = arguments.get_or("rounds", 3)?;
    let nginx = arguments.get_or("nginx", PathBuf::from("nginx"))?;
    let routes = Routes {
        direct: Route::Direct,
        nginx: Route::Nginx(nginx.clone()),
        tuned: Route::TunedNginx(nginx),
        gateway: Route::Gateway(latimer.into()),
    };
    let mut cases = vec![(Agent::Latimer, Operation::Get)];
    cases.extend(Agent::available().into_iter().map(|agent| (agent, Operation::Send)));
    let results: PathBuf = arguments.get_or("results", PathBuf::from("bench/results"))?;
    let mut report = Report::new(&results, "hop", &arguments.without_paths());

    let (mut calls, mut latencies, mut libraries) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        for (agent, operation) in &cases {
            for route in routes.for_calls() {
                calls.push(record_row(
                    &mut report,
                    round,
                    bench.measure_calls(*agent, *operation, route)?,
                )?);
            }
        }
        for route in routes.for_events() {
            latencies.push(record_row(&mut report, round, bench.measure_event_latency(route)?)?);
        }
        for library in [Library::Reqwest, Library::Latimer] {
            libraries.push(record_row(&mut report, round, bench.measure_library(library)?)?);
        }
    }
    calls::print(&mut report, &calls, &routes, &cases);
    event_latency::print(&mut report, &latencies, &routes);
    libraries::print(&mut report, &libraries);
    report.save()
}

struct Bench {
    starter: Starter,
    seconds: f64,
    connections: usize,
    /// Events per second when event latency is measured.
    rate: u32,
    temp_root: PathBuf,
}

/// Writes a row to the report, and prints it as progress.
fn record_row<T: Debug + Serialize>(
    report: &mut Report,
    round: u32,
    row: T,
) -> Result<T, BenchError> {
    print_progress(&format!("{round} {row:?}"));
    report.write_row(&row)?;
    Ok(row)
}

/// Formats whether the cost of the gateway relative to a reference route meets its goal.
fn format_verdict(subject: &str, reference: &Route, ratio: f64, goal: f64) -> String {
    let verdict = if ratio <= goal { "goal met" } else { "**goal missed**" };
    format!(
        "\n{subject} through the gateway: {ratio:.2} times the value through {reference}; the goal is at \
         most {goal}: {verdict}."
    )
}
