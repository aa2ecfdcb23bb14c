//! How old an event is when it arrives, on each way.

use latimer_bench::home::Home;
use latimer_bench::process::{LOAD_CORE, SERVER_CORE, free_address};
use latimer_bench::report::{Report, heard, median, thousands};
use latimer_bench::role::Role;
use latimer_bench::subject::{Kind, Setup, Store};
use latimer_bench::{Failure, watch};
use serde::Serialize;

use crate::routes::{Route, Routes};
use crate::{Bench, verdict};

/// How many times as old an event may be through the gateway as through nginx.
const GOAL: f64 = 2.0;

/// One measurement of a way.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    route: String,
    age_p50_micros: f64,
    age_p99_micros: f64,
}

impl Bench {
    /// Reads the pieces that an agent of ours makes, in one way.
    pub(crate) fn ages(&self, route: &Route) -> Result<Row, Failure> {
        let home = Home::new(&self.folder)?;
        let address = free_address()?;
        let setup = Setup { address: address.clone(), store: Store::Memory, agent: Kind::Worker };
        let mut agent = self.starter.start(SERVER_CORE, &Role::Subject(setup))?;
        agent.wait_until_listening(&address)?;
        let hop = route.open(self.starter, &address, home.path())?;
        let plan = watch::Plan {
            address: hop.address,
            path: "/a2a".to_owned(),
            readers: 1,
            slow: 0,
            pieces: (f64::from(self.rate) * self.seconds) as u32,
            rate: self.rate,
        };
        let seen: watch::Outcome = heard(&mut self.starter.start(LOAD_CORE, &Role::Watch(plan))?)?;
        if let Some(problem) = seen.problem {
            return Err(format!("{route}: {problem}").into());
        }
        Ok(Row {
            route: route.to_string(),
            age_p50_micros: seen.p50_micros,
            age_p99_micros: seen.p99_micros,
        })
    }
}

/// The table of the ways.
pub(crate) fn print(report: &mut Report, rows: &[Row], routes: &Routes) {
    report.line("\n## events\n");
    report.line("| way | age of an event, p50 us | p99 us |");
    report.line("|---|---:|---:|");
    let of = |route: &Route, field: fn(&Row) -> f64| {
        let is = |row: &&Row| row.route == route.to_string();
        median(rows.iter().filter(is).map(field).collect())
    };
    let p50 = |route: &Route| of(route, |it| it.age_p50_micros);
    for route in routes.of_events() {
        let p99 = of(route, |it| it.age_p99_micros);
        report.line(&format!("| {route} | {} | {} |", thousands(p50(route)), thousands(p99)));
    }
    let ratio = p50(&routes.gateway) / p50(&routes.tuned);
    report.line(&verdict("the age of an event", &routes.tuned, ratio, GOAL));
}
