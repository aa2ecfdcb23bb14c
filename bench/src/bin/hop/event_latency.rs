//! Age of a streamed event on arrival, over each route.

use latimer_bench::process::{LOAD_CORE, SERVER_CORE, free_address};
use latimer_bench::report::{Report, format_thousands, median, read_json};
use latimer_bench::role::Role;
use latimer_bench::server_under_test::{AgentKind, Setup, Store};
use latimer_bench::temp_dir::TempDir;
use latimer_bench::{BenchError, readers};
use serde::Serialize;

use crate::routes::{Route, Routes};
use crate::{Bench, format_verdict};

/// Maximum ratio of the event age through the gateway to that through nginx.
const GOAL: f64 = 2.0;

/// Result of one run over one route.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    route: String,
    age_p50_micros: f64,
    age_p99_micros: f64,
}

impl Bench {
    /// Measures the age of the ticks of a worker agent over one route.
    pub(crate) fn measure_event_latency(&self, route: &Route) -> Result<Row, BenchError> {
        let temp_dir = TempDir::new(&self.temp_root)?;
        let address = free_address()?;
        let setup =
            Setup { address: address.clone(), store: Store::Memory, agent: AgentKind::Worker };
        let mut agent = self.starter.start(SERVER_CORE, &Role::ServerUnderTest(setup))?;
        agent.wait_until_listening(&address)?;
        let hop = route.start(self.starter, &address, temp_dir.path())?;
        let plan = readers::Plan {
            address: hop.address,
            path: "/a2a".to_owned(),
            readers: 1,
            slow: 0,
            ticks: (f64::from(self.rate) * self.seconds) as u32,
            rate: self.rate,
        };
        let result: readers::ReadersResult =
            read_json(&mut self.starter.start(LOAD_CORE, &Role::Readers(plan))?)?;
        if let Some(problem) = result.problem {
            return Err(format!("{route}: {problem}").into());
        }
        Ok(Row {
            route: route.to_string(),
            age_p50_micros: result.p50_micros,
            age_p99_micros: result.p99_micros,
        })
    }
}

/// Prints the table of all routes, and the verdict.
pub(crate) fn print(report: &mut Report, rows: &[Row], routes: &Routes) {
    report.add_line("\n## events\n");
    report.add_line("| route | event age, p50 us | p99 us |");
    report.add_line("|---|---:|---:|");
    let median_of = |route: &Route, field: fn(&Row) -> f64| {
        let matches_route = |row: &&Row| row.route == route.to_string();
        median(rows.iter().filter(matches_route).map(field).collect())
    };
    let p50 = |route: &Route| median_of(route, |it| it.age_p50_micros);
    for route in routes.for_events() {
        let p99 = median_of(route, |it| it.age_p99_micros);
        report.add_line(&format!(
            "| {route} | {} | {} |",
            format_thousands(p50(route)),
            format_thousands(p99)
        ));
    }
    let ratio = p50(&routes.gateway) / p50(&routes.tuned);
    report.add_line(&format_verdict("Event age", &routes.tuned, ratio, GOAL));
}
