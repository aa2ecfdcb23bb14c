//! `latimer serve` and `latimer demo-server`.

use std::io;
use std::time::{Duration, Instant};

use latimer_daemon::config::{Flag, Loaded, Lookup, Request, Surroundings};
use latimer_daemon::{Banner, Daemon, check, shell_command};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::arguments::{DemoServer, Serve};
use crate::failure::Failure;
use crate::signal::Signals;
use crate::{config, log, output};

/// How long threads have to end once everything else has.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Serves what the configuration says.
pub(crate) fn serve(arguments: &Serve) -> Result<(), Failure> {
    let mut request = config::request(arguments.config.as_ref());
    request.flags = flags(arguments);
    let loaded = load(&request)?;
    if arguments.check {
        runtime()?.block_on(check(&loaded.config))?;
        output::print("ok");
        return Ok(());
    }
    run(&loaded)
}

/// Serves the demonstration, whatever the configuration says.
pub(crate) fn demo_server(arguments: &DemoServer) -> Result<(), Failure> {
    let extended = !arguments.no_extended_card;
    let agent = json!({
        "name": "demo",
        "kind": "demo",
        "extended_card": extended,
        "open_ended": arguments.open_ended,
        "streaming": !arguments.no_streaming,
    });
    let flag = |option, key, value| Flag { option, key, value };
    let mut flags = vec![flag("demo-server", "agents", json!([agent]))];
    if arguments.pure_card {
        flags.push(flag("--pure-card", "a2a.superset_card", json!(false)));
    }
    if arguments.no_push {
        flags.push(flag("--no-push", "push.enabled", json!(false)));
    }
    match &arguments.store {
        None => flags.push(flag("demo-server", "store.kind", json!("memory"))),
        Some(path) => flags.push(flag("--store", "store.path", json!(path))),
    }
    flags.extend(listen(arguments.listen.as_deref()));
    let surroundings = Surroundings::of_this_process();
    run(&load(&Request { file: Lookup::None, flags, surroundings })?)
}

fn flags(arguments: &Serve) -> Vec<Flag> {
    let mut flags = Vec::from_iter(listen(arguments.listen.as_deref()));
    if let Some(path) = &arguments.store {
        flags.push(Flag { option: "--store", key: "store.kind", value: json!("sqlite") });
        flags.push(Flag { option: "--store", key: "store.path", value: json!(path) });
    }
    let mut agent = |option, agent: Value| {
        flags.push(Flag { option, key: "agents", value: json!([agent]) });
    };
    if arguments.echo {
        agent("--echo", json!({"name": "echo", "kind": "echo"}));
    }
    if let Some(line) = &arguments.exec {
        let mut exec = json!({"name": "exec", "kind": "command", "command": shell_command(line)});
        if let Some(delimiter) = &arguments.chunk {
            exec["chunk"] = json!(delimiter);
        }
        agent("--exec", exec);
    }
    if let Some(url) = &arguments.proxy {
        agent("--proxy", json!({"name": "proxy", "kind": "a2a", "url": url}));
    }
    flags
}

fn listen(address: Option<&str>) -> Option<Flag> {
    address.map(|it| Flag { option: "--listen", key: "listen", value: json!(it) })
}

fn load(request: &Request) -> Result<Loaded, Failure> {
    let loaded = Loaded::load(request)?;
    loaded.warnings.iter().for_each(output::warn);
    Ok(loaded)
}

/// Runs until it is told to end.
fn run(loaded: &Loaded) -> Result<(), Failure> {
    let began = Instant::now();
    log::begin(&loaded.config.log);
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(cannot_start)?;
        let daemon = tokio::select! {
            daemon = Daemon::start(&loaded.config) => daemon?,
            () = signals.end() => return Ok(()),
        };
        output::print(&greeting(loaded, daemon.banner(), began));
        signals.end().await;
        tokio::select! {
            () = daemon.shutdown() => Ok(()),
            () = signals.interrupt() => Err(Failure::interrupted()),
        }
    });
    // Drops what is still going on, so that no program stays behind.
    runtime.shutdown_timeout(LAST_MOMENT);
    ended
}

/// What is served, in a few lines.
fn greeting(loaded: &Loaded, banner: &Banner, began: Instant) -> String {
    let file = match &loaded.file {
        Some(file) => format!("config {}", file.display()),
        None => "no configuration file".to_owned(),
    };
    let overrides = match loaded.overrides() {
        0 => String::new(),
        count => format!(", {count} from the environment"),
    };
    let version = env!("CARGO_PKG_VERSION");
    let mut lines = vec![format!("latimer {version}  {file}{overrides} (`latimer config show`)")];
    match (&banner.a2a, banner.silence) {
        (Some(url), _) => lines.push(format!("a2a    {url}  JSON-RPC, HTTP+JSON, gRPC")),
        (None, why) => lines.push(format!("a2a    {}", why.unwrap_or("not served"))),
    }
    lines.extend(
        banner.agents.iter().map(|it| format!("agent  {}  {} ({})", it.name, it.url, it.kind)),
    );
    lines.extend(banner.card.iter().map(|it| format!("card   {it}")));
    lines.push(match banner.recovered {
        0 => format!("store  {}", banner.store),
        1 => format!("store  {}  1 task taken over", banner.store),
        tasks => format!("store  {}  {tasks} tasks taken over", banner.store),
    });
    lines.push(format!("ready in {} ms", began.elapsed().as_millis()));
    lines.extend(banner.curl().map(|it| format!("\nTry it:\n\n{it}\n")));
    lines.join("\n")
}

/// What runs everything that waits.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(cannot_start)
}

fn cannot_start(error: io::Error) -> Failure {
    Failure::new(format!("cannot start: {error}"))
}
