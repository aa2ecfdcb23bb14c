//! Log messages, which are written to standard error.

use std::env;
use std::io::{self, IsTerminal};

use latimer_daemon::config::LogConfig;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

use crate::output;

/// Initializes logging. `LATIMER_LOG`, `RUST_LOG` and `LATIMER_LOG_FORMAT` override the
/// configuration; an invalid filter is reported and replaced by `info`.
pub(crate) fn init(log: &LogConfig) {
    let env_value = |name| env::var(name).ok().filter(|it| !it.is_empty());
    let filter = env_value("LATIMER_LOG").or_else(|| env_value("RUST_LOG"));
    let filter = filter.unwrap_or_else(|| log.filter.clone());
    let targets = filter.parse::<Targets>().unwrap_or_else(|error| {
        output::warn(format!("invalid log filter {filter:?}, using `info`: {error}"));
        Targets::new().with_default(Level::INFO)
    });
    let json = env_value("LATIMER_LOG_FORMAT").map_or(log.json, |it| it == "json");
    let color = io::stderr().is_terminal() && env_value("NO_COLOR").is_none();
    let layer = fmt::layer().with_writer(io::stderr).with_ansi(color);
    let layer = if json { layer.json().boxed() } else { layer.boxed() };
    // Fails only if a subscriber is already set, and this is the only place that sets one.
    registry().with(layer.with_filter(targets.and(filter_fn(is_loggable)))).try_init().ok();
}

/// Returns whether a message may be logged, independent of the filter. Dependencies are limited to `info`:
/// their debug messages contain addresses and headers, and thus secrets.
fn is_loggable(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= Level::INFO || metadata.target().starts_with("latimer")
}
