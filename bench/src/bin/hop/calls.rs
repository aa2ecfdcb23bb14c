//! What a call costs on each way.

use latimer_bench::Failure;
use latimer_bench::home::Home;
use latimer_bench::load::{self, Binding, Operation, Span};
use latimer_bench::process::{LOAD_CORE, Process};
use latimer_bench::report::{Report, heard, median, thousands};
use latimer_bench::role::Role;
use serde::Serialize;

use crate::agents::Agent;
use crate::routes::{Route, Routes};
use crate::{Bench, verdict};

/// How many times fewer calls there may be in a second through the gateway than through nginx.
const GOAL: f64 = 1.3;

/// One measurement of a way.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    agent: String,
    operation: Operation,
    route: String,
    per_second: f64,
    /// The time that what is in between computed for each call.
    hop_cpu_micros: f64,
    /// The time that the agent did.
    agent_cpu_micros: f64,
    p50_micros: f64,
    others: f64,
}

impl Bench {
    /// Calls an agent in one way.
    pub(crate) fn calls(
        &self,
        agent: Agent,
        operation: Operation,
        route: &Route,
    ) -> Result<Row, Failure> {
        let home = Home::new(&self.folder)?;
        let running = agent.start(self.starter)?;
        let hop = route.open(self.starter, &running.address, home.path())?;
        let path = if matches!(route, Route::Gateway(_)) { "/a2a" } else { agent.path() };
        let plan = load::Plan {
            address: hop.address,
            path: path.to_owned(),
            binding: Binding::JsonRpc,
            operation,
            connections: self.connections,
            span: Span::Seconds { warm_up: 1.0, measured: self.seconds },
            server: hop.process.as_ref().map_or(running.process.id(), Process::id),
            behind: hop.process.as_ref().map(|_| running.process.id()),
        };
        let load: load::Outcome = heard(&mut self.starter.start(LOAD_CORE, &Role::Load(plan))?)?;
        if let Some(error) = load.first_error {
            return Err(format!("{agent}, {route}: {error}").into());
        }
        Ok(Row {
            agent: agent.to_string(),
            operation,
            route: route.to_string(),
            per_second: load.per_second,
            hop_cpu_micros: load.server_cpu_micros,
            agent_cpu_micros: match hop.process {
                Some(_) => load.behind_cpu_micros,
                None => load.server_cpu_micros,
            },
            p50_micros: load.p50_micros,
            others: load.others,
        })
    }
}

/// The table of what was asked of the agents, in all ways.
pub(crate) fn print(
    report: &mut Report,
    rows: &[Row],
    routes: &Routes,
    asked: &[(Agent, Operation)],
) {
    report.line("\n## calls\n");
    report.line(
        "| agent | call | way | calls per second | cost | x nginx | x tuned | p50 us | CPU us in between | of the agent | others |",
    );
    report.line("|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    let mut verdicts = Vec::new();
    for (agent, operation) in asked {
        let of = |route: &Route, field: fn(&Row) -> f64| {
            let is = |row: &&Row| {
                (&row.agent, &row.route) == (&agent.to_string(), &route.to_string())
                    && row.operation == *operation
            };
            median(rows.iter().filter(is).map(field).collect())
        };
        let speed = |route: &Route| of(route, |it| it.per_second);
        let Routes { direct, nginx, tuned, gateway } = routes;
        for route in routes.of_calls() {
            let between = !matches!(route, Route::Direct);
            let shown = |text: String| if between { text } else { String::new() };
            report.line(&format!(
                "| {agent} | {} | {route} | {} | {:.2} | {} | {} | {} | {} | {:.1} | {:.2} |",
                operation.name(),
                thousands(speed(route)),
                speed(direct) / speed(route),
                shown(format!("{:.2}", speed(nginx) / speed(route))),
                shown(format!("{:.2}", speed(tuned) / speed(route))),
                thousands(of(route, |it| it.p50_micros)),
                shown(format!("{:.1}", of(route, |it| it.hop_cpu_micros))),
                of(route, |it| it.agent_cpu_micros),
                of(route, |it| it.others),
            ));
        }
        let what = format!("{} ({agent})", operation.name());
        for beside in [nginx, tuned] {
            let ratio = speed(beside) / speed(gateway);
            verdicts.push(verdict(&what, beside, ratio, GOAL));
        }
    }
    for verdict in verdicts {
        report.line(&verdict);
    }
}
