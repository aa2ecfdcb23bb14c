//! The configuration: from files, the environment and options to plain data.
//!
//! Values come in layers: defaults, a file, the environment, options; a later one goes before an
//! earlier one. Everything is held against one list of keys (`raw`), so that a key which does not
//! exist is an error, with the line and a guess at what was meant.

mod check;
mod environment;
mod key;
mod model;
mod problem;
mod raw;
mod reference;
mod resolve;
mod show;
mod size;
mod surroundings;
mod time;
mod tree;
mod upstream;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

pub use model::{
    AgentConfig, AuthConfig, Behind, CardConfig, CommandConfig, Config, DemoConfig, Log, McpServer,
    McpTransport, Place, RemoteAgent, Serving, SigningConfig, StoreConfig,
};
pub use problem::{ConfigError, Problem};
pub use reference::reference;
pub use show::Setting;
pub use surroundings::Surroundings;
pub use tree::{Origin, Source};
pub use upstream::{IdentityConfig, OAuthConfig, Signatures, UpstreamConfig};

use key::{Content, Section, Shape, Table};
use tree::Node;

/// What to make a configuration of.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The file.
    pub file: Lookup,
    /// What options say.
    pub flags: Vec<Flag>,
    /// Everything else.
    pub surroundings: Surroundings,
}

/// Which file to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Lookup {
    /// The first that is where it should be.
    #[default]
    Search,
    /// This one.
    Named(PathBuf),
    /// None.
    None,
}

/// What an option says.
#[derive(Clone, Debug)]
pub struct Flag {
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
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// What should be known about it.
    pub warnings: Vec<Problem>,
    /// The file it was read from, if there was one.
    pub file: Option<PathBuf>,
    tree: Node,
}

const ROOT: Section = raw::Root::SECTION;

impl Loaded {
    /// Finds, reads and checks a configuration.
    ///
    /// # Errors
    /// When a file cannot be read, or anything in it cannot be understood.
    pub fn load(request: &Request) -> Result<Self, ConfigError> {
        let Request { surroundings, .. } = request;
        let mut problems = Vec::new();
        let file = match &request.file {
            Lookup::Search => surroundings.find_file(),
            Lookup::Named(path) => Some(path.clone()),
            Lookup::None => None,
        };
        let mut tree = match &file {
            Some(path) => read_file(path, &surroundings.folder, &mut problems)?,
            None => Node::table(Source::Default),
        };
        tree.overlay(environment::read(&surroundings.variables, &ROOT, &mut problems));
        tree.overlay(read_flags(&request.flags, &mut problems));
        if file.is_none() && tree.get(["agents"]).is_none() {
            tree.set(["agents"], embedded_agent());
        }
        let said_a2a = tree.get(["a2a"]).is_some();
        check::fill(&mut tree, &ROOT);
        if !problems.is_empty() {
            return Err(ConfigError::Invalid(problems));
        }
        let raw = deserialise(&tree)?;
        let resolved = resolve::resolve(raw, &mut tree, surroundings, said_a2a)?;
        let (config, warnings) = resolved;
        Ok(Self { config, warnings, file, tree })
    }

    /// How many values come from the environment.
    #[must_use]
    pub fn overrides(&self) -> usize {
        let from_environment = |it: &Setting| matches!(it.origin.source, Source::Environment(_));
        self.settings().iter().filter(|it| from_environment(it)).count()
    }
}

fn read_file(path: &Path, folder: &Path, problems: &mut Vec<Problem>) -> Result<Node, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let text = std::fs::read_to_string(folder.join(path)).map_err(unreadable)?;
    let mut tree = Node::read(path, &text)?;
    check::normalise(&mut tree, &ROOT, problems);
    Ok(tree)
}

fn read_flags(flags: &[Flag], problems: &mut Vec<Problem>) -> Node {
    let mut tree = Node::table(Source::Default);
    for Flag { option, key, value } in flags {
        let origin = Origin::from(Source::Flag(Arc::from(*option)));
        tree.set(key.split('.'), Node::of(value.clone(), &origin));
    }
    check::normalise(&mut tree, &ROOT, problems);
    tree
}

/// What is served when nobody said anything.
fn embedded_agent() -> Node {
    Node::of(json!([{"name": "echo", "kind": "echo"}]), &Source::Default.into())
}

fn deserialise(tree: &Node) -> Result<raw::Root, Problem> {
    serde_path_to_error::deserialize(tree.to_value()).map_err(|error| {
        let path: Vec<String> = error.path().iter().map(ToString::to_string).collect();
        let path: Vec<String> =
            path.iter().map(|it| it.trim_matches(['[', ']']).to_owned()).collect();
        let origin = tree.nearest(path.iter().map(String::as_str)).origin.clone();
        // What was said is shown, unless nobody should see it.
        let what = match is_secret(&path) {
            true => "must be a text".to_owned(),
            false => error.inner().to_string(),
        };
        Problem::new(origin, format!("`{}`: {what}", tree::spell(&path)))
    })
}

/// Whether what stands at a path is a secret.
fn is_secret(path: &[String]) -> bool {
    let mut section = &ROOT;
    for step in path {
        let Some(key) = section.key(step) else { continue };
        match key.shape {
            Shape::Value(_, Content::Secret | Content::Secrets) => return true,
            Shape::Value(_, Content::Text | Content::Other) => return false,
            Shape::Table(inner) | Shape::List(inner) | Shape::Named(inner) => section = inner,
        }
    }
    false
}

#[cfg(test)]
mod tests;
