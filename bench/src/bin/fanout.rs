//! Benchmark of one task with many readers, a few of them slow: over sockets and within one
//! process.
//!
//! See `bench/README.md`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use latimer_bench::arguments::Arguments;
use latimer_bench::fanout::{self, InProcessPlan};
use latimer_bench::process::{
    LOAD_CORE, SERVER_CORE, Starter, cpu_seconds, free_address, resident_bytes, write_syscalls,
};
use latimer_bench::readers::{Plan, ReadersResult};
use latimer_bench::report::{
    Report, format_megabytes, format_thousands, print_progress, read_json,
};
use latimer_bench::role::Role;
use latimer_bench::server_under_test::{AgentKind, Pace, Setup, Store};
use latimer_bench::{BenchError, role};
use serde::Serialize;

const OPTIONS: &[&str] =
    &["readers", "slow", "seconds", "rate", "rate-in-process", "nice", "results"];

fn main() -> ExitCode {
    role::main(run)
}

fn run() -> Result<(), BenchError> {
    let arguments = Arguments::parse(OPTIONS)?;
    let (readers, slow) = (arguments.get_or("readers", 1_000)?, arguments.get_or("slow", 5)?);
    let seconds: u32 = arguments.get_or("seconds", 10)?;
    let starter = Starter { nice: arguments.get_or("nice", 0)? };
    let results: PathBuf = arguments.get_or("results", PathBuf::from("bench/results"))?;
    let mut report = Report::new(&results, "fanout", &arguments.without_paths());

    let rate: u32 = arguments.get_or("rate", 500)?;
    report.add_line(&format!("\n## over sockets, {rate} events per second for {seconds} s\n"));
    let ticks = rate * seconds;
    let plan = |readers, slow| Plan {
        address: String::new(),
        path: "/a2a".to_owned(),
        readers,
        slow,
        ticks,
        rate,
    };
    let without_readers = run_over_sockets(starter, plan(0, 0))?;
    let with_readers = run_over_sockets(starter, plan(readers, slow))?;
    print_comparison(&mut report, &without_readers.outcome.pace, &with_readers.outcome.pace);
    with_readers.print(&mut report, readers, slow);
    report.write_row(&without_readers)?;
    report.write_row(&with_readers)?;

    let rate: u32 = arguments.get_or("rate-in-process", 5_000)?;
    report.add_line(&format!("\n## in process, {rate} events per second for {seconds} s\n"));
    let plan = |readers, slow| InProcessPlan { readers, slow, ticks: rate * seconds, rate };
    let without_readers = fanout::run(plan(0, 0))?;
    let with_readers = fanout::run(plan(readers, slow))?;
    print_comparison(&mut report, &without_readers.pace, &with_readers.pace);
    print_result(&mut report, &with_readers, readers, slow);
    report.write_row(&without_readers)?;
    report.write_row(&with_readers)?;
    report.save()
}

/// Result of the readers over sockets, with the resource usage of the server.
#[derive(Debug, Serialize)]
struct SocketResult {
    #[serde(flatten)]
    outcome: ReadersResult,
    idle_bytes: u64,
    #[serde(rename = "most_bytes")]
    peak_bytes: u64,
    last_bytes: u64,
    writes: u64,
    cpu_seconds: f64,
}

fn run_over_sockets(starter: Starter, plan: Plan) -> Result<SocketResult, BenchError> {
    print_progress(&format!("{} readers over sockets", plan.readers));
    let address = free_address()?;
    let setup =
        Setup { address: address.clone(), store: Store::UnboundedMemory, agent: AgentKind::Worker };
    let mut server = starter.start(SERVER_CORE, &Role::ServerUnderTest(setup))?;
    server.wait_until_listening(&address)?;
    thread::sleep(Duration::from_millis(300));
    let process = server.id();
    let (idle_bytes, writes_before) = (resident_bytes(process), write_syscalls(process));
    let mut readers = starter.start(LOAD_CORE, &Role::Readers(Plan { address, ..plan }))?;
    let (stop, stopped) = channel::<()>();
    let sampler = thread::spawn(move || {
        let mut peak = 0;
        while stopped.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
            peak = resident_bytes(process).max(peak);
        }
        peak
    });
    let result = read_json(&mut readers);
    drop(stop);
    let peak_bytes = sampler.join().unwrap_or_default();
    thread::sleep(Duration::from_secs(1));
    Ok(SocketResult {
        outcome: result?,
        idle_bytes,
        peak_bytes,
        last_bytes: resident_bytes(process),
        writes: write_syscalls(process) - writes_before,
        cpu_seconds: cpu_seconds(process),
    })
}

impl SocketResult {
    fn print(&self, report: &mut Report, readers: usize, slow: usize) {
        let result = &self.outcome;
        print_result(report, result, readers, slow);
        let received = result.received_ticks.max(1) as f64;
        report.add_line(&format!(
            "Events per HTTP chunk: {:.1}. Writes of the server: {}, or {:.3} per delivered event. \
             CPU time of the server: {:.1} s, {:.2} us per delivered event.\\\n\
             Memory of the server: {} MB idle, {} MB maximum, {} MB at the end.",
            received / result.chunks.max(1) as f64,
            format_thousands(self.writes as f64),
            self.writes as f64 / received,
            self.cpu_seconds,
            self.cpu_seconds * 1e6 / received,
            format_megabytes(self.idle_bytes),
            format_megabytes(self.peak_bytes),
            format_megabytes(self.last_bytes),
        ));
    }
}

fn print_result(report: &mut Report, result: &ReadersResult, readers: usize, slow: usize) {
    let ReadersResult {
        complete, seconds, p50_micros, p99_micros, max_micros, max_lag_ticks, ..
    } = result;
    report.add_line(&format!(
        "\n{complete} of {readers} readers received every event in order, {slow} of them slow. The slow \
         readers were up to {max_lag_ticks} events behind when the writer finished. Duration: {seconds:.2} s.\\\n\
         Age of an event on arrival: p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms.\\",
        p50_micros / 1e3,
        p99_micros / 1e3,
        max_micros / 1e3,
    ));
    if let Some(problem) = &result.problem {
        report.add_line(&format!("**First problem: {problem}.**\\"));
    }
}

fn print_comparison(report: &mut Report, without_readers: &Pace, with_readers: &Pace) {
    report.add_line("| writer | total s | appending ms | max delay ms |");
    report.add_line("|---|---:|---:|---:|");
    for (name, pace) in [("alone", without_readers), ("with readers", with_readers)] {
        report.add_line(&format!(
            "| {name} | {:.3} | {:.1} | {:.1} |",
            pace.total_micros as f64 / 1e6,
            pace.append_micros as f64 / 1e3,
            pace.max_delay_micros as f64 / 1e3,
        ));
    }
    let ratio = with_readers.total_micros as f64 / without_readers.total_micros as f64;
    let verdict = if ratio <= 1.1 { "goal met" } else { "**goal missed**" };
    report
        .add_line(&format!("\nThe writer took {ratio:.3} times as long with readers; the goal is at most 1.1: {verdict}."));
}
