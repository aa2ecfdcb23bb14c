//! Log messages, which are written to standard error.

use std::io::{self, IsTerminal};
use std::{env, panic};

use latimer_daemon::config::LogConfig;
use tracing::{Level, Metadata, error};
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

use crate::output;

/// Initializes logging, in the format that [`set_format`] has set. `LATIMER_LOG` and `RUST_LOG`
/// override the filter of the configuration; an invalid filter is reported and replaced by `info`.
pub(crate) fn init(log: &LogConfig) {
    let filter = env_value("LATIMER_LOG").or_else(|| env_value("RUST_LOG"));
    let filter = filter.unwrap_or_else(|| log.filter.clone());
    let targets = filter.parse::<Targets>().unwrap_or_else(|error| {
        output::warn(format!("invalid log filter {filter:?}, using `info`: {error}"));
        Targets::new().with_default(Level::INFO)
    });
    let json = output::has_json_lines();
    if json {
        // The default hook prints lines of text.
        panic::set_hook(Box::new(|panic| error!(%panic, "panicked")));
    }
    let color = io::stderr().is_terminal() && env_value("NO_COLOR").is_none();
    let layer = fmt::layer().with_writer(io::stderr).with_ansi(color);
    let layer = if json { layer.json().boxed() } else { layer.boxed() };
    // Fails only if a subscriber is already set, and this is the only place that sets one.
    registry().with(layer.with_filter(targets.and(filter_fn(is_loggable)))).try_init().ok();
}

/// Sets the format of all lines that a server writes: that of `LATIMER_LOG_FORMAT`, else that of the
/// configuration, else text.
pub(crate) fn set_format(log: Option<&LogConfig>) {
    let configured = log.is_some_and(|it| it.json);
    output::set_json_lines(env_value("LATIMER_LOG_FORMAT").map_or(configured, |it| it == "json"));
}

fn env_value(name: &str) -> Option<String> {
    env::var(name).ok().filter(|it| !it.is_empty())
}

/// Returns whether a message may be logged, independent of the filter. Dependencies are limited to `info`:
/// their debug messages contain addresses and headers, and thus secrets.
fn is_loggable(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= Level::INFO || metadata.target().starts_with("latimer")
}
