//! From what was read to what is used.

mod agent;
mod auth;
mod listen;
mod push;
mod settings;
mod unpublished;
mod upstream;

use std::path::{Path, PathBuf};

use http::HeaderValue;
use latimer_store::{Durability, Retention};
use serde_json::Value;

use super::raw::{self, StoreKind};
use super::tree::{Layer, Node, Provenance};
use super::{
    Config, ConfigError, Diagnostic, Environment, LogConfig, Serving, SigningConfig, StoreConfig,
    StoreLocation,
};

/// What is used, and what should be known about it. What is worked out only here is added to the
/// tree, so that it can be shown.
pub(crate) fn resolve(
    raw: raw::Root,
    tree: &mut Node,
    environment: &Environment,
    has_a2a_section: bool,
) -> Result<(Config, Vec<Diagnostic>), ConfigError> {
    let mut resolver =
        Resolver { tree, environment, user_agent: None, errors: Vec::new(), warnings: Vec::new() };
    let config = resolver.config(raw, has_a2a_section);
    match resolver.errors.is_empty() {
        true => Ok((config, resolver.warnings)),
        false => Err(ConfigError::Invalid(resolver.errors)),
    }
}

struct Resolver<'a> {
    tree: &'a mut Node,
    environment: &'a Environment,
    /// What we call ourselves elsewhere.
    user_agent: Option<HeaderValue>,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl Resolver<'_> {
    fn config(&mut self, raw: raw::Root, has_a2a_section: bool) -> Config {
        let listen = self.listen(&raw);
        self.check_listen(&listen);
        self.check_url(&["public_url"], raw.public_url.as_deref());
        let serving = match (raw.a2a.enabled, raw.agents.is_empty()) {
            (Some(true), _) | (None, false) => Serving::Enabled,
            (Some(false), _) => Serving::Disabled,
            (None, true) if has_a2a_section => Serving::Disabled,
            (None, true) => Serving::NotConfigured,
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
            log: LogConfig { filter: raw.log.filter, json: raw.log.format == raw::LogFormat::Json },
        };
        self.check_auth_settings(config.requires_auth(), raw.card_requires_auth, &config.agents);
        config
    }

    fn user_agent(&mut self, configured: Option<&str>) -> Option<HeaderValue> {
        let header = HeaderValue::from_str(configured?).ok();
        if header.as_ref().is_none_or(HeaderValue::is_empty) {
            let message = "`server.user_agent` is nothing that a header can carry";
            self.report_error(&["server", "user_agent"], message, "write it like \"Example/1.0\"");
        }
        header
    }

    fn check_url(&mut self, path: &[&str], url: Option<&str>) {
        let Some(url) = url else { return };
        let Some(rest) = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))
        else {
            let message = format!("`{}` is no address", path.join("."));
            return self.report_error(path, message, "begin it with https:// or http://");
        };
        if rest.split(['/', '?', '#']).next().is_some_and(|it| it.contains('@')) {
            let message = format!("`{}` has a user name or a password in it", path.join("."));
            self.report_error(path, message, "leave it out: addresses are shown to everybody");
        }
    }

    fn store(&mut self, raw: raw::Store) -> StoreConfig {
        let (location, defaults) = match raw.kind {
            StoreKind::Memory => (StoreLocation::Memory, Retention::DEFAULT_MEMORY),
            StoreKind::Sqlite => {
                let durability = match raw.durability {
                    raw::Durability::Full => Durability::Full,
                    raw::Durability::Process => Durability::Process,
                };
                let path = self.store_path(raw.path.as_deref());
                (StoreLocation::Sqlite { path, durability }, Retention::DEFAULT_DISK)
            }
        };
        let retention = Retention {
            max_tasks: raw.max_tasks.unwrap_or(defaults.max_tasks),
            max_contexts: raw.max_contexts.unwrap_or(defaults.max_contexts),
            max_age: raw.max_age.map_or(defaults.max_age, |it| it.0),
            sweep_interval: raw.sweep_every.0,
        };
        StoreConfig { location, retention }
    }

    fn signing(&mut self, raw: raw::Signing) -> Option<SigningConfig> {
        if raw.key.is_none() && !raw.publish.is_empty() {
            let message = "`signing.publish` means nothing without `signing.key`";
            self.report_error(&["signing", "publish"], message, "set `signing.key`");
        }
        let publish = raw.publish.iter().enumerate().map(|(index, path)| {
            self.path(&["signing", "publish", &index.to_string()], Path::new(path))
        });
        let publish = publish.collect();
        Some(SigningConfig {
            key_file: self.path(&["signing", "key"], &raw.key?),
            published_key_files: publish,
        })
    }

    fn store_path(&mut self, configured: Option<&Path>) -> PathBuf {
        let key = ["store", "path"];
        if let Some(path) = configured {
            return self.path(&key, path);
        }
        let Some(data_dir) = self.environment.data_dir() else {
            let message =
                "there is no folder to keep tasks in: neither HOME nor XDG_DATA_HOME is set";
            self.report_error(&key, message, "set `store.path`, or `store.kind = \"memory\"`");
            return PathBuf::new();
        };
        let path = data_dir.join("latimer.db");
        let value = Value::from(path.to_string_lossy());
        self.tree.set(key, Node::from_value(value, &Layer::Default.into()));
        path
    }

    /// A path is relative to the file that has it, or else to the current folder.
    fn path(&mut self, key: &[&str], path: &Path) -> PathBuf {
        let text = path.to_string_lossy();
        if text.contains('\n') || text.starts_with('{') {
            // A key, most likely, so that it is not repeated.
            let message =
                format!("`{}` has what belongs into a file, and not its path", key.join("."));
            self.report_error(key, message, "write it to a file that only its owner can read");
        }
        let provenance = self.provenance(key);
        let base_dir = provenance.base_dir().unwrap_or(Path::new(""));
        self.environment.current_dir.join(base_dir).join(path)
    }

    fn provenance(&self, path: &[&str]) -> Provenance {
        self.tree.deepest_existing(path.iter().copied()).provenance.clone()
    }

    fn report_error(&mut self, path: &[&str], message: impl Into<String>, hint: impl Into<String>) {
        let provenance = self.provenance(path);
        self.errors.push(Diagnostic::new(provenance, message).with_hint(hint));
    }

    fn report_warning(&mut self, path: &[&str], message: impl Into<String>) {
        let provenance = self.provenance(path);
        self.warnings.push(Diagnostic::new(provenance, message));
    }
}
