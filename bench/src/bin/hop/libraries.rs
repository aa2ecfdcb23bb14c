//! What a call costs with the client library.

use latimer_bench::Failure;
use latimer_bench::call::{self, Library};
use latimer_bench::process::{LOAD_CORE, SERVER_CORE, free_address};
use latimer_bench::report::{Report, heard, median, thousands};
use latimer_bench::role::Role;
use serde::Serialize;

use crate::Bench;

/// One measurement of a library.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    library: Library,
    outcome: call::Outcome,
}

impl Bench {
    /// Calls the floor with a library.
    pub(crate) fn library(&self, library: Library) -> Result<Row, Failure> {
        let address = free_address()?;
        let floor = Role::Floor { address: address.clone() };
        let mut server = self.starter.start(SERVER_CORE, &floor)?;
        server.wait_until_listening(&address)?;
        let plan = call::Plan {
            url: format!("http://{address}/"),
            library,
            at_once: self.connections,
            seconds: self.seconds,
        };
        let outcome = heard(&mut self.starter.start(LOAD_CORE, &Role::Call(plan))?)?;
        Ok(Row { library, outcome })
    }
}

/// The table of the libraries.
pub(crate) fn print(report: &mut Report, rows: &[Row]) {
    let of = |library: Library, field: fn(&call::Outcome) -> f64| {
        let mine = rows.iter().filter(|it| it.library == library);
        median(mine.map(|it| field(&it.outcome)).collect())
    };
    report.line("\n## a call with the client library\n");
    report.line("| library | calls per second | CPU us | x reqwest |");
    report.line("|---|---:|---:|---:|");
    let floor = of(Library::Reqwest, |it| it.cpu_micros);
    for (library, name) in [(Library::Reqwest, "reqwest"), (Library::Latimer, "latimer-client")] {
        let cpu = of(library, |it| it.cpu_micros);
        report.line(&format!(
            "| {name} | {} | {cpu:.1} | {:.2} |",
            thousands(of(library, |it| it.per_second)),
            cpu / floor,
        ));
    }
}
