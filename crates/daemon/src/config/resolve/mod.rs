//! Resolves sections that were read to the configuration that the daemon runs with.

mod agent;
mod auth;
mod listen;
mod push;
mod settings;
mod unpublished;
mod upstream;
mod value;

use std::path::PathBuf;

use http::HeaderValue;
use latimer_store::{Durability, Retention};
use serde_json::Value;

use unpublished::collect_remote_agents;
pub(crate) use value::Resolve;

use super::diagnostic::{Diagnostic, Diagnostics};
use super::raw::{self, StoreKind};
use super::tree::{Layer, Node, Provenance};
use super::{
    Config, Environment, LogConfig, ServingMode, SigningConfig, StoreConfig, StoreLocation,
};

/// Builds the configuration from sections whose values are resolved. Values that are computed here
/// are added to the tree, so that they can be displayed. The result is valid only if `diagnostics`
/// has no errors.
pub(crate) fn resolve(
    raw: raw::Root,
    tree: &mut Node,
    environment: &Environment,
    has_a2a_section: bool,
    diagnostics: &mut Diagnostics,
) -> Config {
    let mut resolver = Resolver { tree, environment, user_agent: None, diagnostics };
    resolver.resolve_config(raw, has_a2a_section)
}

struct Resolver<'a> {
    tree: &'a mut Node,
    environment: &'a Environment,
    /// `User-Agent` header for remote agents and webhooks.
    user_agent: Option<HeaderValue>,
    diagnostics: &'a mut Diagnostics,
}

impl Resolver<'_> {
    fn resolve_config(&mut self, raw: raw::Root, has_a2a_section: bool) -> Config {
        let listen = self.resolve_listen(&raw);
        self.check_listen(&listen);
        let serving = match (raw.a2a.enabled, raw.agents.is_empty()) {
            (Some(true), _) | (None, false) => ServingMode::Enabled,
            (Some(false), _) => ServingMode::Disabled,
            (None, true) if has_a2a_section => ServingMode::Disabled,
            (None, true) => ServingMode::NotConfigured,
        };
        self.user_agent = self.resolve_user_agent(raw.server.user_agent.as_deref());
        let settings = self.resolve_settings(&raw, serving);
        self.check_agents(&raw.agents);
        self.check_primary(raw.primary_agent.as_deref(), &raw.agents);
        self.check_public_paths(&raw.public_paths);
        if raw.dangerously_allow_unauthenticated_remote {
            let message = "`dangerously_allow_unauthenticated_remote`: all anonymous callers share one \
                           identity; they cannot list tasks or register webhooks, and the id of a task \
                           gives every caller access to it";
            self.report_warning(&["dangerously_allow_unauthenticated_remote"], message);
        }
        let config = Config {
            listen,
            api_key: raw.api_key.filter(|it| !it.reveal().is_empty()),
            auth: self.resolve_auth(raw.auth, &raw.tls),
            tls: self.resolve_tls(raw.tls),
            dangerously_allow_unauthenticated_remote: raw.dangerously_allow_unauthenticated_remote,
            primary_agent: raw.primary_agent,
            serving,
            settings,
            user_agent: self.user_agent.clone(),
            remote_agents: collect_remote_agents(raw.a2a.external_agents, raw.a2a.remote_agents),
            agents: raw.agents,
            mcp_servers: self.resolve_mcp_servers(raw.mcp_servers),
            store: self.resolve_store(raw.store),
            signing: self.resolve_signing(raw.signing),
            log: LogConfig { filter: raw.log.filter, json: raw.log.format == raw::LogFormat::Json },
        };
        self.check_auth_settings(config.requires_auth(), raw.card_requires_auth, &config.agents);
        config
    }

    fn resolve_user_agent(&mut self, configured: Option<&str>) -> Option<HeaderValue> {
        let header = HeaderValue::from_str(configured?).ok();
        if header.as_ref().is_none_or(HeaderValue::is_empty) {
            let message = "`server.user_agent` is not a valid header value";
            self.report_error(&["server", "user_agent"], message, "use the form \"Example/1.0\"");
        }
        header
    }

    fn resolve_store(&mut self, raw: raw::Store) -> StoreConfig {
        let (location, defaults) = match raw.kind {
            StoreKind::Memory => (StoreLocation::Memory, Retention::DEFAULT_MEMORY),
            StoreKind::Sqlite => {
                let durability = match raw.durability {
                    raw::Durability::Full => Durability::Full,
                    raw::Durability::Process => Durability::Process,
                };
                let path = self.resolve_store_path(raw.path);
                (StoreLocation::Sqlite { path, durability }, Retention::DEFAULT_DISK)
            }
        };
        let max_tasks = raw.max_tasks.unwrap_or(defaults.max_tasks);
        let retention = Retention {
            max_tasks,
            max_contexts: raw.max_contexts.unwrap_or(defaults.max_contexts),
            max_age: raw.max_age.unwrap_or(defaults.max_age),
            sweep_interval: raw.sweep_every,
            max_idle: raw.max_idle.unwrap_or(defaults.max_idle),
            max_waiting: raw.max_waiting.unwrap_or(max_tasks / 2),
        };
        StoreConfig { location, retention }
    }

    fn resolve_signing(&mut self, raw: raw::Signing) -> Option<SigningConfig> {
        if raw.key.is_none() && !raw.publish.is_empty() {
            let message =
                "`signing.publish` needs `signing.key`: without it, no keys are published";
            let hint = "set `signing.key` to the file of the private key";
            self.report_error(&["signing", "publish"], message, hint);
        }
        Some(SigningConfig { key_file: raw.key?, published_key_files: raw.publish })
    }

    fn resolve_store_path(&mut self, configured: Option<PathBuf>) -> PathBuf {
        let key = ["store", "path"];
        if let Some(path) = configured {
            return path;
        }
        let Some(data_dir) = self.environment.data_dir() else {
            let message = "no directory to store tasks in: neither HOME nor XDG_DATA_HOME is set";
            self.report_error(&key, message, "set `store.path`, or `store.kind = \"memory\"`");
            return PathBuf::new();
        };
        let path = data_dir.join("latimer.db");
        let value = Value::from(path.to_string_lossy());
        self.tree.set(key, Node::from_value(value, &Layer::Default.into()));
        path
    }

    fn provenance(&self, path: &[&str]) -> Provenance {
        self.tree.deepest_existing(path.iter().copied()).provenance.clone()
    }

    fn report_error(&mut self, path: &[&str], message: impl Into<String>, hint: impl Into<String>) {
        let provenance = self.provenance(path);
        self.diagnostics.push(Diagnostic::new(provenance, message).with_hint(hint));
    }

    fn report_warning(&mut self, path: &[&str], message: impl Into<String>) {
        let provenance = self.provenance(path);
        self.diagnostics.warnings.push(Diagnostic::new(provenance, message));
    }
}
