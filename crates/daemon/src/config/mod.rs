//! The configuration: from files, the environment and options to plain data.
//!
//! Values come in layers: defaults, a file, the environment, options; a later one goes before an
//! earlier one. Everything is held against one list of keys (`raw`), so that a key which does not
//! exist is an error, with the line and a guess at what was meant.

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
    AuthConfig, Config, LogConfig, McpServer, McpTransport, RemoteAgentConfig, Serving,
    SigningConfig, StoreConfig, StoreLocation,
};
pub use raw::{
    A2aKeys, AgentConfig, AgentKind, Allow, Binding, CardConfig, ClientIdentity, CommandInput,
    CommandKeys, ContextConcurrency, DemoKeys, McpKeys, ModelKeys, OAuth, SignaturePolicy, Skill,
    Token, Upstream,
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

/// What to make a configuration of.
#[derive(Clone, Debug, Default)]
pub struct LoadRequest {
    /// The file.
    pub file: ConfigFile,
    /// What options say.
    pub flags: Vec<FlagOverride>,
    /// Everything else.
    pub environment: Environment,
}

/// Which file to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConfigFile {
    /// The first that is where it should be.
    #[default]
    Discover,
    /// This one.
    Path(PathBuf),
    /// None.
    None,
}

/// What an option says.
#[derive(Clone, Debug)]
pub struct FlagOverride {
    /// The option, such as `--listen`.
    pub option: &'static str,
    /// The key it sets, with dots.
    pub key: &'static str,
    /// The value.
    pub value: Value,
}

/// A configuration, and how it came about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedConfig {
    /// The configuration.
    pub config: Config,
    /// What should be known about it.
    pub warnings: Vec<Diagnostic>,
    /// The file it was read from, if there was one.
    pub file: Option<PathBuf>,
    tree: Node,
}

static ROOT_SECTION: SectionSpec = raw::Root::SECTION;

impl LoadedConfig {
    /// Finds, reads and checks a configuration.
    ///
    /// # Errors
    /// When a file cannot be read, or anything in it cannot be understood.
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
        diagnostics.check()?;
        let raw = read_values(&tree, environment, &mut diagnostics)?;
        let config =
            resolve::resolve(raw, &mut tree, environment, has_a2a_section, &mut diagnostics);
        diagnostics.check()?;
        Ok(Self { config, warnings: diagnostics.warnings, file, tree })
    }

    /// How many values come from the environment.
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

/// What is served when nobody said anything.
fn default_agent() -> Node {
    Node::from_value(json!([{"name": "echo", "kind": "echo"}]), &Layer::Default.into())
}

/// Reads all sections, and resolves the values in them that depend on where they were written.
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
