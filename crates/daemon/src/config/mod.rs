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
mod model;
mod raw;
mod reference;
mod resolve;
mod schema_check;
mod size;
mod time;
mod tree;
mod upstream;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

pub use diagnostic::{ConfigError, Diagnostic};
pub use effective::EffectiveSetting;
pub use environment::Environment;
pub use model::{
    AgentConfig, AgentKind, AuthConfig, CardConfig, CommandConfig, Config, DemoConfig, LogConfig,
    McpServer, McpTransport, RemoteAgentConfig, Serving, SigningConfig, StoreConfig, StoreLocation,
};
pub use reference::reference;
pub use tree::{Layer, Provenance};
pub use upstream::{IdentityConfig, OAuthConfig, SignaturePolicy, UpstreamConfig};

use key::{ConfigSection, KeyKind, SectionSpec, ValueKind};
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

const ROOT_SECTION: SectionSpec = raw::Root::SECTION;

impl LoadedConfig {
    /// Finds, reads and checks a configuration.
    ///
    /// # Errors
    /// When a file cannot be read, or anything in it cannot be understood.
    pub fn load(request: &LoadRequest) -> Result<Self, ConfigError> {
        let LoadRequest { environment, .. } = request;
        let mut errors = Vec::new();
        let file = match &request.file {
            ConfigFile::Discover => environment.find_config_file(),
            ConfigFile::Path(path) => Some(path.clone()),
            ConfigFile::None => None,
        };
        let mut tree = match &file {
            Some(path) => read_file(path, &environment.current_dir, &mut errors)?,
            None => Node::empty_table(Layer::Default),
        };
        tree.merge(env_vars::read(&environment.vars, &ROOT_SECTION, &mut errors));
        tree.merge(read_flags(&request.flags, &mut errors));
        if file.is_none() && tree.get(["agents"]).is_none() {
            tree.set(["agents"], default_agent());
        }
        let has_a2a_section = tree.get(["a2a"]).is_some();
        schema_check::fill_defaults(&mut tree, &ROOT_SECTION);
        if !errors.is_empty() {
            return Err(ConfigError::Invalid(errors));
        }
        let raw = deserialize(&tree)?;
        let resolved = resolve::resolve(raw, &mut tree, environment, has_a2a_section)?;
        let (config, warnings) = resolved;
        Ok(Self { config, warnings, file, tree })
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

fn deserialize(tree: &Node) -> Result<raw::Root, Diagnostic> {
    serde_path_to_error::deserialize(tree.to_value()).map_err(|error| {
        let path: Vec<String> = error.path().iter().map(ToString::to_string).collect();
        let path: Vec<String> =
            path.iter().map(|it| it.trim_matches(['[', ']']).to_owned()).collect();
        let provenance = tree.deepest_existing(path.iter().map(String::as_str)).provenance.clone();
        // What was said is shown, unless nobody should see it.
        let detail = match is_secret(&path) {
            true => "must be a text".to_owned(),
            false => error.inner().to_string(),
        };
        Diagnostic::new(provenance, format!("`{}`: {detail}", tree::format_path(&path)))
    })
}

/// Whether what stands at a path is a secret.
fn is_secret(path: &[String]) -> bool {
    let mut section = &ROOT_SECTION;
    for step in path {
        let Some(key) = section.find_key(step) else { continue };
        match key.kind {
            KeyKind::Value(_, ValueKind::Secret | ValueKind::Secrets) => return true,
            KeyKind::Value(_, ValueKind::Text | ValueKind::Other) => return false,
            KeyKind::Table(inner) | KeyKind::TableList(inner) | KeyKind::NamedTables(inner) => {
                section = inner
            }
        }
    }
    false
}

#[cfg(test)]
mod tests;
