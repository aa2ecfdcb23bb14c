//! The agents that are served.

use std::path::Path;

use latimer_protocol::card::AgentSkill;
use latimer_runtime::{CommandAgent, EchoAgent};
use latimer_server::{Access, AgentRegistry, ContextConcurrency, Policy};

use super::Resolver;
use crate::config::raw::{self, AgentKindTag, CommandInput};
use crate::config::tree::Layer;
use crate::config::{AgentConfig, AgentKind, CardConfig, CommandConfig, DemoConfig, Diagnostic};

/// Keys of an agent that only mean something for programs.
const COMMAND_KEYS: &[&str] = &[
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

/// Keys that only mean something for agents elsewhere.
const A2A_KEYS: &[&str] = &[
    "url",
    "card_url",
    "call_url",
    "root_certificates",
    "client_certificate",
    "client_key",
    "headers",
    "auth_token",
    "auth_token_env",
    "auth_token_file",
    "oauth",
    "timeout",
    "idle_timeout",
    "stream",
    "tenant",
    "protocol_version",
    "binding",
    "signatures",
    "trusted_keys",
    "hops",
    "forward_user",
];

/// Keys that only mean something for one of the other kinds.
const OTHER_KIND_KEYS: &[&str] =
    &["extended_card", "open_ended", "server", "provider", "model", "tools"];

impl Resolver<'_> {
    /// The agents, in their order.
    pub(super) fn agents(&mut self, raw: Vec<raw::Agent>) -> Vec<AgentConfig> {
        let agents = raw.into_iter().enumerate().map(|(index, it)| self.agent(index, it));
        let agents: Vec<_> = agents.collect();
        self.check_duplicate_names(&agents);
        agents
    }

    pub(super) fn check_primary(&mut self, primary: Option<&str>, agents: &[AgentConfig]) {
        let Some(primary) = primary else { return };
        if !agents.iter().any(|it| it.name == primary) {
            let names: Vec<_> = agents.iter().map(|it| it.name.as_str()).collect();
            let message = format!("`primary_agent`: there is no agent {primary:?}");
            self.report_error(
                &["primary_agent"],
                message,
                format!("there are: {}", names.join(", ")),
            );
        }
    }

    fn agent(&mut self, index: usize, mut raw: raw::Agent) -> AgentConfig {
        let index = index.to_string();
        let path = ["agents", index.as_str()];
        self.check_name(&path, &raw.name);
        self.check_kind(&path, &raw);
        let skills = std::mem::take(&mut raw.skills);
        AgentConfig {
            provenance: self.provenance(&path),
            policy: policy(&raw),
            card: CardConfig {
                description: raw.description.take(),
                version: raw.version.take(),
                input_modes: raw.input_modes.take(),
                output_modes: raw.output_modes.take(),
                skills: skills.into_iter().map(skill).collect(),
            },
            access: Access {
                principals: std::mem::take(&mut raw.allow.principals),
                scopes: std::mem::take(&mut raw.allow.scopes),
            },
            streaming: raw.streaming,
            name: raw.name.clone(),
            kind: self.agent_kind(&index, raw),
        }
    }

    fn agent_kind(&mut self, index: &str, raw: raw::Agent) -> AgentKind {
        match raw.kind {
            AgentKindTag::Echo => AgentKind::Echo,
            AgentKindTag::Demo => AgentKind::Demo(DemoConfig {
                extended_card: raw.extended_card,
                open_ended: raw.open_ended,
            }),
            AgentKindTag::A2a => {
                AgentKind::A2a(Box::new(self.upstream(&["agents", index], raw.into())))
            }
            AgentKindTag::Mcp => AgentKind::Mcp { server: raw.server.unwrap_or_default() },
            AgentKindTag::Model => AgentKind::Model {
                provider: raw.provider,
                model: raw.model.unwrap_or_default(),
                tools: raw.tools.unwrap_or_default(),
            },
            AgentKindTag::Command => {
                let dir = raw.dir.map(|it| self.path(&["agents", index, "dir"], &it));
                AgentKind::Command(CommandConfig {
                    command: self.command(index, raw.command.unwrap_or_default(), dir.as_deref()),
                    json_input: raw.input == CommandInput::Json,
                    chunk_delimiter: raw.chunk,
                    env: raw.env,
                    dir,
                    inherit_home: raw.inherit_home,
                    timeout: raw.timeout.map(|it| it.0),
                    max_output_bytes: raw.max_output.0,
                    show_stderr: raw.show_stderr,
                })
            }
        }
    }

    fn check_name(&mut self, path: &[&str], name: &str) {
        if let Err(error) = AgentRegistry::new([EchoAgent::new_agent(name)]) {
            let provenance = self.provenance(&[path[0], path[1], "name"]);
            self.errors.push(Diagnostic::new(provenance, error.to_string()));
        }
    }

    fn check_duplicate_names(&mut self, agents: &[AgentConfig]) {
        for (index, agent) in agents.iter().enumerate() {
            if agents[..index].iter().any(|it| it.name == agent.name) {
                let provenance = self.provenance(&["agents", &index.to_string(), "name"]);
                let message = format!("there are two agents named {:?}", agent.name);
                self.errors.push(Diagnostic::new(provenance, message));
            }
        }
    }

    /// Whether a kind has what it needs, and nothing that is for another.
    fn check_kind(&mut self, path: &[&str], raw: &raw::Agent) {
        let (kind, required, allowed): (_, Option<&str>, &[&str]) = match raw.kind {
            AgentKindTag::Echo => ("echo", None, &[]),
            AgentKindTag::Demo => ("demo", None, &["extended_card", "open_ended"]),
            AgentKindTag::Command => ("command", Some("command"), COMMAND_KEYS),
            AgentKindTag::A2a => ("a2a", Some("url"), A2A_KEYS),
            AgentKindTag::Mcp => ("mcp", Some("server"), &["server"]),
            AgentKindTag::Model => ("model", Some("model"), &["provider", "model", "tools"]),
        };
        let is_set = |key: &str| {
            let node = self.tree.get(path.iter().copied().chain([key]));
            node.is_some_and(|it| it.provenance.layer != Layer::Default)
        };
        let name = &raw.name;
        let mut errors = Vec::new();
        if let Some(key) = required.filter(|key| !is_set(key)) {
            errors.push((
                path.to_vec(),
                format!("the agent {name:?} needs `{key}`: its kind is \"{kind}\""),
            ));
        }
        let a2a_only = A2A_KEYS.iter().filter(|it| !COMMAND_KEYS.contains(it));
        for key in COMMAND_KEYS.iter().chain(a2a_only).chain(OTHER_KIND_KEYS) {
            if is_set(key) && !allowed.contains(key) {
                let path = path.iter().copied().chain([*key]).collect();
                let message =
                    format!("`{key}` means nothing for the agent {name:?}: its kind is \"{kind}\"");
                errors.push((path, message));
            }
        }
        for (path, message) in errors {
            let provenance = self.provenance(&path);
            self.errors.push(Diagnostic::new(provenance, message));
        }
    }

    /// A program that is named by a path belongs to the file that names it, or to its folder.
    fn command(
        &mut self,
        index: &str,
        mut command: Vec<String>,
        dir: Option<&Path>,
    ) -> Vec<String> {
        let provenance = self.provenance(&["agents", index, "command"]);
        if let Err(error) = CommandAgent::new(command.iter().cloned()) {
            self.errors.push(Diagnostic::new(provenance.clone(), error.to_string()));
        }
        let Some(program) = command.first_mut().filter(|it| it.contains('/')) else {
            return command;
        };
        if let (None, Some(base_dir)) = (dir, provenance.base_dir())
            && Path::new(program).is_relative()
        {
            let base_dir = self.environment.current_dir.join(base_dir);
            *program = base_dir.join(&*program).to_string_lossy().into_owned();
        }
        command
    }
}

fn policy(raw: &raw::Agent) -> Policy {
    Policy {
        context_concurrency: match raw.contexts {
            raw::ContextConcurrency::Parallel => ContextConcurrency::Parallel,
            raw::ContextConcurrency::Queue => ContextConcurrency::Queue,
            raw::ContextConcurrency::Reject => ContextConcurrency::Reject,
        },
        max_wait: raw.max_wait.0,
        turn_timeout: raw.max_turn.map(|it| it.0),
        cancel_grace: raw.cancel_grace.0,
        idempotency_window: raw.repeat_window.0,
    }
}

fn skill(raw: raw::Skill) -> AgentSkill {
    AgentSkill {
        name: raw.name.unwrap_or_else(|| raw.id.clone()),
        id: raw.id,
        description: raw.description,
        tags: raw.tags,
        examples: raw.examples,
        ..AgentSkill::default()
    }
}
