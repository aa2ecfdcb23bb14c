//! Cost of a call with a client library.

use latimer_bench::BenchError;
use latimer_bench::call::{self, Library};
use latimer_bench::process::{LOAD_CORE, SERVER_CORE, free_address};
use latimer_bench::report::{Report, format_thousands, median, read_json};
use latimer_bench::role::Role;
use serde::Serialize;

use crate::Bench;

/// Result of one run with one library.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    library: Library,
    outcome: call::CallResult,
}

impl Bench {
    /// Measures calls to the baseline server with a library.
    pub(crate) fn measure_library(&self, library: Library) -> Result<Row, BenchError> {
        let address = free_address()?;
        let baseline = Role::Baseline { address: address.clone() };
        let mut server = self.starter.start(SERVER_CORE, &baseline)?;
        server.wait_until_listening(&address)?;
        let plan = call::Plan {
            url: format!("http://{address}/"),
            library,
            concurrency: self.connections,
            seconds: self.seconds,
        };
        let outcome = read_json(&mut self.starter.start(LOAD_CORE, &Role::Call(plan))?)?;
        Ok(Row { library, outcome })
    }
}

/// Prints the table of the libraries.
pub(crate) fn print(report: &mut Report, rows: &[Row]) {
    let median_of = |library: Library, field: fn(&call::CallResult) -> f64| {
        let matching = rows.iter().filter(|it| it.library == library);
        median(matching.map(|it| field(&it.outcome)).collect())
    };
    report.add_line("\n## client libraries\n");
    report.add_line("| library | calls per second | CPU us | x reqwest |");
    report.add_line("|---|---:|---:|---:|");
    let baseline = median_of(Library::Reqwest, |it| it.cpu_micros);
    for (library, name) in [(Library::Reqwest, "reqwest"), (Library::Latimer, "latimer-client")] {
        let cpu = median_of(library, |it| it.cpu_micros);
        report.add_line(&format!(
            "| {name} | {} | {cpu:.1} | {:.2} |",
            format_thousands(median_of(library, |it| it.per_second)),
            cpu / baseline,
        ));
    }
}
