//! From what was read to what is used.

mod agent;
mod auth;
mod elsewhere;
mod listen;
mod push;
mod settings;
mod upstream;

use std::path::{Path, PathBuf};

use http::HeaderValue;
use latimer_store::Retention;
use serde_json::Value;

use super::raw::{self, StoreKind};
use super::tree::{Node, Origin, Source};
use super::{
    Config, ConfigError, Log, Place, Problem, Serving, SigningConfig, StoreConfig, Surroundings,
};

/// What is used, and what should be known about it. What is worked out only here is added to the
/// tree, so that it can be shown.
pub(crate) fn resolve(
    raw: raw::Root,
    tree: &mut Node,
    surroundings: &Surroundings,
    said_a2a: bool,
) -> Result<(Config, Vec<Problem>), ConfigError> {
    let mut resolve = Resolve {
        tree,
        surroundings,
        user_agent: None,
        problems: Vec::new(),
        warnings: Vec::new(),
    };
    let config = resolve.config(raw, said_a2a);
    match resolve.problems.is_empty() {
        true => Ok((config, resolve.warnings)),
        false => Err(ConfigError::Invalid(resolve.problems)),
    }
}

struct Resolve<'a> {
    tree: &'a mut Node,
    surroundings: &'a Surroundings,
    /// What we call ourselves elsewhere.
    user_agent: Option<HeaderValue>,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl Resolve<'_> {
    fn config(&mut self, raw: raw::Root, said_a2a: bool) -> Config {
        let listen = self.listen(&raw);
        self.check_listen(&listen);
        self.check_url(&["public_url"], raw.public_url.as_deref());
        let serving = match (raw.a2a.enabled, raw.agents.is_empty()) {
            (Some(true), _) | (None, false) => Serving::On,
            (Some(false), _) => Serving::Disabled,
            (None, true) if said_a2a => Serving::Disabled,
            (None, true) => Serving::Absent,
        };
        self.user_agent = self.user_agent(raw.server.user_agent.as_deref());
        let settings = self.settings(&raw, serving);
        let agents = self.agents(raw.agents);
        self.check_primary(raw.primary_agent.as_deref(), &agents);
        self.check_public_paths(&raw.public_paths);
        let config = Config {
            listen,
            api_key: raw.api_key.filter(|it| !it.reveal().is_empty()),
            auth: self.auth(raw.auth, &raw.tls),
            tls: self.tls(raw.tls),
            dangerously_allow_unauthenticated_remote: raw.dangerously_allow_unauthenticated_remote,
            primary_agent: raw.primary_agent,
            serving,
            settings,
            remote_agents: self.remote_agents(raw.a2a.external_agents, raw.a2a.remote_agents),
            agents,
            mcp_servers: self.mcp_servers(raw.mcp_servers),
            store: self.store(raw.store),
            signing: self.signing(raw.signing),
            log: Log { filter: raw.log.filter, json: raw.log.format == raw::LogFormat::Json },
        };
        self.check_guarded(config.is_guarded(), raw.card_requires_auth, &config.agents);
        config
    }

    fn user_agent(&mut self, said: Option<&str>) -> Option<HeaderValue> {
        let said = HeaderValue::from_str(said?).ok();
        if said.as_ref().is_none_or(HeaderValue::is_empty) {
            let message = "`server.user_agent` is nothing that a header can carry";
            self.problem(&["server", "user_agent"], message, "write it like \"Example/1.0\"");
        }
        said
    }

    fn check_url(&mut self, path: &[&str], url: Option<&str>) {
        let Some(url) = url else { return };
        let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))
        else {
            let message = format!("`{}` is no address", path.join("."));
            return self.problem(path, message, "begin it with https:// or http://");
        };
        if rest.split(['/', '?', '#']).next().is_some_and(|it| it.contains('@')) {
            let message = format!("`{}` has a user name or a password in it", path.join("."));
            self.problem(path, message, "leave it out: addresses are shown to everybody");
        }
    }

    fn store(&mut self, raw: raw::Store) -> StoreConfig {
        let (place, usual) = match raw.kind {
            StoreKind::Memory => (Place::Memory, Retention::DEFAULT_MEMORY),
            StoreKind::Sqlite => {
                let full = raw.durability == raw::Durable::Full;
                let path = self.store_path(raw.path.as_deref());
                (Place::Sqlite { path, full }, Retention::DEFAULT_DISK)
            }
        };
        let retention = Retention {
            max_tasks: raw.max_tasks.unwrap_or(usual.max_tasks),
            max_contexts: raw.max_contexts.unwrap_or(usual.max_contexts),
            max_age: raw.max_age.map_or(usual.max_age, |it| it.0),
            sweep_interval: raw.sweep_every.0,
        };
        StoreConfig { place, retention }
    }

    fn signing(&mut self, raw: raw::Signing) -> Option<SigningConfig> {
        if raw.key.is_none() && !raw.publish.is_empty() {
            let message = "`signing.publish` means nothing without `signing.key`";
            self.problem(&["signing", "publish"], message, "set `signing.key`");
        }
        let publish = raw.publish.iter().enumerate().map(|(place, path)| {
            self.path(&["signing", "publish", &place.to_string()], Path::new(path))
        });
        let publish = publish.collect();
        Some(SigningConfig { key: self.path(&["signing", "key"], &raw.key?), publish })
    }

    fn store_path(&mut self, said: Option<&Path>) -> PathBuf {
        let key = ["store", "path"];
        if let Some(path) = said {
            return self.path(&key, path);
        }
        let Some(folder) = self.surroundings.data_folder() else {
            let message =
                "there is no folder to keep tasks in: neither HOME nor XDG_DATA_HOME is set";
            self.problem(&key, message, "set `store.path`, or `store.kind = \"memory\"`");
            return PathBuf::new();
        };
        let path = folder.join("latimer.db");
        let value = Value::from(path.to_string_lossy());
        self.tree.set(key, Node::of(value, &Source::Default.into()));
        path
    }

    /// A path is relative to the file that has it, or else to the current folder.
    fn path(&mut self, key: &[&str], path: &Path) -> PathBuf {
        let text = path.to_string_lossy();
        if text.contains('\n') || text.starts_with('{') {
            // A key, most likely, so that it is not repeated.
            let message =
                format!("`{}` has what belongs into a file, and not its path", key.join("."));
            self.problem(key, message, "write it to a file that only its owner can read");
        }
        let origin = self.origin(key);
        let folder = origin.folder().unwrap_or(Path::new(""));
        self.surroundings.folder.join(folder).join(path)
    }

    fn origin(&self, path: &[&str]) -> Origin {
        self.tree.nearest(path.iter().copied()).origin.clone()
    }

    fn problem(&mut self, path: &[&str], message: impl Into<String>, hint: impl Into<String>) {
        let origin = self.origin(path);
        self.problems.push(Problem::new(origin, message).hint(hint));
    }

    fn warning(&mut self, path: &[&str], message: impl Into<String>) {
        let origin = self.origin(path);
        self.warnings.push(Problem::new(origin, message));
    }
}
