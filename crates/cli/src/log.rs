//! The log, which goes to standard error.

use std::env;
use std::io::{self, IsTerminal};

use latimer_daemon::config::Log;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{fmt, registry};

use crate::output;

/// Begins to log as the environment says, else as the configuration does.
pub(crate) fn begin(log: &Log) {
    let said = |name| env::var(name).ok().filter(|it| !it.is_empty());
    let filter = said("LATIMER_LOG").or_else(|| said("RUST_LOG"));
    let filter = filter.unwrap_or_else(|| log.filter.clone());
    let targets = filter.parse::<Targets>().unwrap_or_else(|error| {
        output::warn(format!("the log filter {filter:?} is not understood: {error}"));
        Targets::new().with_default(Level::INFO)
    });
    let json = said("LATIMER_LOG_FORMAT").map_or(log.json, |it| it == "json");
    let colour = io::stderr().is_terminal() && said("NO_COLOR").is_none();
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(colour);
    let lines = if json { lines.json().boxed() } else { lines.boxed() };
    // It fails when there is one already, and there is not.
    registry().with(lines.with_filter(targets.and(filter_fn(is_safe)))).try_init().ok();
}

/// Whether something can be logged whatever is asked for. Of other crates that is what they say to
/// operators: what they say to their authors has addresses and headers in it, and so has secrets.
fn is_safe(what: &Metadata<'_>) -> bool {
    *what.level() <= Level::INFO || what.target().starts_with("latimer")
}
