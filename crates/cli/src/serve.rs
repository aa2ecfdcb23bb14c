//! `latimer serve` and `latimer demo-server`.

use std::io;
use std::time::{Duration, Instant};

use latimer_daemon::config::{ConfigFile, Environment, FlagOverride, LoadRequest, LoadedConfig};
use latimer_daemon::{Banner, Daemon, shell_command, validate};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::args::{DemoServer, Serve};
use crate::error::CliError;
use crate::signal::Signals;
use crate::{config, log, output};

/// Time allowed for runtime threads to end after shutdown.
const RUNTIME_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves the configured agents, or checks the configuration.
pub(crate) fn serve(args: &Serve) -> Result<(), CliError> {
    let mut request = config::load_request(args.config.as_ref());
    request.flags = flags(args);
    let loaded = load(&request)?;
    if args.check {
        build_runtime()?.block_on(validate(&loaded.config))?;
        output::print("ok")?;
        return Ok(());
    }
    run(&loaded)
}

/// Serves the demo agent; ignores configuration files.
pub(crate) fn demo_server(args: &DemoServer) -> Result<(), CliError> {
    let extended = !args.no_extended_card;
    let agent = json!({
        "name": "demo",
        "kind": "demo",
        "extended_card": extended,
        "open_ended": args.open_ended,
        "streaming": !args.no_streaming,
    });
    let flag = |option, key, value| FlagOverride { option, key, value };
    let mut flags = vec![flag("demo-server", "agents", json!([agent]))];
    if args.pure_card {
        flags.push(flag("--pure-card", "a2a.superset_card", json!(false)));
    }
    if args.no_push {
        flags.push(flag("--no-push", "push.enabled", json!(false)));
    }
    match &args.store {
        None => flags.push(flag("demo-server", "store.kind", json!("memory"))),
        Some(path) => flags.push(flag("--store", "store.path", json!(path))),
    }
    flags.extend(listen_flag(args.listen.as_deref()));
    let environment = Environment::current();
    run(&load(&LoadRequest { file: ConfigFile::None, flags, environment })?)
}

fn flags(args: &Serve) -> Vec<FlagOverride> {
    let mut flags = Vec::from_iter(listen_flag(args.listen.as_deref()));
    if let Some(path) = &args.store {
        flags.push(FlagOverride { option: "--store", key: "store.kind", value: json!("sqlite") });
        flags.push(FlagOverride { option: "--store", key: "store.path", value: json!(path) });
    }
    let mut agent = |option, agent: Value| {
        flags.push(FlagOverride { option, key: "agents", value: json!([agent]) });
    };
    if args.echo {
        agent("--echo", json!({"name": "echo", "kind": "echo"}));
    }
    if let Some(line) = &args.exec {
        let mut exec = json!({"name": "exec", "kind": "command", "command": shell_command(line)});
        if let Some(delimiter) = &args.chunk {
            exec["chunk"] = json!(delimiter);
        }
        agent("--exec", exec);
    }
    if let Some(url) = &args.proxy {
        agent("--proxy", json!({"name": "proxy", "kind": "a2a", "url": url}));
    }
    flags
}

fn listen_flag(address: Option<&str>) -> Option<FlagOverride> {
    address.map(|it| FlagOverride { option: "--listen", key: "listen", value: json!(it) })
}

fn load(request: &LoadRequest) -> Result<LoadedConfig, CliError> {
    let loaded = LoadedConfig::load(request)?;
    loaded.warnings.iter().for_each(output::warn);
    Ok(loaded)
}

/// Runs until a signal to stop; a second one ends the shutdown early.
fn run(loaded: &LoadedConfig) -> Result<(), CliError> {
    let started = Instant::now();
    log::init(&loaded.config.log);
    let runtime = build_runtime()?;
    let result = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(start_error)?;
        let daemon = tokio::select! {
            daemon = Daemon::start(&loaded.config) => daemon?,
            () = signals.shutdown_requested() => return Ok(()),
        };
        print_summary(&startup_summary(loaded, daemon.banner(), started));
        signals.shutdown_requested().await;
        tokio::select! {
            () = daemon.shutdown() => Ok(()),
            () = signals.interrupted() => Err(CliError::interrupted()),
        }
    });
    // Drops the remaining futures, so that no child process is left running.
    runtime.shutdown_timeout(RUNTIME_SHUTDOWN_TIMEOUT);
    result
}

/// Prints the startup summary. The server runs even if the summary cannot be printed.
fn print_summary(summary: &str) {
    match output::print(summary) {
        Err(error) if !error.is_closed_pipe() => output::warn(error),
        Ok(()) | Err(_) => {}
    }
}

/// Formats the summary that is printed when the server is ready.
fn startup_summary(loaded: &LoadedConfig, banner: &Banner, started: Instant) -> String {
    let file = match &loaded.file {
        Some(file) => format!("config {}", file.display()),
        None => "no configuration file".to_owned(),
    };
    let overrides = match loaded.environment_overrides() {
        0 => String::new(),
        1 => ", 1 value from the environment".to_owned(),
        count => format!(", {count} values from the environment"),
    };
    let version = env!("CARGO_PKG_VERSION");
    let mut lines = vec![format!("latimer {version}  {file}{overrides} (`latimer config show`)")];
    match (&banner.a2a_url, banner.disabled_reason) {
        (Some(url), _) => lines.push(format!("a2a    {url}  JSON-RPC, HTTP+JSON, gRPC")),
        (None, reason) => lines.push(format!("a2a    {}", reason.unwrap_or("not served"))),
    }
    lines.extend(
        banner.agents.iter().map(|it| format!("agent  {}  {} ({})", it.name, it.url, it.kind)),
    );
    lines.extend(banner.card_url.iter().map(|it| format!("card   {it}")));
    lines.push(match banner.recovered_tasks {
        0 => format!("store  {}", banner.store),
        1 => format!("store  {}  recovering 1 task", banner.store),
        tasks => format!("store  {}  recovering {tasks} tasks", banner.store),
    });
    lines.push(format!("ready in {} ms", started.elapsed().as_millis()));
    lines.extend(banner.curl().map(|it| format!("\nTry it:\n\n{it}\n")));
    lines.join("\n")
}

/// Builds the async runtime.
pub(crate) fn build_runtime() -> Result<Runtime, CliError> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(start_error)
}

fn start_error(error: io::Error) -> CliError {
    CliError::new(format!("cannot start: {error}"))
}
