//! Everything at once for some minutes, with faults: nothing grows, and nothing unexpected happens.
//!
//! See `bench/README.md`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use latimer_bench::Failure;
use latimer_bench::arguments::Arguments;
use latimer_bench::report::{Report, megabytes, thousands};
use latimer_bench::role;
use latimer_bench::soak::errand::Errand;
use latimer_bench::soak::growth::{ENOUGH, Growth, MEASURES, WARM_UP, settled};
use latimer_bench::soak::sample::Sample;
use latimer_bench::soak::server::MAX_TASKS;
use latimer_bench::soak::{self, Outcome, Plan, STOPS};

const OPTIONS: &[&str] =
    &["latimer", "minutes", "callers", "errands", "seed", "nice", "folder", "results"];

/// How many more files may be open at rest than before anybody called: those of idle connections to
/// receivers, and of readers of the database.
const KEPT_OPEN: u64 = 20;

fn main() -> ExitCode {
    role::main(run)
}

fn run() -> Result<(), Failure> {
    let arguments = Arguments::read(OPTIONS)?;
    let latimer = arguments.get("latimer").ok_or("--latimer PROGRAM must be given")?;
    let minutes: f64 = arguments.or("minutes", 10.0)?;
    let temporary: PathBuf = arguments.or("folder", std::env::temp_dir())?;
    let folder = temporary.join(format!("latimer-soak-{}", std::process::id()));
    let results: PathBuf = arguments.or("results", PathBuf::from("bench/results"))?;
    let mut report = Report::new(&results, "soak", &arguments.shown());
    let errands = Errand::ALL.iter().copied();
    let errands: Vec<_> = errands.filter(|it| arguments.selects("errands", it.name())).collect();
    if errands.is_empty() {
        let names: Vec<_> = Errand::ALL.iter().map(|it| it.name()).collect();
        return Err(format!("--errands: there are {}", names.join(", ")).into());
    }
    let plan = Plan {
        latimer: latimer.into(),
        folder: folder.clone(),
        time: Duration::try_from_secs_f64(minutes * 60.0)?,
        callers: arguments.or("callers", 16)?,
        errands,
        nice: arguments.or("nice", 0)?,
        seed: arguments.or("seed", 1)?,
    };
    std::fs::create_dir(&folder)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(soak::run(&plan, &mut |sample| report.row(sample)));
    std::fs::remove_dir_all(&folder)?;
    let outcome = outcome?;
    let mut problems = 0;
    tell_errands(&mut report, &outcome, plan.time);
    problems += tell_growth(&mut report, &outcome.samples);
    problems += tell_rest(&mut report, &outcome);
    problems += tell_faults(&mut report, &outcome);
    report.line(&match problems {
        0 => "\n**Passed.**".to_owned(),
        _ => format!("\n**Failed**, for {problems} reasons."),
    });
    report.keep()?;
    if problems > 0 { Err("the soak failed".into()) } else { Ok(()) }
}

/// What callers did.
fn tell_errands(report: &mut Report, outcome: &Outcome, time: Duration) {
    let all: u64 = outcome.tallies.iter().map(|(_, it)| it.done).sum();
    let rate = all as f64 / time.as_secs_f64();
    report.line(&format!("\n## {} errands, {rate:.0} in a second\n", thousands(all as f64)));
    report.line("| errand | done | cut short by a stop | failed |");
    report.line("|---|---:|---:|---:|");
    for (name, tally) in &outcome.tallies {
        let done = thousands(tally.done as f64);
        report.line(&format!("| {name} | {done} | {} | {} |", tally.cut_short, tally.failed));
    }
    let stops = STOPS.map(|(share, stop)| format!("{stop:?} at {:.0} %", share * 100.0));
    report.line(&format!("\nThe server was stopped: {}.\\", stops.join(", ")));
    let it = &outcome.webhooks;
    report.line(&format!(
        "{} webhooks were owed {} events: {} of them were given up, all others arrived. The receiver \
         did not take {} deliveries, and took {} more than once.",
        thousands(it.webhooks as f64),
        thousands(it.events as f64),
        thousands(it.given_up as f64),
        thousands(it.refused as f64),
        thousands(it.repeated as f64),
    ));
}

/// What the server took in each life; returns how much of that is too much.
fn tell_growth(report: &mut Report, samples: &[Sample]) -> usize {
    let mut problems = 0;
    let lives = samples.iter().map(|it| it.life).max().unwrap_or_default();
    for life in 1..=lives {
        let Some(counted) = settled(samples, life) else {
            report.line(&format!(
                "\n## Life {life}: too short to be judged\n\nThat takes {ENOUGH} samples behind the \
                 first {WARM_UP:?}."
            ));
            continue;
        };
        let (first, last) = (counted[0].seconds, counted[counted.len() - 1].seconds);
        report.line(&format!("\n## Life {life}: {first:.0} s to {last:.0} s\n"));
        report.line("| what | first third | last third | most | trend | may grow by | |");
        report.line("|---|---:|---:|---:|---:|---:|---|");
        for measure in &MEASURES {
            let Some(growth) = Growth::of(&counted, measure.value) else { continue };
            let exceeds = growth.exceeds(measure);
            problems += usize::from(exceeds);
            let Growth { first, last, trend, most } = growth;
            report.line(&format!(
                "| {} | {first:.1} | {last:.1} | {most:.1} | {trend:+.1} | {:.1} | {} |",
                measure.name,
                (first * measure.share).max(measure.count),
                if exceeds { "**grows**" } else { "" },
            ));
        }
    }
    let most = samples.iter().map(|it| it.tasks).max().unwrap_or_default();
    if most > MAX_TASKS {
        problems += 1;
        report.line(&format!("\n**There were {most} tasks, of {MAX_TASKS} that there may be.**"));
    }
    problems
}

/// What is left when nobody calls any more; returns how much of that is too much.
fn tell_rest(report: &mut Report, outcome: &Outcome) -> usize {
    let Outcome { fresh, rest, .. } = outcome;
    report.line("\n## At rest\n");
    report.line("| | before anybody called | when nobody called any more |");
    report.line("|---|---:|---:|");
    let mut row = |name, before: String, after: String| {
        report.line(&format!("| {name} | {before} | {after} |"));
    };
    row("resident memory, MB", megabytes(fresh.resident), megabytes(rest.resident));
    row("file descriptors", fresh.descriptors.to_string(), rest.descriptors.to_string());
    row("connections", fresh.connections.to_string(), rest.connections.to_string());
    row("live tasks", fresh.live_tasks.to_string(), rest.live_tasks.to_string());
    row("turns", fresh.turns.to_string(), rest.turns.to_string());
    row("streams", fresh.streams.to_string(), rest.streams.to_string());
    row("webhooks with something to do", fresh.webhooks.to_string(), rest.webhooks.to_string());
    row("programs", fresh.children.to_string(), rest.children.to_string());
    let too_many = rest.descriptors > fresh.descriptors + KEPT_OPEN;
    if too_many {
        report.line(&format!("\n**More than {KEPT_OPEN} more files are open.**"));
    }
    usize::from(too_many)
}

/// What should not have happened; returns how often it did.
fn tell_faults(report: &mut Report, outcome: &Outcome) -> usize {
    report.line("\n## Unexpected\n");
    for fault in &outcome.faults {
        let what: String = fault.what.chars().take(400).collect();
        report.line(&format!("* {}: `{what}`", fault.place));
    }
    let hidden = outcome.fault_count - outcome.faults.len() as u64;
    if hidden > 0 {
        report.line(&format!("* and {hidden} more"));
    }
    let it = &outcome.webhooks;
    let mut problems = outcome.fault_count;
    for (count, what) in [(it.out_of_order, "out of order"), (it.excessive, "with too much")] {
        if count > 0 {
            report.line(&format!("* webhooks {what}: {count}"));
            problems += count;
        }
    }
    if problems == 0 {
        report.line("Nothing.");
    }
    usize::try_from(problems).unwrap_or(usize::MAX)
}
