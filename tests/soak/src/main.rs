//! Runs the soak test, prints its report, and exits with 0 if all checks passed.
//!
//! See `tests/soak/README.md` for the options and the checks.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use latimer_bench::BenchError;
use latimer_bench::arguments::Arguments;
use latimer_bench::report::{Report, format_megabytes, format_thousands};
use latimer_soak::growth::{Growth, MEASURES, MIN_SAMPLES, WARM_UP, steady_samples};
use latimer_soak::sample::Sample;
use latimer_soak::scenario::Scenario;
use latimer_soak::server::MAX_TASKS;
use latimer_soak::{Plan, STOPS, SoakResult};

const OPTIONS: &[&str] =
    &["latimer", "minutes", "callers", "scenarios", "seed", "nice", "folder", "results"];

/// Former names of options.
const ALIASES: &[(&str, &str)] = &[("errands", "scenarios")];

/// Maximum number of additional open files when idle, compared with the start of the process: idle
/// connections to webhook receivers, and database connections of readers.
const MAX_EXTRA_DESCRIPTORS: u64 = 20;

#[expect(clippy::print_stderr, reason = "the program reports why it failed")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), BenchError> {
    let arguments = Arguments::parse_with_aliases(OPTIONS, ALIASES)?;
    let latimer = arguments.get("latimer").ok_or("--latimer PROGRAM is required")?;
    let minutes: f64 = arguments.get_or("minutes", 10.0)?;
    let temp_root: PathBuf = arguments.get_or("folder", std::env::temp_dir())?;
    let dir = temp_root.join(format!("latimer-soak-{}", std::process::id()));
    let results: PathBuf = arguments.get_or("results", PathBuf::from("bench/results"))?;
    let command = "cargo run --release -p latimer-soak";
    let mut report = Report::for_command(&results, "soak", command, &arguments.without_paths());
    let scenarios = Scenario::ALL.iter().copied();
    let scenarios: Vec<_> =
        scenarios.filter(|it| arguments.selects("scenarios", it.name())).collect();
    if scenarios.is_empty() {
        let names: Vec<_> = Scenario::ALL.iter().map(|it| it.name()).collect();
        return Err(format!(
            "--scenarios matches no scenario; the scenarios are {}",
            names.join(", ")
        )
        .into());
    }
    let plan = Plan {
        program: latimer.into(),
        dir: dir.clone(),
        duration: Duration::try_from_secs_f64(minutes * 60.0)?,
        callers: arguments.get_or("callers", 16)?,
        scenarios,
        nice: arguments.get_or("nice", 0)?,
        seed: arguments.get_or("seed", 1)?,
    };
    std::fs::create_dir(&dir)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(latimer_soak::run(&plan, &mut |sample| report.write_row(sample)));
    std::fs::remove_dir_all(&dir)?;
    let result = result?;
    let mut problems = 0;
    print_scenarios(&mut report, &result, plan.duration);
    problems += print_growth(&mut report, &result.samples);
    problems += print_idle(&mut report, &result);
    problems += print_violations(&mut report, &result);
    report.add_line(&match problems {
        0 => "\n**Passed.**".to_owned(),
        _ => format!("\n**Failed**, {problems} problems."),
    });
    report.save()?;
    if problems > 0 { Err("the soak test failed".into()) } else { Ok(()) }
}

/// Prints the results of the scenarios and the counts of webhook deliveries.
fn print_scenarios(report: &mut Report, result: &SoakResult, duration: Duration) {
    let total: u64 = result.tallies.iter().map(|(_, it)| it.done).sum();
    let rate = total as f64 / duration.as_secs_f64();
    report.add_line(&format!(
        "\n## {} scenarios, {rate:.0} per second\n",
        format_thousands(total as f64)
    ));
    report.add_line("| scenario | done | interrupted by a stop | failed |");
    report.add_line("|---|---:|---:|---:|");
    for (name, tally) in &result.tallies {
        let done = format_thousands(tally.done as f64);
        report.add_line(&format!("| {name} | {done} | {} | {} |", tally.interrupted, tally.failed));
    }
    let stops = STOPS.map(|(share, stop)| format!("{stop:?} at {:.0} %", share * 100.0));
    report.add_line(&format!("\nServer stops: {}.\\", stops.join(", ")));
    let it = &result.webhooks;
    report.add_line(&format!(
        "{} webhooks with {} events, of which {} remained dead letters; all others were delivered. The \
         receiver failed {} attempts, and accepted {} deliveries more than once.",
        format_thousands(it.webhooks as f64),
        format_thousands(it.events as f64),
        format_thousands(it.dead_letters as f64),
        format_thousands(it.injected_failures as f64),
        format_thousands(it.repeated as f64),
    ));
}

/// Prints the resource usage of each server process. Returns the number of measures above their
/// limit.
fn print_growth(report: &mut Report, samples: &[Sample]) -> usize {
    let mut problems = 0;
    let generations = samples.iter().map(|it| it.generation).max().unwrap_or_default();
    for generation in 1..=generations {
        let Some(steady) = steady_samples(samples, generation) else {
            report.add_line(&format!(
                "\n## Process {generation}: too short to be judged\n\nRequires {MIN_SAMPLES} samples after the \
                 first {WARM_UP:?}."
            ));
            continue;
        };
        let (first, last) = (steady[0].seconds, steady[steady.len() - 1].seconds);
        report.add_line(&format!("\n## Process {generation}: {first:.0} s to {last:.0} s\n"));
        report.add_line("| measure | first third | last third | max | trend | limit | |");
        report.add_line("|---|---:|---:|---:|---:|---:|---|");
        for measure in &MEASURES {
            let Some(growth) = Growth::from_samples(&steady, measure.value) else { continue };
            let exceeds = growth.exceeds(measure);
            problems += usize::from(exceeds);
            let Growth { first, last, trend, max } = growth;
            report.add_line(&format!(
                "| {} | {first:.1} | {last:.1} | {max:.1} | {trend:+.1} | {:.1} | {} |",
                measure.name,
                (first * measure.max_share).max(measure.max_increase),
                if exceeds { "**grows**" } else { "" },
            ));
        }
    }
    let peak_tasks = samples.iter().map(|it| it.tasks).max().unwrap_or_default();
    if peak_tasks > MAX_TASKS {
        problems += 1;
        report
            .add_line(&format!("\n**{peak_tasks} tasks were stored; the limit is {MAX_TASKS}.**"));
    }
    problems
}

/// Prints the resource usage after the last call beside that before the first. Returns the number
/// of problems.
fn print_idle(report: &mut Report, result: &SoakResult) -> usize {
    let SoakResult { initial, idle, .. } = result;
    report.add_line("\n## Idle\n");
    report.add_line("| | before the first call | after the last call |");
    report.add_line("|---|---:|---:|");
    let mut row = |name, before: String, after: String| {
        report.add_line(&format!("| {name} | {before} | {after} |"));
    };
    row("resident memory, MB", format_megabytes(initial.resident), format_megabytes(idle.resident));
    row("file descriptors", initial.descriptors.to_string(), idle.descriptors.to_string());
    row("connections", initial.connections.to_string(), idle.connections.to_string());
    row("live tasks", initial.live_tasks.to_string(), idle.live_tasks.to_string());
    row("turns", initial.turns.to_string(), idle.turns.to_string());
    row("streams", initial.streams.to_string(), idle.streams.to_string());
    row(
        "webhooks with pending deliveries",
        initial.webhooks.to_string(),
        idle.webhooks.to_string(),
    );
    row("child processes", initial.children.to_string(), idle.children.to_string());
    let too_many = idle.descriptors > initial.descriptors + MAX_EXTRA_DESCRIPTORS;
    if too_many {
        report.add_line(&format!(
            "\n**More than {MAX_EXTRA_DESCRIPTORS} additional files are open.**"
        ));
    }
    usize::from(too_many)
}

/// Prints the violations. Returns their number.
fn print_violations(report: &mut Report, result: &SoakResult) -> usize {
    report.add_line("\n## Violations\n");
    for violation in &result.violations {
        let message: String = violation.message.chars().take(400).collect();
        report.add_line(&format!("* {}: `{message}`", violation.source));
    }
    let unlisted = result.violation_count - result.violations.len() as u64;
    if unlisted > 0 {
        report.add_line(&format!("* and {unlisted} more"));
    }
    let it = &result.webhooks;
    let mut problems = result.violation_count;
    for (count, label) in [
        (it.out_of_order, "chunks delivered out of order"),
        (it.excessive, "webhooks with too many deliveries"),
    ] {
        if count > 0 {
            report.add_line(&format!("* {label}: {count}"));
            problems += count;
        }
    }
    if problems == 0 {
        report.add_line("None.");
    }
    usize::try_from(problems).unwrap_or(usize::MAX)
}
