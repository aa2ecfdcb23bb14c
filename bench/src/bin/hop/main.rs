//! What a hop through the gateway costs, beside one through a plain reverse proxy; and what the client
//! library costs, beside an HTTP client.
//!
//! See `bench/README.md`.

mod routes;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use latimer_bench::arguments::Arguments;
use latimer_bench::call::{self, Library};
use latimer_bench::home::Home;
use latimer_bench::load::{self, Binding, Operation, Span};
use latimer_bench::process::{LOAD_CORE, Process, SERVER_CORE, Starter, free_address};
use latimer_bench::report::{Report, heard, median, note, thousands};
use latimer_bench::role::Role;
use latimer_bench::subject::{Kind, Setup, Store};
use latimer_bench::{Failure, role, watch};
use serde::Serialize;

use self::routes::{Hop, Route};

const OPTIONS: &[&str] =
    &["rounds", "seconds", "connections", "rate", "nice", "latimer", "nginx", "folder", "results"];

/// How many times nginx's cost the gateway's may be, in a call and in the age of an event.
const GOALS: [f64; 2] = [1.3, 2.0];

fn main() -> ExitCode {
    role::main(run)
}

fn run() -> Result<(), Failure> {
    let arguments = Arguments::read(OPTIONS)?;
    let latimer = arguments.get("latimer").ok_or("--latimer must name the program")?;
    let bench = Bench {
        starter: Starter { nice: arguments.or("nice", 0)? },
        seconds: arguments.or("seconds", 4.0)?,
        connections: arguments.or("connections", 32)?,
        rate: arguments.or("rate", 200)?,
        folder: arguments.or("folder", std::env::temp_dir())?,
    };
    let rounds: u32 = arguments.or("rounds", 3)?;
    let nginx = arguments.or("nginx", PathBuf::from("nginx"))?;
    let routes = [Route::Direct, Route::Nginx(nginx), Route::Gateway(latimer.into())];
    let results: PathBuf = arguments.or("results", PathBuf::from("bench/results"))?;
    let mut report = Report::new(&results, "hop", &arguments.shown());
    let mut rows = Vec::new();
    for round in 1..=rounds {
        for route in &routes {
            let row = bench.measure(route)?;
            note(&format!("{round} {row:?}"));
            report.row(&row)?;
            rows.push(row);
        }
    }
    print(&mut report, &rows, &routes.map(|it| it.to_string()));
    let mut calls = Vec::new();
    for round in 1..=rounds {
        for library in [Library::Reqwest, Library::Latimer] {
            let call = bench.call(library)?;
            note(&format!("{round} {call:?}"));
            report.row(&call)?;
            calls.push(call);
        }
    }
    print_calls(&mut report, &calls);
    report.keep()
}

struct Bench {
    starter: Starter,
    seconds: f64,
    connections: usize,
    /// Events in a second, where their age is measured.
    rate: u32,
    folder: PathBuf,
}

/// One measurement of a way.
#[derive(Debug, Serialize)]
struct Row {
    route: String,
    per_second: f64,
    /// The time that what is in between computed for each call.
    hop_cpu_micros: f64,
    p50_micros: f64,
    age_p50_micros: f64,
    age_p99_micros: f64,
    others: f64,
}

impl Bench {
    fn measure(&self, route: &Route) -> Result<Row, Failure> {
        let unary = self.unary(route)?;
        if let Some(error) = unary.first_error {
            return Err(format!("{route}: {error}").into());
        }
        let events = self.events(route)?;
        if let Some(problem) = events.problem {
            return Err(format!("{route}: {problem}").into());
        }
        Ok(Row {
            route: route.to_string(),
            per_second: unary.per_second,
            hop_cpu_micros: unary.server_cpu_micros,
            p50_micros: unary.p50_micros,
            age_p50_micros: events.p50_micros,
            age_p99_micros: events.p99_micros,
            others: unary.others,
        })
    }

    /// An agent of ours, and the way to it.
    fn open(&self, route: &Route, agent: Kind, home: &Path) -> Result<(Process, Hop), Failure> {
        let address = free_address()?;
        let setup = Setup { address: address.clone(), store: Store::Memory, agent };
        let mut upstream = self.starter.start(SERVER_CORE, &Role::Subject(setup))?;
        upstream.wait_until_listening(&address)?;
        let hop = route.open(self.starter, &address, home)?;
        Ok((upstream, hop))
    }

    fn unary(&self, route: &Route) -> Result<load::Outcome, Failure> {
        let home = Home::new(&self.folder)?;
        let (upstream, hop) = self.open(route, Kind::Echo, home.path())?;
        let plan = load::Plan {
            address: hop.address,
            path: "/a2a".to_owned(),
            binding: Binding::JsonRpc,
            operation: Operation::Send,
            connections: self.connections,
            span: Span::Seconds { warm_up: 1.0, measured: self.seconds },
            server: hop.process.as_ref().map_or(upstream.id(), Process::id),
        };
        heard(&mut self.starter.start(LOAD_CORE, &Role::Load(plan))?)
    }

    fn events(&self, route: &Route) -> Result<watch::Outcome, Failure> {
        let home = Home::new(&self.folder)?;
        let (_upstream, hop) = self.open(route, Kind::Worker, home.path())?;
        let plan = watch::Plan {
            address: hop.address,
            path: "/a2a".to_owned(),
            readers: 1,
            slow: 0,
            pieces: (f64::from(self.rate) * self.seconds) as u32,
            rate: self.rate,
        };
        heard(&mut self.starter.start(LOAD_CORE, &Role::Watch(plan))?)
    }

    fn call(&self, library: Library) -> Result<Call, Failure> {
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
        Ok(Call { library, outcome })
    }
}

/// One measurement of a library.
#[derive(Debug, Serialize)]
struct Call {
    library: Library,
    outcome: call::Outcome,
}

fn print(report: &mut Report, rows: &[Row], routes: &[String; 3]) {
    let of = |route: &String, field: fn(&Row) -> f64| {
        median(rows.iter().filter(|it| it.route == *route).map(field).collect())
    };
    report.line("\n## the way to an agent\n");
    report.line(
        "| way | calls per second | cost | p50 us | CPU us in between | age of an event, p50 us | p99 us | others |",
    );
    report.line("|---|---:|---:|---:|---:|---:|---:|---:|");
    let direct = of(&routes[0], |it| it.per_second);
    for route in routes {
        let speed = of(route, |it| it.per_second);
        let cpu = match *route == routes[0] {
            true => String::new(),
            false => format!("{:.1}", of(route, |it| it.hop_cpu_micros)),
        };
        report.line(&format!(
            "| {route} | {} | {:.2} | {} | {cpu} | {} | {} | {:.2} |",
            thousands(speed),
            direct / speed,
            thousands(of(route, |it| it.p50_micros)),
            thousands(of(route, |it| it.age_p50_micros)),
            thousands(of(route, |it| it.age_p99_micros)),
            of(route, |it| it.others),
        ));
    }
    let [_, nginx, gateway] = routes;
    let calls = of(nginx, |it| it.per_second) / of(gateway, |it| it.per_second);
    let age = of(gateway, |it| it.age_p50_micros) / of(nginx, |it| it.age_p50_micros);
    for ((what, ratio), goal) in [("a call", calls), ("the age of an event", age)].iter().zip(GOALS)
    {
        let verdict = if *ratio <= goal { "as it should be" } else { "**too much**" };
        report.line(&format!(
            "\nThrough the gateway {what} costs {ratio:.2} times what it does through nginx; at most \
             {goal} is the goal: {verdict}."
        ));
    }
}

fn print_calls(report: &mut Report, calls: &[Call]) {
    let of = |library: Library, field: fn(&call::Outcome) -> f64| {
        let mine = calls.iter().filter(|it| it.library == library);
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
