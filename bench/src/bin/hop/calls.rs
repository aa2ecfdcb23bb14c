//! Cost of a call over each route.

use latimer_bench::BenchError;
use latimer_bench::load::{self, Binding, Operation, Span};
use latimer_bench::process::{LOAD_CORE, Process};
use latimer_bench::report::{Report, format_thousands, median, read_json};
use latimer_bench::role::Role;
use latimer_bench::temp_dir::TempDir;
use serde::Serialize;

use crate::agents::Agent;
use crate::routes::{Route, Routes};
use crate::{Bench, format_verdict};

/// Maximum throughput ratio of nginx to the gateway.
const GOAL: f64 = 1.3;

/// Result of one run over one route.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    agent: String,
    operation: Operation,
    route: String,
    per_second: f64,
    /// CPU time of the proxy or gateway per call, in microseconds.
    hop_cpu_micros: f64,
    /// CPU time of the agent per call, in microseconds.
    agent_cpu_micros: f64,
    p50_micros: f64,
    #[serde(rename = "others")]
    other_cpu_share: f64,
}

impl Bench {
    /// Measures calls to an agent over one route.
    pub(crate) fn measure_calls(
        &self,
        agent: Agent,
        operation: Operation,
        route: &Route,
    ) -> Result<Row, BenchError> {
        let temp_dir = TempDir::new(&self.temp_root)?;
        let running = agent.start(self.starter)?;
        let hop = route.start(self.starter, &running.address, temp_dir.path())?;
        let path = if matches!(route, Route::Gateway(_)) { "/a2a" } else { agent.path() };
        let plan = load::Plan {
            address: hop.address,
            path: path.to_owned(),
            binding: Binding::JsonRpc,
            operation,
            connections: self.connections,
            span: Span::Seconds { warm_up: 1.0, measured: self.seconds },
            server_process: hop.process.as_ref().map_or(running.process.id(), Process::id),
            upstream_process: hop.process.as_ref().map(|_| running.process.id()),
        };
        let result: load::LoadResult =
            read_json(&mut self.starter.start(LOAD_CORE, &Role::Load(plan))?)?;
        if let Some(error) = result.first_error {
            return Err(format!("{agent}, {route}: {error}").into());
        }
        Ok(Row {
            agent: agent.to_string(),
            operation,
            route: route.to_string(),
            per_second: result.per_second,
            hop_cpu_micros: result.server_cpu_micros,
            agent_cpu_micros: match hop.process {
                Some(_) => result.upstream_cpu_micros,
                None => result.server_cpu_micros,
            },
            p50_micros: result.p50_micros,
            other_cpu_share: result.other_cpu_share,
        })
    }
}

/// Prints the table of all agents, operations and routes, and the verdicts.
pub(crate) fn print(
    report: &mut Report,
    rows: &[Row],
    routes: &Routes,
    cases: &[(Agent, Operation)],
) {
    report.add_line("\n## calls\n");
    report.add_line(
        "| agent | call | route | calls per second | cost | x nginx | x tuned | p50 us | CPU us of the hop | of the agent | others |",
    );
    report.add_line("|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    let mut verdicts = Vec::new();
    for (agent, operation) in cases {
        let median_of = |route: &Route, field: fn(&Row) -> f64| {
            let matches_case = |row: &&Row| {
                (&row.agent, &row.route) == (&agent.to_string(), &route.to_string())
                    && row.operation == *operation
            };
            median(rows.iter().filter(matches_case).map(field).collect())
        };
        let speed = |route: &Route| median_of(route, |it| it.per_second);
        let Routes { direct, nginx, tuned, gateway } = routes;
        for route in routes.for_calls() {
            let has_hop = !matches!(route, Route::Direct);
            let if_hop = |text: String| if has_hop { text } else { String::new() };
            report.add_line(&format!(
                "| {agent} | {} | {route} | {} | {:.2} | {} | {} | {} | {} | {:.1} | {:.2} |",
                operation.name(),
                format_thousands(speed(route)),
                speed(direct) / speed(route),
                if_hop(format!("{:.2}", speed(nginx) / speed(route))),
                if_hop(format!("{:.2}", speed(tuned) / speed(route))),
                format_thousands(median_of(route, |it| it.p50_micros)),
                if_hop(format!("{:.1}", median_of(route, |it| it.hop_cpu_micros))),
                median_of(route, |it| it.agent_cpu_micros),
                median_of(route, |it| it.other_cpu_share),
            ));
        }
        let subject = format!("Cost of {} ({agent})", operation.name());
        for reference in [nginx, tuned] {
            let ratio = speed(reference) / speed(gateway);
            verdicts.push(format_verdict(&subject, reference, ratio, GOAL));
        }
    }
    for verdict in verdicts {
        report.add_line(&verdict);
    }
}
