//! `latimer config`.

use std::io::{self, Read};
use std::path::PathBuf;

use latimer_daemon::config::{Loaded, Lookup, Request, Setting, Surroundings};
use serde_json::json;

use crate::arguments::{ConfigCheck, ConfigShow, Format};
use crate::failure::Failure;
use crate::output;
use crate::serve::runtime;

/// A request for the configuration of a file, or the one that is found.
pub(crate) fn request(file: Option<&PathBuf>) -> Request {
    Request {
        file: file.cloned().map_or(Lookup::Search, Lookup::Named),
        flags: Vec::new(),
        surroundings: Surroundings::of_this_process(),
    }
}

/// Says what is wrong.
pub(crate) fn check(arguments: &ConfigCheck) -> Result<(), Failure> {
    let loaded = Loaded::load(&request(arguments.config.as_ref()))?;
    loaded.warnings.iter().for_each(output::warn);
    if let Err(error) = runtime()?.block_on(latimer_daemon::check(&loaded.config)) {
        output::warn(format!("`latimer serve` refuses this: {error}"));
    }
    output::print(&match &loaded.file {
        Some(file) => format!("{}: ok", file.display()),
        None => "no file: the defaults hold".to_owned(),
    });
    Ok(())
}

/// Prints what holds.
pub(crate) fn show(arguments: &ConfigShow) -> Result<(), Failure> {
    let loaded = Loaded::load(&request(arguments.config.as_ref()))?;
    let settings = loaded.settings();
    output::print(&match arguments.output {
        Format::Text => text(&settings),
        Format::Json => json(&settings)?,
    });
    Ok(())
}

/// Prints the digest of the key that is read.
pub(crate) fn hash_key() -> Result<(), Failure> {
    let mut text = String::new();
    let read = io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| Failure::new(format!("the key cannot be read: {error}")))?;
    let key = text.trim_end_matches(['\r', '\n']);
    if key.is_empty() || key.trim() != key {
        // Callers could not show it: spaces at the ends of a header are not sent.
        return Err(Failure::new("a key must not be empty, nor begin or end with a space"));
    }
    output::print(&latimer_daemon::hash_key(key));
    Ok(())
}

fn text(settings: &[Setting]) -> String {
    let line = |it: &Setting| format!("{} = {}  # {}", it.key, it.value, it.origin);
    settings.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn json(settings: &[Setting]) -> Result<String, Failure> {
    let entry =
        |it: &Setting| json!({"key": it.key, "value": it.value, "source": it.origin.to_string()});
    let entries: Vec<_> = settings.iter().map(entry).collect();
    serde_json::to_string_pretty(&entries).map_err(|error| Failure::new(error.to_string()))
}
