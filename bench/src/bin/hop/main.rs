//! What a hop through the gateway costs, beside one through a plain reverse proxy; and what the client
//! library costs, beside an HTTP client.
//!
//! See `bench/README.md`.

mod agents;
mod ages;
mod calls;
mod libraries;
mod routes;

use std::fmt::Debug;
use std::path::PathBuf;
use std::process::ExitCode;

use latimer_bench::arguments::Arguments;
use latimer_bench::call::Library;
use latimer_bench::load::Operation;
use latimer_bench::process::Starter;
use latimer_bench::report::{Report, note};
use latimer_bench::{Failure, role};
use serde::Serialize;

use self::agents::Agent;
use self::routes::{Route, Routes};

const OPTIONS: &[&str] =
    &["rounds", "seconds", "connections", "rate", "nice", "latimer", "nginx", "folder", "results"];

fn main() -> ExitCode {
    role::main(run)
}

fn run() -> Result<(), Failure> {
    let arguments = Arguments::read(OPTIONS)?;
    let latimer = arguments.get("latimer").ok_or("--latimer must name the program")?;
    let bench = Bench {
        starter: Starter { nice: arguments.or("nice", 0)? },
        seconds: arguments.or("seconds", 4.0)?,
        connections: arguments.or("connections", 32)?,
        rate: arguments.or("rate", 200)?,
        folder: arguments.or("folder", std::env::temp_dir())?,
    };
    let rounds: u32 = arguments.or("rounds", 3)?;
    let nginx = arguments.or("nginx", PathBuf::from("nginx"))?;
    let routes = Routes {
        direct: Route::Direct,
        nginx: Route::Nginx(nginx.clone()),
        tuned: Route::TunedNginx(nginx),
        gateway: Route::Gateway(latimer.into()),
    };
    let mut asked = vec![(Agent::Ours, Operation::Get)];
    asked.extend(Agent::all().into_iter().map(|agent| (agent, Operation::Send)));
    let results: PathBuf = arguments.or("results", PathBuf::from("bench/results"))?;
    let mut report = Report::new(&results, "hop", &arguments.shown());

    let (mut calls, mut ages, mut libraries) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        for (agent, operation) in &asked {
            for route in routes.of_calls() {
                calls.push(kept(&mut report, round, bench.calls(*agent, *operation, route)?)?);
            }
        }
        for route in routes.of_events() {
            ages.push(kept(&mut report, round, bench.ages(route)?)?);
        }
        for library in [Library::Reqwest, Library::Latimer] {
            libraries.push(kept(&mut report, round, bench.library(library)?)?);
        }
    }
    calls::print(&mut report, &calls, &routes, &asked);
    ages::print(&mut report, &ages, &routes);
    libraries::print(&mut report, &libraries);
    report.keep()
}

struct Bench {
    starter: Starter,
    seconds: f64,
    connections: usize,
    /// Events in a second, where their age is measured.
    rate: u32,
    folder: PathBuf,
}

/// Keeps a row, and says that it is there.
fn kept<T: Debug + Serialize>(report: &mut Report, round: u32, row: T) -> Result<T, Failure> {
    note(&format!("{round} {row:?}"));
    report.row(&row)?;
    Ok(row)
}

/// Says whether something costs no more through the gateway than it should.
fn verdict(what: &str, beside: &Route, ratio: f64, goal: f64) -> String {
    let verdict = if ratio <= goal { "as it should be" } else { "**too much**" };
    format!(
        "\nThrough the gateway {what} costs {ratio:.2} times what it does through {beside}; at most \
         {goal} is the goal: {verdict}."
    )
}
