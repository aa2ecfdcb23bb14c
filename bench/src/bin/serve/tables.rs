//! Result tables.

use latimer_bench::disk::DiskLatency;
use latimer_bench::load::{LoadResult, Operation};
use latimer_bench::report::{Report, format_thousands, median};

use super::Row;
use super::servers::BASELINE;

/// Goals of Latimer: minimum throughput as a share of the baseline.
const GOALS: &[(&str, Operation, f64)] = &[
    ("memory", Operation::Send, 0.7),
    ("memory", Operation::Stream, 0.6),
    ("memory", Operation::Get, 0.95),
    ("SQLite process", Operation::Send, 0.45),
];

/// Name of an independently written baseline, if it is among the peers.
const PEER_BASELINE: &str = "peer floor-axum";

pub(crate) fn print(report: &mut Report, rows: &[Row], disk: &DiskLatency, connections: usize) {
    for operation in Operation::ALL {
        print_table(report, rows, operation);
    }
    print_goals(report, rows);
    let DiskLatency { syncs_per_second, p50_micros, p99_micros, max_micros } = disk;
    report.add_line(&format!(
        "\nDisk: {} sequential synced appends of 4 KiB per second (p50 {p50_micros:.0} us, \
         p99 {p99_micros:.0} us, max {:.1} ms). With {connections} callers that each wait for a commit, \
         SQLite full cannot exceed {} per second.",
        format_thousands(*syncs_per_second),
        max_micros / 1e3,
        format_thousands(syncs_per_second * connections as f64),
    ));
}

fn print_table(report: &mut Report, rows: &[Row], operation: Operation) {
    let servers = server_names(rows, operation);
    if servers.is_empty() {
        return;
    }
    report.add_line(&format!("\n## {}\n", operation.name()));
    report.add_line(
        "| server | per second | x baseline | CPU us | x baseline | p50 us | p99 us | max ms | bytes | events | load busy | errors | undisturbed |",
    );
    report.add_line("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (name, baseline) in servers {
        let median_of = |name: &str, field: fn(&LoadResult) -> f64| {
            median_of_runs(rows, name, operation, field)
        };
        let metric = |field: fn(&LoadResult) -> f64| median_of(name, field);
        let speed = metric(|it| it.per_second);
        let cpu = metric(|it| it.server_cpu_micros);
        report.add_line(&format!(
            "| {name} | {} | {:.2} | {cpu:.1} | {:.2} | {} | {} | {:.1} | {:.0} | {:.0} | {:.0} % | {} | {} |",
            format_thousands(speed),
            speed / median_of(baseline, |it| it.per_second),
            median_of(baseline, |it| it.server_cpu_micros) / cpu,
            format_thousands(metric(|it| it.p50_micros)),
            format_thousands(metric(|it| it.p99_micros)),
            metric(|it| it.max_micros) / 1e3,
            metric(|it| it.bytes),
            metric(|it| it.events),
            metric(|it| it.load_busy) * 100.0,
            format_thousands(metric(|it| it.errors as f64)),
            count_undisturbed(rows, name, operation),
        ));
    }
}

fn print_goals(report: &mut Report, rows: &[Row]) {
    report.add_line("\n## goals\n");
    report.add_line(
        "| server | operation | goal | x baseline | by CPU | x peer floor-axum | by CPU |",
    );
    report.add_line("|---|---|---:|---:|---:|---:|---:|");
    for &(name, operation, goal) in GOALS {
        let ratios = |baseline: &str| {
            let ratio = |field: fn(&LoadResult) -> f64| {
                median_of_runs(rows, name, operation, field)
                    / median_of_runs(rows, baseline, operation, field)
            };
            [ratio(|it| it.per_second), 1.0 / ratio(|it| it.server_cpu_micros)]
        };
        let format_ratio = |ratio: f64| match ratio {
            it if it.is_nan() => String::new(),
            it if it >= goal => format!("{it:.2}"),
            it => format!("**{it:.2}**"),
        };
        let [speed, cpu] = ratios(BASELINE).map(format_ratio);
        let [peer_speed, peer_cpu] = ratios(PEER_BASELINE).map(format_ratio);
        if !speed.is_empty() {
            let operation = operation.name();
            report.add_line(&format!(
                "| {name} | {operation} | {goal} | {speed} | {cpu} | {peer_speed} | {peer_cpu} |"
            ));
        }
    }
}

/// Returns the names of the servers measured with an operation and their baselines, in order.
fn server_names(rows: &[Row], operation: Operation) -> Vec<(&str, &'static str)> {
    let mut names = Vec::new();
    for row in rows.iter().filter(|it| it.operation == operation) {
        if !names.contains(&(row.server.as_str(), row.baseline)) {
            names.push((row.server.as_str(), row.baseline));
        }
    }
    names
}

/// Formats how many runs of a server were not disturbed by other processes.
fn count_undisturbed(rows: &[Row], server: &str, operation: Operation) -> String {
    let runs = || rows.iter().filter(|it| it.server == server && it.operation == operation);
    let undisturbed = runs().filter(|it| !it.outcome.is_disturbed()).count();
    format!("{undisturbed} of {}", runs().count())
}

/// Returns the median over the undisturbed runs of a server, or over all runs if there are none.
fn median_of_runs(
    rows: &[Row],
    server: &str,
    operation: Operation,
    field: fn(&LoadResult) -> f64,
) -> f64 {
    let runs = || rows.iter().filter(|it| it.server == server && it.operation == operation);
    let undisturbed = runs().filter(|it| !it.outcome.is_disturbed());
    match undisturbed.clone().count() {
        0 => median(runs().map(|it| field(&it.outcome)).collect()),
        _ => median(undisturbed.map(|it| field(&it.outcome)).collect()),
    }
}
