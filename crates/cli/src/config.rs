//! `latimer config`.

use std::io::{self, Read};
use std::path::PathBuf;

use latimer_daemon::config::{
    ConfigFile, EffectiveSetting, Environment, LoadRequest, LoadedConfig,
};
use serde_json::json;

use crate::args::{ConfigCheck, ConfigShow, OutputFormat};
use crate::error::CliError;
use crate::output;
use crate::serve::build_runtime;

/// Creates a load request for a file, or for the discovered file if none is given.
pub(crate) fn load_request(file: Option<&PathBuf>) -> LoadRequest {
    LoadRequest {
        file: file.cloned().map_or(ConfigFile::Discover, ConfigFile::Path),
        flags: Vec::new(),
        environment: Environment::current(),
    }
}

/// Reports errors and warnings in the configuration.
pub(crate) fn check(args: &ConfigCheck) -> Result<(), CliError> {
    let loaded = LoadedConfig::load(&load_request(args.config.as_ref()))?;
    loaded.warnings.iter().for_each(output::warn);
    if let Err(error) = build_runtime()?.block_on(latimer_daemon::validate(&loaded.config)) {
        output::warn(format!("`latimer serve` rejects this configuration: {error}"));
    }
    latimer_daemon::missing_programs(&loaded.config).iter().for_each(output::warn);
    output::print(&match &loaded.file {
        Some(file) => format!("{}: ok", file.display()),
        None => "no configuration file: defaults are used".to_owned(),
    })?;
    Ok(())
}

/// Prints effective settings and the source of each.
pub(crate) fn show(args: &ConfigShow) -> Result<(), CliError> {
    let loaded = LoadedConfig::load(&load_request(args.config.as_ref()))?;
    let settings = loaded.effective_settings();
    output::print(&match args.output {
        OutputFormat::Text => settings_text(&settings),
        OutputFormat::Json => settings_json(&settings)?,
    })?;
    Ok(())
}

/// Prints the digest of the API key on standard input.
pub(crate) fn hash_key() -> Result<(), CliError> {
    let mut input = String::new();
    let read = io::stdin().lock().read_to_string(&mut input);
    read.map_err(|error| CliError::new(format!("cannot read the key: {error}")))?;
    let key = input.trim_end_matches(['\r', '\n']);
    if key.is_empty() {
        return Err(CliError::new("the key is empty").with_hint("pass it as standard input"));
    }
    if key.trim() != key {
        // HTTP strips spaces around a header value, so clients could not send such a key.
        let error = CliError::new("the key starts or ends with a space");
        return Err(error.with_hint("remove the surrounding spaces"));
    }
    output::print(&latimer_daemon::hash_key(key))?;
    Ok(())
}

fn settings_text(settings: &[EffectiveSetting]) -> String {
    let line = |it: &EffectiveSetting| format!("{} = {}  # {}", it.key, it.value, it.provenance);
    settings.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn settings_json(settings: &[EffectiveSetting]) -> Result<String, CliError> {
    let entry = |it: &EffectiveSetting| json!({"key": it.key, "value": it.value, "source": it.provenance.to_string()});
    let entries: Vec<_> = settings.iter().map(entry).collect();
    serde_json::to_string_pretty(&entries).map_err(|error| CliError::new(error.to_string()))
}
