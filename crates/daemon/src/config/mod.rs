//! Configuration: files, environment variables and command-line options as plain data.
//!
//! Values come in layers: defaults, a file, environment variables, options. A later layer overrides
//! an earlier one key by key.
//!
//! | module | contents |
//! | --- | --- |
//! | `raw` | declarations of all keys, with the macros of `section`; `key` explains how to add one |
//! | `tree`, `environment`, `env_vars` | the layers, merged into a tree that records the source of each value |
//! | `schema_check` | unknown and missing keys, aliases, defaults |
//! | `read`, `location` | conversion of nodes to values; errors name the path and the source of the node |
//! | `time`, `size`, `url` | types of values with their own syntax |
//! | `resolve` | resolution of paths and environment variables, checks across keys; yields the [`Config`] |
//! | `effective`, `reference`, `diagnostic` | output: effective values, the reference, errors and warnings |

mod diagnostic;
mod effective;
mod env_vars;
mod environment;
mod key;
mod location;
mod model;
mod raw;
mod read;
mod reference;
mod resolve;
mod schema_check;
mod section;
mod size;
mod time;
mod tree;
mod url;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

pub use diagnostic::{ConfigError, Diagnostic};
pub use effective::EffectiveSetting;
pub use environment::Environment;
pub use model::{
    AuthConfig, Config, LogConfig, McpServer, McpTransport, RemoteAgentConfig, ServingMode,
    SigningConfig, StoreConfig, StoreLocation,
};
pub use raw::{
    A2aKeys, AgentConfig, AgentKind, AllowKeys, Binding, CardConfig, ClientIdentity, CommandInput,
    CommandKeys, ContextConcurrency, DemoKeys, McpKeys, ModelKeys, OAuthKeys, SignaturePolicy,
    Skill, TokenKeys, Upstream,
};
pub use reference::reference;
pub use size::ByteSize;
pub use tree::{Layer, Provenance};
pub use url::HttpUrl;

use diagnostic::Diagnostics;
use key::SectionSpec;
use location::Location;
use read::{ConfigSection, ConfigValue};
use resolve::Resolve;
use tree::Node;

/// Sources of a configuration.
#[derive(Clone, Debug, Default)]
pub struct LoadRequest {
    /// Configuration file to read.
    pub file: ConfigFile,
    /// Values of command-line options.
    pub flags: Vec<FlagOverride>,
    /// Current directory and environment variables.
    pub environment: Environment,
}

/// Configuration file to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConfigFile {
    /// The file that `LATIMER_CONFIG` names, otherwise the first that exists of `latimer.toml` in the
    /// current directory, its parents in the same repository, and the configuration directories of
    /// the user and of the machine. No file if none exists.
    #[default]
    Discover,
    /// This file; it is an error if it does not exist.
    Path(PathBuf),
    /// No file.
    None,
}

/// Value of a command-line option.
#[derive(Clone, Debug)]
pub struct FlagOverride {
    /// Name of the option, such as `--listen`.
    pub option: &'static str,
    /// Path of the key that it sets, such as `store.path`.
    pub key: &'static str,
    /// Value of the key.
    pub value: Value,
}

/// A valid configuration with the sources of its values.
///
/// ```
/// use latimer_daemon::config::{ConfigFile, FlagOverride, LoadRequest, LoadedConfig};
///
/// let flag = FlagOverride { option: "--store", key: "store.kind", value: "memory".into() };
/// let request =
///     LoadRequest { file: ConfigFile::None, flags: vec![flag], ..LoadRequest::default() };
/// let loaded = LoadedConfig::load(&request)?;
/// assert_eq!(loaded.config.listen, "127.0.0.1:50051");
/// let settings = loaded.effective_settings();
/// let kind = settings.iter().find(|it| it.key == "store.kind").unwrap();
/// assert_eq!(kind.provenance.to_string(), "option --store");
/// # Ok::<(), latimer_daemon::config::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedConfig {
    /// The configuration that the daemon runs with.
    pub config: Config,
    /// Problems that do not prevent its use.
    pub warnings: Vec<Diagnostic>,
    /// File that it was read from, if any.
    pub file: Option<PathBuf>,
    tree: Node,
}

static ROOT_SECTION: SectionSpec = raw::Root::SECTION;

impl LoadedConfig {
    /// Reads the sources of a configuration, merges and checks them.
    ///
    /// # Errors
    /// Returns [`ConfigError::Unreadable`] if the file cannot be read, and [`ConfigError::Invalid`] with
    /// all errors if a key or value is invalid.
    pub fn load(request: &LoadRequest) -> Result<Self, ConfigError> {
        let LoadRequest { environment, .. } = request;
        let mut diagnostics = Diagnostics::default();
        let file = match &request.file {
            ConfigFile::Discover => environment.find_config_file(),
            ConfigFile::Path(path) => Some(path.clone()),
            ConfigFile::None => None,
        };
        let errors = &mut diagnostics.errors;
        let mut tree = match &file {
            Some(path) => read_file(path, &environment.current_dir, errors)?,
            None => Node::empty_table(Layer::Default),
        };
        tree.merge(env_vars::read(&environment.vars, &ROOT_SECTION, errors));
        tree.merge(read_flags(&request.flags, errors));
        if file.is_none() && tree.get(["agents"]).is_none() {
            tree.set(["agents"], default_agent());
        }
        let has_a2a_section = tree.get(["a2a"]).is_some();
        schema_check::fill_defaults(&mut tree, &ROOT_SECTION);
        diagnostics.fail_on_errors()?;
        let raw = read_values(&tree, environment, &mut diagnostics)?;
        let config =
            resolve::resolve(raw, &mut tree, environment, has_a2a_section, &mut diagnostics);
        diagnostics.fail_on_errors()?;
        Ok(Self { config, warnings: diagnostics.warnings, file, tree })
    }

    /// Returns the number of values that environment variables set.
    #[must_use]
    pub fn environment_overrides(&self) -> usize {
        let from_environment =
            |it: &EffectiveSetting| matches!(it.provenance.layer, Layer::Environment(_));
        self.effective_settings().iter().filter(|it| from_environment(it)).count()
    }
}

fn read_file(
    path: &Path,
    current_dir: &Path,
    errors: &mut Vec<Diagnostic>,
) -> Result<Node, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let text = std::fs::read_to_string(current_dir.join(path)).map_err(unreadable)?;
    let mut tree = Node::parse(path, &text)?;
    schema_check::normalize(&mut tree, &ROOT_SECTION, errors);
    Ok(tree)
}

fn read_flags(flags: &[FlagOverride], errors: &mut Vec<Diagnostic>) -> Node {
    let mut tree = Node::empty_table(Layer::Default);
    for FlagOverride { option, key, value } in flags {
        let provenance = Provenance::from(Layer::Flag(Arc::from(*option)));
        tree.set(key.split('.'), Node::from_value(value.clone(), &provenance));
    }
    schema_check::normalize(&mut tree, &ROOT_SECTION, errors);
    tree
}

/// Returns the agent that is served without a configuration.
fn default_agent() -> Node {
    Node::from_value(json!([{"name": "echo", "kind": "echo"}]), &Layer::Default.into())
}

/// Reads all sections, and resolves paths and environment variables in their values.
fn read_values(
    tree: &Node,
    environment: &Environment,
    diagnostics: &mut Diagnostics,
) -> Result<raw::Root, ConfigError> {
    let at = Location::root(tree, environment);
    let Some(mut raw) = raw::Root::read(&at, diagnostics) else {
        return Err(ConfigError::Invalid(std::mem::take(&mut diagnostics.errors)));
    };
    raw.resolve(&at, diagnostics);
    Ok(raw)
}

#[cfg(test)]
mod tests;
