//! How much memory a server needs: after many tasks, for one that goes on, and for one reader.
//!
//! See `bench/README.md`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use latimer_bench::arguments::Arguments;
use latimer_bench::hold::{self, What};
use latimer_bench::load::{self, Binding, Operation, Outcome, Span};
use latimer_bench::process::{
    LOAD_CORE, Process, SERVER_CORE, Starter, free_address, resident_bytes,
};
use latimer_bench::report::{Report, heard, heard_line, megabytes, note, thousands};
use latimer_bench::role::Role;
use latimer_bench::subject::{Kind, Setup, Store};
use latimer_bench::{Failure, role};
use serde::Serialize;

const OPTIONS: &[&str] =
    &["sends", "steps", "connections", "held", "nice", "store", "results", "folder"];

fn main() -> ExitCode {
    role::main(run)
}

fn run() -> Result<(), Failure> {
    let arguments = Arguments::read(OPTIONS)?;
    let bench = Bench {
        starter: Starter { nice: arguments.or("nice", 0)? },
        connections: arguments.or("connections", 32)?,
        folder: arguments.or("folder", std::env::temp_dir())?,
    };
    let results: PathBuf = arguments.or("results", PathBuf::from("bench/results"))?;
    let mut report = Report::new(&results, "memory", &arguments.shown());
    let (sends, steps): (u64, u64) =
        (arguments.or("sends", 1_000_000)?, arguments.or("steps", 10)?);
    let held: usize = arguments.or("held", 10_000)?;
    let database = bench.folder.join(format!("latimer-memory-{}.db", std::process::id()));
    for (name, store) in [
        ("memory", Store::Memory),
        ("SQLite process", Store::SqliteProcess(database.clone())),
        ("SQLite full", Store::SqliteFull(database.clone())),
    ] {
        if arguments.selects("store", name) {
            bench.flat(&mut report, name, store, sends, steps)?;
            for suffix in ["", "-wal", "-shm", "-lock"] {
                let path = PathBuf::from(format!("{}{suffix}", database.display()));
                // Memory has none.
                let _ = std::fs::remove_file(path);
            }
        }
    }
    if held > 0 {
        bench.held(&mut report, held)?;
    }
    report.keep()
}

struct Bench {
    starter: Starter,
    connections: usize,
    folder: PathBuf,
}

/// One step on the way to a million.
#[derive(Debug, Serialize)]
struct Step<'a> {
    store: &'a str,
    sends: u64,
    resident: u64,
    #[serde(flatten)]
    outcome: Outcome,
}

/// So many of something.
#[derive(Debug, Serialize)]
struct Held<'a> {
    what: &'a str,
    count: usize,
    before: u64,
    with: u64,
    after: u64,
}

impl Bench {
    fn start(&self, role: impl FnOnce(String) -> Role) -> Result<(Process, String), Failure> {
        let address = free_address()?;
        let mut server = self.starter.start(SERVER_CORE, &role(address.clone()))?;
        server.wait_until_listening(&address)?;
        thread::sleep(Duration::from_millis(300));
        Ok((server, address))
    }

    /// Many sends, and what is left of them.
    fn flat(
        &self,
        report: &mut Report,
        name: &str,
        store: Store,
        sends: u64,
        steps: u64,
    ) -> Result<(), Failure> {
        let setup = |address| Role::Subject(Setup { address, store, agent: Kind::Echo });
        let (server, address) = self.start(setup)?;
        report.line(&format!("\n## {} sends, {name}\n", thousands(sends as f64)));
        report.line("| sends | RSS MB | per second | p99 us | max ms | > 5 ms | > 10 ms | > 20 ms | errors |");
        report.line("|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
        report.line(&format!("| 0 | {} | | | | | | | |", megabytes(resident_bytes(server.id()))));
        for step in 1..=steps {
            let plan = load::Plan {
                address: address.clone(),
                path: "/a2a".to_owned(),
                binding: Binding::JsonRpc,
                operation: Operation::Send,
                connections: self.connections,
                span: Span::Requests(sends / steps),
                server: server.id(),
                behind: None,
            };
            let outcome: Outcome = heard(&mut self.starter.start(LOAD_CORE, &Role::Load(plan))?)?;
            thread::sleep(Duration::from_millis(300));
            let resident = resident_bytes(server.id());
            let sent = step * (sends / steps);
            let [five, ten, twenty] = outcome.over_5_10_20_ms;
            report.line(&format!(
                "| {} | {} | {} | {:.0} | {:.1} | {five} | {ten} | {twenty} | {} |",
                thousands(sent as f64),
                megabytes(resident),
                thousands(outcome.per_second),
                outcome.p99_micros,
                outcome.max_micros / 1e3,
                outcome.errors,
            ));
            report.row(&Step { store: name, sends: sent, resident, outcome })?;
        }
        Ok(())
    }

    /// Memory for each of many things that are held at once.
    fn held(&self, report: &mut Report, count: usize) -> Result<(), Failure> {
        report.line(&format!("\n## {} at once\n", thousands(count as f64)));
        report.line("| what | MB before | MB with them | bytes each | MB after |");
        report.line("|---|---:|---:|---:|---:|");
        let floor = |address| Role::Floor { address };
        let ours = |address| {
            Role::Subject(Setup { address, store: Store::MuchMemory, agent: Kind::Worker })
        };
        self.hold(report, "floor: idle connections", count, What::Connections(count), floor)?;
        self.hold(report, "idle connections", count, What::Connections(count), ours)?;
        self.hold(report, "live tasks", count, What::Tasks(count), ours)?;
        let one = What::Subscribers { count, tasks: 1 };
        self.hold(report, "idle subscribers of one task", count, one, ours)?;
        let many = What::Subscribers { count, tasks: count };
        self.hold(report, "live tasks with an idle subscriber each", count, many, ours)
    }

    fn hold(
        &self,
        report: &mut Report,
        name: &str,
        count: usize,
        what: What,
        role: impl FnOnce(String) -> Role,
    ) -> Result<(), Failure> {
        note(name);
        let (server, address) = self.start(role)?;
        let before = resident_bytes(server.id());
        let path = if name.starts_with("floor") { "/" } else { "/a2a" }.to_owned();
        let mut holder =
            self.starter.start(LOAD_CORE, &Role::Hold(hold::Plan { address, path, what }))?;
        heard_line::<bool>(&mut holder).map_err(|error| format!("{name}: {error}"))?;
        thread::sleep(Duration::from_millis(500));
        let with = resident_bytes(server.id());
        drop(holder);
        thread::sleep(Duration::from_secs(1));
        let after = resident_bytes(server.id());
        report.line(&format!(
            "| {name} | {} | {} | {} | {} |",
            megabytes(before),
            megabytes(with),
            thousands(with.saturating_sub(before) as f64 / count as f64),
            megabytes(after),
        ));
        report.row(&Held { what: name, count, before, with, after })
    }
}
