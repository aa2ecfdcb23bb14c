//! What was found, as tables.

use latimer_bench::disk::Disk;
use latimer_bench::load::{Operation, Outcome};
use latimer_bench::report::{Report, median, thousands};

use super::Row;
use super::contestants::FLOOR;

/// What ours is to reach, as a share of the floor.
const GOALS: &[(&str, Operation, f64)] = &[
    ("memory", Operation::Send, 0.7),
    ("memory", Operation::Stream, 0.6),
    ("memory", Operation::Get, 0.95),
    ("SQLite process", Operation::Send, 0.45),
];

/// The same floor as somebody else wrote it, if it is there.
const OTHER_FLOOR: &str = "peer floor-axum";

pub(crate) fn print(report: &mut Report, rows: &[Row], disk: &Disk, connections: usize) {
    for operation in Operation::ALL {
        table(report, rows, operation);
    }
    goals(report, rows);
    let Disk { syncs_per_second, p50_micros, p99_micros, max_micros } = disk;
    report.line(&format!(
        "\nThe disk: {} appends of 4 KiB made safe in a second, one after the other (half within \
         {p50_micros:.0} us, 99 % within {p99_micros:.0} us, the longest {:.1} ms). With {connections} \
         callers that each wait for theirs, SQLite full cannot exceed {} per second.",
        thousands(*syncs_per_second),
        max_micros / 1e3,
        thousands(syncs_per_second * connections as f64),
    ));
}

fn table(report: &mut Report, rows: &[Row], operation: Operation) {
    let names = names(rows, operation);
    if names.is_empty() {
        return;
    }
    report.line(&format!("\n## {}\n", operation.name()));
    report.line(
        "| server | per second | x floor | CPU us | x floor | p50 us | p99 us | max ms | bytes | events | load busy | errors | quiet |",
    );
    report.line("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (name, floor) in names {
        let of = |name: &str, field: fn(&Outcome) -> f64| middle(rows, name, operation, field);
        let mine = |field: fn(&Outcome) -> f64| of(name, field);
        let speed = mine(|it| it.per_second);
        let cpu = mine(|it| it.server_cpu_micros);
        report.line(&format!(
            "| {name} | {} | {:.2} | {cpu:.1} | {:.2} | {} | {} | {:.1} | {:.0} | {:.0} | {:.0} % | {} | {} |",
            thousands(speed),
            speed / of(floor, |it| it.per_second),
            of(floor, |it| it.server_cpu_micros) / cpu,
            thousands(mine(|it| it.p50_micros)),
            thousands(mine(|it| it.p99_micros)),
            mine(|it| it.max_micros) / 1e3,
            mine(|it| it.bytes),
            mine(|it| it.events),
            mine(|it| it.load_busy) * 100.0,
            thousands(mine(|it| it.errors as f64)),
            quiet(rows, name, operation),
        ));
    }
}

fn goals(report: &mut Report, rows: &[Row]) {
    report.line("\n## goals\n");
    report.line("| server | what | goal | x floor | by CPU | x peer floor-axum | by CPU |");
    report.line("|---|---|---:|---:|---:|---:|---:|");
    for &(name, operation, goal) in GOALS {
        let ratios = |floor: &str| {
            let ratio = |field: fn(&Outcome) -> f64| {
                middle(rows, name, operation, field) / middle(rows, floor, operation, field)
            };
            [ratio(|it| it.per_second), 1.0 / ratio(|it| it.server_cpu_micros)]
        };
        let show = |ratio: f64| match ratio {
            it if it.is_nan() => String::new(),
            it if it >= goal => format!("{it:.2}"),
            it => format!("**{it:.2}**"),
        };
        let [speed, cpu] = ratios(FLOOR).map(show);
        let [other_speed, other_cpu] = ratios(OTHER_FLOOR).map(show);
        if !speed.is_empty() {
            let what = operation.name();
            report.line(&format!(
                "| {name} | {what} | {goal} | {speed} | {cpu} | {other_speed} | {other_cpu} |"
            ));
        }
    }
}

/// The servers that were asked for something, in the order in which they were.
fn names(rows: &[Row], operation: Operation) -> Vec<(&str, &'static str)> {
    let mut names = Vec::new();
    for row in rows.iter().filter(|it| it.operation == operation) {
        if !names.contains(&(row.server.as_str(), row.floor)) {
            names.push((row.server.as_str(), row.floor));
        }
    }
    names
}

/// How many of a server's runs nothing disturbed.
fn quiet(rows: &[Row], server: &str, operation: Operation) -> String {
    let mine = || rows.iter().filter(|it| it.server == server && it.operation == operation);
    let quiet = mine().filter(|it| !it.outcome.is_disturbed()).count();
    format!("{quiet} of {}", mine().count())
}

/// The median of a server's runs: of those that nothing disturbed, if there are any.
fn middle(rows: &[Row], server: &str, operation: Operation, field: fn(&Outcome) -> f64) -> f64 {
    let mine = || rows.iter().filter(|it| it.server == server && it.operation == operation);
    let quiet = mine().filter(|it| !it.outcome.is_disturbed());
    match quiet.clone().count() {
        0 => median(mine().map(|it| field(&it.outcome)).collect()),
        _ => median(quiet.map(|it| field(&it.outcome)).collect()),
    }
}
