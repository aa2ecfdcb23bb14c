//! One task and many readers, a few of them slow: over sockets, and in process.
//!
//! See `bench/README.md`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use latimer_bench::arguments::Arguments;
use latimer_bench::fanout::{self, InProcess};
use latimer_bench::process::{
    LOAD_CORE, SERVER_CORE, Starter, cpu_seconds, free_address, resident_bytes, writes,
};
use latimer_bench::report::{Report, heard, megabytes, note, thousands};
use latimer_bench::role::Role;
use latimer_bench::subject::{Kind, Pace, Setup, Store};
use latimer_bench::watch::{Outcome, Plan};
use latimer_bench::{Failure, role};
use serde::Serialize;

const OPTIONS: &[&str] =
    &["readers", "slow", "seconds", "rate", "rate-in-process", "nice", "results"];

fn main() -> ExitCode {
    role::main(run)
}

fn run() -> Result<(), Failure> {
    let arguments = Arguments::read(OPTIONS)?;
    let (readers, slow) = (arguments.or("readers", 1_000)?, arguments.or("slow", 5)?);
    let seconds: u32 = arguments.or("seconds", 10)?;
    let starter = Starter { nice: arguments.or("nice", 0)? };
    let results: PathBuf = arguments.or("results", PathBuf::from("bench/results"))?;
    let mut report = Report::new(&results, "fanout", &arguments.shown());

    let rate: u32 = arguments.or("rate", 500)?;
    report.line(&format!("\n## over sockets, {rate} events per second for {seconds} s\n"));
    let pieces = rate * seconds;
    let plan = |readers, slow| Plan {
        address: String::new(),
        path: "/a2a".to_owned(),
        readers,
        slow,
        pieces,
        rate,
    };
    let alone = sockets(starter, plan(0, 0))?;
    let with = sockets(starter, plan(readers, slow))?;
    compare(&mut report, &alone.outcome.pace, &with.outcome.pace);
    with.print(&mut report, readers, slow);
    report.row(&alone)?;
    report.row(&with)?;

    let rate: u32 = arguments.or("rate-in-process", 5_000)?;
    report.line(&format!("\n## in process, {rate} events per second for {seconds} s\n"));
    let plan = |readers, slow| InProcess { readers, slow, pieces: rate * seconds, rate };
    let alone = fanout::run(plan(0, 0))?;
    let with = fanout::run(plan(readers, slow))?;
    compare(&mut report, &alone.pace, &with.pace);
    read(&mut report, &with, readers, slow);
    report.row(&alone)?;
    report.row(&with)?;
    report.keep()
}

/// What came of it over sockets, and what it took.
#[derive(Debug, Serialize)]
struct Sockets {
    #[serde(flatten)]
    outcome: Outcome,
    idle_bytes: u64,
    most_bytes: u64,
    last_bytes: u64,
    writes: u64,
    cpu_seconds: f64,
}

fn sockets(starter: Starter, plan: Plan) -> Result<Sockets, Failure> {
    note(&format!("{} readers over sockets", plan.readers));
    let address = free_address()?;
    let setup = Setup { address: address.clone(), store: Store::MuchMemory, agent: Kind::Worker };
    let mut server = starter.start(SERVER_CORE, &Role::Subject(setup))?;
    server.wait_until_listening(&address)?;
    thread::sleep(Duration::from_millis(300));
    let process = server.id();
    let (idle_bytes, before) = (resident_bytes(process), writes(process));
    let mut watch = starter.start(LOAD_CORE, &Role::Watch(Plan { address, ..plan }))?;
    let (over, ended) = channel::<()>();
    let looker = thread::spawn(move || {
        let mut most = 0;
        while ended.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
            most = resident_bytes(process).max(most);
        }
        most
    });
    let outcome = heard(&mut watch);
    drop(over);
    let most_bytes = looker.join().unwrap_or_default();
    thread::sleep(Duration::from_secs(1));
    Ok(Sockets {
        outcome: outcome?,
        idle_bytes,
        most_bytes,
        last_bytes: resident_bytes(process),
        writes: writes(process) - before,
        cpu_seconds: cpu_seconds(process),
    })
}

impl Sockets {
    fn print(&self, report: &mut Report, readers: usize, slow: usize) {
        let outcome = &self.outcome;
        read(report, outcome, readers, slow);
        let pieces = outcome.pieces.max(1) as f64;
        report.line(&format!(
            "Pieces per chunk: {:.1}. Writes of the server: {}, that is {:.3} for each piece that \
             arrived somewhere. Its time: {:.1} s, {:.2} us for each.\\\n\
             Its memory: {} MB idle, {} MB at most, {} MB at the end.",
            pieces / outcome.chunks.max(1) as f64,
            thousands(self.writes as f64),
            self.writes as f64 / pieces,
            self.cpu_seconds,
            self.cpu_seconds * 1e6 / pieces,
            megabytes(self.idle_bytes),
            megabytes(self.most_bytes),
            megabytes(self.last_bytes),
        ));
    }
}

fn read(report: &mut Report, outcome: &Outcome, readers: usize, slow: usize) {
    let Outcome { complete, seconds, p50_micros, p99_micros, max_micros, behind, .. } = outcome;
    report.line(&format!(
        "\n{complete} of {readers} readers got everything in order ({slow} of them slow, which had up \
         to {behind} pieces to catch up on when the writer was done); all of it took {seconds:.2} s.\\\n\
         Age of a piece when it arrives: half within {:.1} ms, 99 % within {:.1} ms, at most {:.1} ms.\\",
        p50_micros / 1e3,
        p99_micros / 1e3,
        max_micros / 1e3,
    ));
    if let Some(problem) = &outcome.problem {
        report.line(&format!("**The first problem: {problem}.**\\"));
    }
}

fn compare(report: &mut Report, alone: &Pace, with: &Pace) {
    report.line("| writer | s in all | ms appending | latest ms |");
    report.line("|---|---:|---:|---:|");
    for (name, pace) in [("alone", alone), ("with readers", with)] {
        report.line(&format!(
            "| {name} | {:.3} | {:.1} | {:.1} |",
            pace.total_micros as f64 / 1e6,
            pace.append_micros as f64 / 1e3,
            pace.latest_micros as f64 / 1e3,
        ));
    }
    let ratio = with.total_micros as f64 / alone.total_micros as f64;
    let verdict = if ratio <= 1.1 { "at most 1.1, as it should be" } else { "**above 1.1**" };
    report.line(&format!("\nThe writer took {ratio:.3} times as long with readers: {verdict}."));
}
