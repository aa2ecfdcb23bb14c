//! From what was read to what is used.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use latimer_protocol::Secret;
use latimer_protocol::binding::VersionRule;
use latimer_protocol::card::AgentSkill;
use latimer_runtime::{Command, Echo};
use latimer_server::{
    Contexts, HttpLimits, Limits, Network, Policy, Registry, Settings, StreamTerminator,
};
use latimer_store::Retention;
use serde_json::Value;

use super::raw::{self, Kind, Reads, StoreKind, TransportKind};
use super::tree::{Node, Origin, Source};
use super::{
    AgentConfig, Behind, CardConfig, CommandConfig, Config, ConfigError, Log, McpServer,
    McpTransport, Place, Problem, RemoteAgent, Serving, StoreConfig, Surroundings,
};

/// What is used, and what should be known about it. What is worked out only here is added to the
/// tree, so that it can be shown.
pub(crate) fn resolve(
    raw: raw::Root,
    tree: &mut Node,
    surroundings: &Surroundings,
    said_a2a: bool,
) -> Result<(Config, Vec<Problem>), ConfigError> {
    let mut resolve = Resolve { tree, surroundings, problems: Vec::new(), warnings: Vec::new() };
    let config = resolve.config(raw, said_a2a);
    match resolve.problems.is_empty() {
        true => Ok((config, resolve.warnings)),
        false => Err(ConfigError::Invalid(resolve.problems)),
    }
}

struct Resolve<'a> {
    tree: &'a mut Node,
    surroundings: &'a Surroundings,
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
        let settings = self.settings(&raw, serving);
        let agents: Vec<_> =
            raw.agents.into_iter().enumerate().map(|(place, it)| self.agent(place, it)).collect();
        self.check_names(&agents);
        self.check_primary(raw.primary_agent.as_deref(), &agents);
        if !raw.mcp_servers.is_empty() {
            let names: Vec<_> = raw.mcp_servers.iter().map(|it| it.name.as_str()).collect();
            let message = "this version does not connect to MCP servers";
            self.warning(&["mcp_servers"], format!("{message}: {}", names.join(", ")));
        }
        let servers = raw.mcp_servers.into_iter().enumerate();
        let mcp_servers = servers.map(|(place, it)| self.mcp_server(place, it)).collect();
        Config {
            listen,
            api_key: raw.api_key.filter(|it| !it.reveal().is_empty()),
            dangerously_allow_unauthenticated_remote: raw.dangerously_allow_unauthenticated_remote,
            primary_agent: raw.primary_agent,
            serving,
            settings,
            remote_agents: self.remote_agents(raw.a2a.external_agents, raw.a2a.remote_agents),
            agents,
            mcp_servers,
            store: self.store(raw.store),
            log: Log { filter: raw.log.filter, json: raw.log.format == raw::LogFormat::Json },
        }
    }

    /// `listen`, unless the other spelling of it says something else with at least as much right.
    fn listen(&mut self, raw: &raw::Root) -> String {
        let listen = match raw.listen.parse::<u16>() {
            Ok(port) => format!("127.0.0.1:{port}"),
            Err(_) => raw.listen.clone(),
        };
        let rank = |origin: &Origin| match origin.source {
            Source::Default => 0,
            Source::File(_) => 1,
            Source::Environment(_) => 2,
            Source::Flag(_) => 3,
        };
        let ours = rank(&self.origin(&["listen"]));
        let counts = |key: &str| rank(&self.origin(&["a2a", "server", key])) >= ours;
        let server = &raw.a2a.server;
        let port = server.port.filter(|_| counts("port"));
        let address = server.bind_address.as_deref().filter(|_| counts("bind_address"));
        if port.is_none() && address.is_none() {
            return listen;
        }
        let (host, own_port) = listen.rsplit_once(':').unwrap_or((&listen, "50051"));
        let host = match address {
            Some(address) if address.contains(':') && !address.starts_with('[') => {
                format!("[{address}]")
            }
            Some(address) => address.to_owned(),
            None => host.to_owned(),
        };
        let listen = match port {
            Some(port) => format!("{host}:{port}"),
            None => format!("{host}:{own_port}"),
        };
        let key = if port.is_some() { "port" } else { "bind_address" };
        let origin = self.origin(&["a2a", "server", key]);
        self.tree.set(["listen"], Node::of(Value::from(listen.clone()), &origin));
        listen
    }

    fn check_listen(&mut self, listen: &str) {
        let named = listen.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && !host.contains(':') && port.parse::<u16>().is_ok()
        });
        if listen.parse::<SocketAddr>().is_err() && !named {
            let message = format!("`listen`: {listen:?} is no address with a port");
            self.problem(&["listen"], message, "write it like \"127.0.0.1:50051\"");
        }
    }

    fn check_url(&mut self, path: &[&str], url: Option<&str>) {
        let Some(url) = url else { return };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let message = format!("`{}`: {url:?} is no address", path.join("."));
            self.problem(path, message, "begin it with https:// or http://");
        }
    }

    fn check_primary(&mut self, primary: Option<&str>, agents: &[AgentConfig]) {
        let Some(primary) = primary else { return };
        if !agents.iter().any(|it| it.name == primary) {
            let names: Vec<_> = agents.iter().map(|it| it.name.as_str()).collect();
            let message = format!("`primary_agent`: there is no agent {primary:?}");
            self.problem(&["primary_agent"], message, format!("there are: {}", names.join(", ")));
        }
    }

    fn mcp_server(&mut self, place: usize, raw: raw::McpServer) -> McpServer {
        let place = place.to_string();
        let raw::Transport { r#type, command, args, url } = raw.transport;
        let mut need = |key: &str, value: Option<String>| {
            let origin = self.origin(&["mcp_servers", &place, "transport"]);
            let message = match &value {
                None => format!("the transport of {:?} needs `{key}`", raw.name),
                Some(program) if key == "command" && program.contains("..") => {
                    format!("the command of {:?} must not contain \"..\"", raw.name)
                }
                Some(_) => return value.unwrap_or_default(),
            };
            self.problems.push(Problem::new(origin, message));
            String::new()
        };
        let transport = match r#type {
            TransportKind::Stdio => {
                let program = need("command", command);
                McpTransport::Stdio { command: [program].into_iter().chain(args).collect() }
            }
            TransportKind::Sse => McpTransport::Sse { url: need("url", url) },
            TransportKind::Http => McpTransport::Http { url: need("url", url) },
        };
        McpServer {
            name: raw.name,
            transport,
            timeout: Duration::from_secs(raw.timeout_secs),
            env: raw.env,
            inherit_home: raw.inherit_home,
        }
    }

    fn settings(&mut self, raw: &raw::Root, serving: Serving) -> Settings {
        let raw::Root { a2a, limits, server, .. } = raw;
        self.check_path("listen_path", Some(&a2a.listen_path));
        self.check_path("agent_card_path", a2a.agent_card_path.as_deref());
        Settings {
            enabled: serving != Serving::Disabled,
            listen_path: a2a.listen_path.clone(),
            aliases: a2a.aliases,
            agent_card_path: a2a.agent_card_path.clone(),
            public_url: raw.public_url.clone(),
            trusted_proxies: self.networks(&server.trusted_proxies),
            allowed_origins: a2a.server.allowed_origins.clone(),
            version_rule: match a2a.strict_version {
                true => VersionRule::Strict,
                false => VersionRule::Lenient,
            },
            stream_terminator: match a2a.stream_terminator {
                raw::Terminator::None => StreamTerminator::None,
                raw::Terminator::Event => StreamTerminator::DoneEvent,
                raw::Terminator::Line => StreamTerminator::DoneLine,
            },
            keep_alive: server.keep_alive.0,
            card_max_age: server.card_max_age.0,
            drain: server.drain.0,
            limits: Limits {
                parts: count(limits.max_parts),
                streams: count(limits.max_streams),
                turns: count(limits.max_turns),
            },
            http: HttpLimits {
                body: limits.max_body.0,
                body_time: limits.body_time.0,
                url: limits.max_url.0,
                headers: count(limits.max_headers),
                header_bytes: limits.max_header_bytes.0,
                header_time: limits.header_time.0,
                connections: count(limits.max_connections),
                calls_per_connection: limits.max_calls_per_connection,
            },
            ..Settings::default()
        }
    }

    fn check_path(&mut self, key: &str, path: Option<&str>) {
        let plain = |it: &&str| it.starts_with('/') && !it.contains(['?', '#', '%', ' ', '{', '}']);
        if let Some(path) = path.filter(|it| !plain(it)) {
            let message = format!("`a2a.{key}`: {path:?} is no plain path");
            self.problem(&["a2a", key], message, "write it like \"/a2a\"");
        }
    }

    fn networks(&mut self, texts: &[String]) -> Vec<Network> {
        let mut networks = Vec::new();
        for (place, text) in texts.iter().enumerate() {
            match text.parse() {
                Ok(network) => networks.push(network),
                Err(_) => {
                    let path = ["server", "trusted_proxies", &place.to_string()];
                    let message = format!("`server.trusted_proxies`: {text:?} is no network");
                    self.problem(&path, message, "write it like \"10.0.0.0/8\"");
                }
            }
        }
        networks
    }

    fn remote_agents(
        &mut self,
        listed: Vec<raw::RemoteAgent>,
        named: BTreeMap<String, raw::RemoteAgent>,
    ) -> Vec<RemoteAgent> {
        let mut agents = Vec::new();
        for (place, raw) in listed.into_iter().enumerate() {
            let place = place.to_string();
            let path = ["a2a", "external_agents", &place];
            if raw.name.is_none() {
                self.problem(&path, "an external agent needs `name`", "add `name`");
            }
            agents.push(self.remote_agent(&path, raw, "", Duration::from_secs(1)));
        }
        for (name, raw) in named {
            let path = ["a2a", "remote_agents", &name];
            agents.push(self.remote_agent(&path, raw, &name, Duration::from_millis(1)));
        }
        if !agents.is_empty() {
            let names: Vec<_> = agents.iter().map(|it| it.name.as_str()).collect();
            let message = "this version does not call agents elsewhere";
            self.warning(&["a2a"], format!("{message}: {}", names.join(", ")));
        }
        agents
    }

    /// An agent elsewhere. A number for its timeout counts units of a certain length.
    fn remote_agent(
        &mut self,
        path: &[&str],
        raw: raw::RemoteAgent,
        name: &str,
        unit: Duration,
    ) -> RemoteAgent {
        let within = |key| path.iter().copied().chain([key]).collect::<Vec<_>>();
        self.check_url(&within("url"), Some(&raw.url));
        self.check_url(&within("card_url"), raw.card_url.as_deref());
        let variable = raw.auth_token_env.as_deref();
        let from_environment = variable.and_then(|it| self.surroundings.variable(it));
        let token = raw.auth_token.or_else(|| from_environment.map(Secret::new));
        if let (Some(variable), None) = (variable, &token) {
            let message = format!("the variable {variable} is not set");
            self.warning(&within("auth_token_env"), message);
        }
        RemoteAgent {
            name: raw.name.unwrap_or_else(|| name.to_owned()),
            description: raw.description,
            url: raw.url,
            card_url: raw.card_url,
            headers: raw.headers,
            auth_token: token,
            timeout: raw.timeout.and_then(|it| it.in_units_of(unit)).unwrap_or(REMOTE_TIMEOUT),
            stream: raw.stream,
            tenant: raw.tenant,
            version: raw.version,
        }
    }

    fn agent(&mut self, place: usize, raw: raw::Agent) -> AgentConfig {
        let place = place.to_string();
        let path = ["agents", place.as_str()];
        self.check_name(&path, &raw.name);
        self.check_kind(&path, &raw);
        let skill = |it: raw::Skill| AgentSkill {
            name: it.name.unwrap_or_else(|| it.id.clone()),
            id: it.id,
            description: it.description,
            tags: it.tags,
            examples: it.examples,
            ..AgentSkill::default()
        };
        let behind = match raw.kind {
            Kind::Echo => Behind::Echo,
            Kind::Demo => Behind::Demo { extended_card: raw.extended_card },
            Kind::A2a => Behind::A2a { url: raw.url.unwrap_or_default() },
            Kind::Mcp => Behind::Mcp { server: raw.server.unwrap_or_default() },
            Kind::Model => Behind::Model {
                provider: raw.provider,
                model: raw.model.unwrap_or_default(),
                tools: raw.tools.unwrap_or_default(),
            },
            Kind::Command => {
                let dir = raw.dir.map(|it| self.path(&["agents", &place, "dir"], &it));
                Behind::Command(CommandConfig {
                    command: self.command(&place, raw.command.unwrap_or_default(), dir.as_deref()),
                    json: raw.input == Reads::Json,
                    chunk: raw.chunk,
                    env: raw.env,
                    dir,
                    inherit_home: raw.inherit_home,
                    timeout: raw.timeout.map(|it| it.0),
                    max_output: raw.max_output.0,
                    show_stderr: raw.show_stderr,
                })
            }
        };
        AgentConfig {
            name: raw.name,
            behind,
            card: CardConfig {
                description: raw.description,
                version: raw.version,
                input_modes: raw.input_modes,
                output_modes: raw.output_modes,
                skills: raw.skills.into_iter().map(skill).collect(),
            },
            policy: Policy {
                contexts: match raw.contexts {
                    raw::Contexts::Parallel => Contexts::Parallel,
                    raw::Contexts::Queue => Contexts::Queue,
                    raw::Contexts::Reject => Contexts::Reject,
                },
                max_wait: raw.max_wait.0,
                max_turn: raw.max_turn.map(|it| it.0),
                cancel_grace: raw.cancel_grace.0,
                repeat_window: raw.repeat_window.0,
            },
            origin: self.origin(&path),
        }
    }

    fn check_name(&mut self, path: &[&str], name: &str) {
        if let Err(error) = Registry::new([Echo::agent(name)]) {
            let origin = self.origin(&[path[0], path[1], "name"]);
            self.problems.push(Problem::new(origin, error.to_string()));
        }
    }

    fn check_names(&mut self, agents: &[AgentConfig]) {
        for (place, agent) in agents.iter().enumerate() {
            if agents[..place].iter().any(|it| it.name == agent.name) {
                let origin = self.origin(&["agents", &place.to_string(), "name"]);
                let message = format!("there are two agents named {:?}", agent.name);
                self.problems.push(Problem::new(origin, message));
            }
        }
    }

    /// Whether a kind has what it needs, and nothing that is for another.
    fn check_kind(&mut self, path: &[&str], raw: &raw::Agent) {
        let (kind, needs, own): (_, Option<&str>, &[&str]) = match raw.kind {
            Kind::Echo => ("echo", None, &[]),
            Kind::Demo => ("demo", None, &["extended_card"]),
            Kind::Command => ("command", Some("command"), COMMAND),
            Kind::A2a => ("a2a", Some("url"), &["url"]),
            Kind::Mcp => ("mcp", Some("server"), &["server"]),
            Kind::Model => ("model", Some("model"), &["provider", "model", "tools"]),
        };
        let said = |key: &str| {
            let node = self.tree.get(path.iter().copied().chain([key]));
            node.is_some_and(|it| it.origin.source != Source::Default)
        };
        let name = &raw.name;
        let mut found = Vec::new();
        if let Some(key) = needs.filter(|key| !said(key)) {
            found.push((
                path.to_vec(),
                format!("the agent {name:?} needs `{key}`: its kind is \"{kind}\""),
            ));
        }
        for key in
            COMMAND.iter().chain(&["extended_card", "url", "server", "provider", "model", "tools"])
        {
            if said(key) && !own.contains(key) {
                let path = path.iter().copied().chain([*key]).collect();
                let message =
                    format!("`{key}` means nothing for the agent {name:?}: its kind is \"{kind}\"");
                found.push((path, message));
            }
        }
        for (path, message) in found {
            let origin = self.origin(&path);
            self.problems.push(Problem::new(origin, message));
        }
    }

    /// A program that is named by a path belongs to the file that names it, or to its folder.
    fn command(
        &mut self,
        place: &str,
        mut command: Vec<String>,
        dir: Option<&Path>,
    ) -> Vec<String> {
        let origin = self.origin(&["agents", place, "command"]);
        if let Err(error) = Command::new(command.iter().cloned()) {
            self.problems.push(Problem::new(origin.clone(), error.to_string()));
        }
        let Some(program) = command.first_mut().filter(|it| it.contains('/')) else {
            return command;
        };
        if let (None, Some(folder)) = (dir, origin.folder())
            && Path::new(program).is_relative()
        {
            let folder = self.surroundings.folder.join(folder);
            *program = folder.join(&*program).to_string_lossy().into_owned();
        }
        command
    }

    fn store(&mut self, raw: raw::Store) -> StoreConfig {
        let (place, usual) = match raw.kind {
            StoreKind::Memory => (Place::Memory, Retention::MEMORY),
            StoreKind::Sqlite => {
                let full = raw.durability == raw::Durable::Full;
                let path = self.store_path(raw.path.as_deref());
                (Place::Sqlite { path, full }, Retention::DISK)
            }
        };
        let retention = Retention {
            max_tasks: raw.max_tasks.unwrap_or(usual.max_tasks),
            max_contexts: raw.max_contexts.unwrap_or(usual.max_contexts),
            max_age: raw.max_age.map_or(usual.max_age, |it| it.0),
            sweep_every: raw.sweep_every.0,
        };
        StoreConfig { place, retention }
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
    fn path(&self, key: &[&str], path: &Path) -> PathBuf {
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

/// A number of things. More than can be counted is as good as any number.
fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// How long a call of an agent elsewhere may take unless told otherwise.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(120);

/// Keys of an agent that only mean something for programs.
const COMMAND: &[&str] = &[
    "command",
    "input",
    "chunk",
    "env",
    "dir",
    "inherit_home",
    "timeout",
    "max_output",
    "show_stderr",
];
