//! The log, which goes to standard error.

use std::env;
use std::io::{self, IsTerminal};

use latimer_daemon::config::LogConfig;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

use crate::output;

/// Begins to log as the environment says, else as the configuration does.
pub(crate) fn init(log: &LogConfig) {
    let env_value = |name| env::var(name).ok().filter(|it| !it.is_empty());
    let filter = env_value("LATIMER_LOG").or_else(|| env_value("RUST_LOG"));
    let filter = filter.unwrap_or_else(|| log.filter.clone());
    let targets = filter.parse::<Targets>().unwrap_or_else(|error| {
        output::warn(format!("the log filter {filter:?} is not understood: {error}"));
        Targets::new().with_default(Level::INFO)
    });
    let json = env_value("LATIMER_LOG_FORMAT").map_or(log.json, |it| it == "json");
    let color = io::stderr().is_terminal() && env_value("NO_COLOR").is_none();
    let layer = fmt::layer().with_writer(io::stderr).with_ansi(color);
    let layer = if json { layer.json().boxed() } else { layer.boxed() };
    // It fails when there is one already, and there is not.
    registry().with(layer.with_filter(targets.and(filter_fn(is_loggable)))).try_init().ok();
}

/// Whether something can be logged whatever is asked for. Of other crates that is what they say to
/// operators: what they say to their authors has addresses and headers in it, and so has secrets.
fn is_loggable(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= Level::INFO || metadata.target().starts_with("latimer")
}
