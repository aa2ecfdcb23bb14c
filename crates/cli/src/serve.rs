//! `latimer serve` and `latimer demo-server`.

use std::io;
use std::time::{Duration, Instant};

use latimer_daemon::config::{
    Config, ConfigFile, Environment, FlagOverride, LoadRequest, LoadedConfig,
};
use latimer_daemon::{Banner, Daemon, PublishedAgent, missing_programs, shell_command, validate};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tracing::{Level, info};

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
        check_programs(&loaded.config)?;
        output::print("ok")?;
        return Ok(());
    }
    run(&loaded)
}

/// Fails if a program of an agent does not exist. A server without it starts, but each of its turns
/// fails.
fn check_programs(config: &Config) -> Result<(), CliError> {
    let missing: Vec<_> = missing_programs(config).iter().map(ToString::to_string).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let hint = "install it on `PATH`, or name it by its path";
    Err(CliError::usage(missing.join("\nerror: ")).with_hint(hint))
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
        if !args.env.is_empty() {
            exec["env"] = json!(args.env);
        }
        if args.inherit_env {
            exec["inherit_env"] = json!(true);
            exec["inherit_home"] = json!(true);
        }
        agent("--exec", exec);
    }
    if let Some(url) = &args.proxy {
        let mut proxy = json!({"name": "proxy", "kind": "a2a", "url": url});
        if let Some(token) = &args.token {
            proxy["auth_token"] = json!(token);
        }
        if let Some(name) = &args.token_env {
            proxy["auth_token_env"] = json!(name);
        }
        if args.call_url {
            proxy["call_url"] = json!(true);
        }
        agent("--proxy", proxy);
    }
    flags
}

fn listen_flag(address: Option<&str>) -> Option<FlagOverride> {
    address.map(|it| FlagOverride { option: "--listen", key: "listen", value: json!(it) })
}

fn load(request: &LoadRequest) -> Result<LoadedConfig, CliError> {
    log::set_format(None);
    let loaded = LoadedConfig::load(request)?;
    log::set_format(Some(&loaded.config.log));
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
            _ = signals.shutdown_requested() => return Ok(()),
        };
        print_summary(&match output::has_json_lines() {
            true => json_summary(loaded, daemon.banner(), started),
            false => startup_summary(loaded, daemon.banner(), started),
        });
        signals.shutdown_requested().await;
        info!("shutdown requested: a second signal, such as Ctrl-C, stops at once");
        let unfinished = daemon.unfinished_tasks();
        let second_signal = async {
            let signal = signals.shutdown_requested().await;
            // Counted here, because `select` drops the daemon before it runs the handler.
            (signal, unfinished.outcome(unfinished.count()))
        };
        tokio::select! {
            stopped_turns = daemon.shutdown() => {
                info!(tasks = unfinished.outcome(stopped_turns), "stopped");
                Ok(())
            }
            (signal, tasks) = second_signal => Err(CliError::stopped_at_once(signal, &tasks)),
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

/// Formats the summary as a line of JSON.
fn json_summary(loaded: &LoadedConfig, banner: &Banner, started: Instant) -> String {
    let agent = |it: &PublishedAgent| json!({"name": it.name, "url": it.url, "kind": it.kind});
    let summary = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "config": loaded.file,
        "values_from_environment": loaded.environment_overrides(),
        "a2a_url": banner.a2a_url,
        "disabled_reason": banner.disabled_reason,
        "card_url": banner.card_url,
        "agents": banner.agents.iter().map(agent).collect::<Vec<_>>(),
        "store": banner.store,
        "recovered_tasks": banner.recovered_tasks,
        "startup_ms": u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    let Value::Object(fields) = summary else { return String::new() };
    output::json_line(Level::INFO, "ready", fields)
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
