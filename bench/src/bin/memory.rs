//! Benchmark of the server's memory: after many tasks, per running task and per stream reader.
//!
//! See `bench/README.md`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use latimer_bench::arguments::Arguments;
use latimer_bench::hold_open::{self, Resource};
use latimer_bench::load::{self, Binding, LoadResult, Operation, Span};
use latimer_bench::process::{
    LOAD_CORE, Process, SERVER_CORE, Starter, free_address, resident_bytes,
};
use latimer_bench::report::{
    Report, format_megabytes, format_thousands, print_progress, read_json, read_json_line,
};
use latimer_bench::role::Role;
use latimer_bench::server_under_test::{AgentKind, Setup, Store};
use latimer_bench::{BenchError, role};
use serde::Serialize;

const OPTIONS: &[&str] =
    &["sends", "steps", "connections", "held", "nice", "store", "results", "folder"];

fn main() -> ExitCode {
    role::main(run)
}

fn run() -> Result<(), BenchError> {
    let arguments = Arguments::parse(OPTIONS)?;
    let bench = Bench {
        starter: Starter { nice: arguments.get_or("nice", 0)? },
        connections: arguments.get_or("connections", 32)?,
        temp_root: arguments.get_or("folder", std::env::temp_dir())?,
    };
    let results: PathBuf = arguments.get_or("results", PathBuf::from("bench/results"))?;
    let mut report = Report::new(&results, "memory", &arguments.without_paths());
    let (sends, steps): (u64, u64) =
        (arguments.get_or("sends", 1_000_000)?, arguments.get_or("steps", 10)?);
    let held: usize = arguments.get_or("held", 10_000)?;
    let database = bench.temp_root.join(format!("latimer-memory-{}.db", std::process::id()));
    for (name, store) in [
        ("memory", Store::Memory),
        ("SQLite process", Store::SqliteProcess(database.clone())),
        ("SQLite full", Store::SqliteFull(database.clone())),
    ] {
        if arguments.selects("store", name) {
            bench.measure_sends(&mut report, name, store, sends, steps)?;
            for suffix in ["", "-wal", "-shm", "-lock"] {
                let path = PathBuf::from(format!("{}{suffix}", database.display()));
                // Fails for the memory store, which has no files.
                let _ = std::fs::remove_file(path);
            }
        }
    }
    if held > 0 {
        bench.measure_resources(&mut report, held)?;
    }
    report.save()
}

struct Bench {
    starter: Starter,
    connections: usize,
    temp_root: PathBuf,
}

/// Measurement after one step of the sends.
#[derive(Debug, Serialize)]
struct Step<'a> {
    store: &'a str,
    sends: u64,
    resident: u64,
    #[serde(flatten)]
    outcome: LoadResult,
}

/// Memory of the server before, with and after a number of open resources of one kind.
#[derive(Debug, Serialize)]
struct ResourceMemory<'a> {
    #[serde(rename = "what")]
    resource: &'a str,
    count: usize,
    before: u64,
    with: u64,
    after: u64,
}

impl Bench {
    fn start(&self, role: impl FnOnce(String) -> Role) -> Result<(Process, String), BenchError> {
        let address = free_address()?;
        let mut server = self.starter.start(SERVER_CORE, &role(address.clone()))?;
        server.wait_until_listening(&address)?;
        thread::sleep(Duration::from_millis(300));
        Ok((server, address))
    }

    /// Measures memory and latency over many sends to one server.
    fn measure_sends(
        &self,
        report: &mut Report,
        name: &str,
        store: Store,
        sends: u64,
        steps: u64,
    ) -> Result<(), BenchError> {
        let setup =
            |address| Role::ServerUnderTest(Setup { address, store, agent: AgentKind::Echo });
        let (server, address) = self.start(setup)?;
        report.add_line(&format!("\n## {} sends, {name}\n", format_thousands(sends as f64)));
        report.add_line("| sends | RSS MB | per second | p99 us | max ms | > 5 ms | > 10 ms | > 20 ms | errors |");
        report.add_line("|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
        report.add_line(&format!(
            "| 0 | {} | | | | | | | |",
            format_megabytes(resident_bytes(server.id()))
        ));
        for step in 1..=steps {
            let plan = load::Plan {
                address: address.clone(),
                path: "/a2a".to_owned(),
                binding: Binding::JsonRpc,
                operation: Operation::Send,
                connections: self.connections,
                span: Span::Requests(sends / steps),
                server_process: server.id(),
                upstream_process: None,
            };
            let outcome: LoadResult =
                read_json(&mut self.starter.start(LOAD_CORE, &Role::Load(plan))?)?;
            thread::sleep(Duration::from_millis(300));
            let resident = resident_bytes(server.id());
            let sent = step * (sends / steps);
            let [five, ten, twenty] = outcome.over_5_10_20_ms;
            report.add_line(&format!(
                "| {} | {} | {} | {:.0} | {:.1} | {five} | {ten} | {twenty} | {} |",
                format_thousands(sent as f64),
                format_megabytes(resident),
                format_thousands(outcome.per_second),
                outcome.p99_micros,
                outcome.max_micros / 1e3,
                outcome.errors,
            ));
            report.write_row(&Step { store: name, sends: sent, resident, outcome })?;
        }
        Ok(())
    }

    /// Measures the memory per resource for each kind of resource.
    fn measure_resources(&self, report: &mut Report, count: usize) -> Result<(), BenchError> {
        report.add_line(&format!("\n## {} open resources\n", format_thousands(count as f64)));
        report.add_line("| resource | MB before | MB open | bytes each | MB after |");
        report.add_line("|---|---:|---:|---:|---:|");
        let baseline = |address| Role::Baseline { address };
        let latimer = |address| {
            Role::ServerUnderTest(Setup {
                address,
                store: Store::UnboundedMemory,
                agent: AgentKind::Worker,
            })
        };
        self.measure_resource(
            report,
            "baseline: idle connections",
            count,
            Resource::Connections(count),
            baseline,
        )?;
        self.measure_resource(
            report,
            "idle connections",
            count,
            Resource::Connections(count),
            latimer,
        )?;
        self.measure_resource(report, "live tasks", count, Resource::Tasks(count), latimer)?;
        let single_task = Resource::Subscribers { count, tasks: 1 };
        self.measure_resource(report, "idle subscribers of one task", count, single_task, latimer)?;
        let task_each = Resource::Subscribers { count, tasks: count };
        self.measure_resource(
            report,
            "live tasks with one idle subscriber each",
            count,
            task_each,
            latimer,
        )
    }

    fn measure_resource(
        &self,
        report: &mut Report,
        name: &str,
        count: usize,
        resource: Resource,
        role: impl FnOnce(String) -> Role,
    ) -> Result<(), BenchError> {
        print_progress(name);
        let (server, address) = self.start(role)?;
        let before = resident_bytes(server.id());
        let path = if name.starts_with("baseline") { "/" } else { "/a2a" }.to_owned();
        let mut client = self
            .starter
            .start(LOAD_CORE, &Role::HoldOpen(hold_open::Plan { address, path, resource }))?;
        read_json_line::<bool>(&mut client).map_err(|error| format!("{name}: {error}"))?;
        thread::sleep(Duration::from_millis(500));
        let with = resident_bytes(server.id());
        drop(client);
        thread::sleep(Duration::from_secs(1));
        let after = resident_bytes(server.id());
        report.add_line(&format!(
            "| {name} | {} | {} | {} | {} |",
            format_megabytes(before),
            format_megabytes(with),
            format_thousands(with.saturating_sub(before) as f64 / count as f64),
            format_megabytes(after),
        ));
        report.write_row(&ResourceMemory { resource: name, count, before, with, after })
    }
}
