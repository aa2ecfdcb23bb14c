//! The agents that are served.

use std::path::Path;

use latimer_protocol::card::AgentSkill;
use latimer_runtime::{CommandAgent, EchoAgent};
use latimer_server::{Access, AgentRegistry, ContextConcurrency, Policy};

use super::Resolve;
use crate::config::raw::{self, Kind, Reads};
use crate::config::tree::Source;
use crate::config::{AgentConfig, Behind, CardConfig, CommandConfig, DemoConfig, Problem};

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

/// Keys that only mean something for agents elsewhere.
const A2A: &[&str] = &[
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
const OTHERS: &[&str] = &["extended_card", "open_ended", "server", "provider", "model", "tools"];

impl Resolve<'_> {
    /// The agents, in their order.
    pub(super) fn agents(&mut self, raw: Vec<raw::Agent>) -> Vec<AgentConfig> {
        let agents = raw.into_iter().enumerate().map(|(place, it)| self.agent(place, it));
        let agents: Vec<_> = agents.collect();
        self.check_names(&agents);
        agents
    }

    pub(super) fn check_primary(&mut self, primary: Option<&str>, agents: &[AgentConfig]) {
        let Some(primary) = primary else { return };
        if !agents.iter().any(|it| it.name == primary) {
            let names: Vec<_> = agents.iter().map(|it| it.name.as_str()).collect();
            let message = format!("`primary_agent`: there is no agent {primary:?}");
            self.problem(&["primary_agent"], message, format!("there are: {}", names.join(", ")));
        }
    }

    fn agent(&mut self, place: usize, mut raw: raw::Agent) -> AgentConfig {
        let place = place.to_string();
        let path = ["agents", place.as_str()];
        self.check_name(&path, &raw.name);
        self.check_kind(&path, &raw);
        let skills = std::mem::take(&mut raw.skills);
        AgentConfig {
            origin: self.origin(&path),
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
            behind: self.behind(&place, raw),
        }
    }

    fn behind(&mut self, place: &str, raw: raw::Agent) -> Behind {
        match raw.kind {
            Kind::Echo => Behind::Echo,
            Kind::Demo => Behind::Demo(DemoConfig {
                extended_card: raw.extended_card,
                open_ended: raw.open_ended,
            }),
            Kind::A2a => Behind::A2a(Box::new(self.upstream(&["agents", place], raw.into()))),
            Kind::Mcp => Behind::Mcp { server: raw.server.unwrap_or_default() },
            Kind::Model => Behind::Model {
                provider: raw.provider,
                model: raw.model.unwrap_or_default(),
                tools: raw.tools.unwrap_or_default(),
            },
            Kind::Command => {
                let dir = raw.dir.map(|it| self.path(&["agents", place, "dir"], &it));
                Behind::Command(CommandConfig {
                    command: self.command(place, raw.command.unwrap_or_default(), dir.as_deref()),
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
        }
    }

    fn check_name(&mut self, path: &[&str], name: &str) {
        if let Err(error) = AgentRegistry::new([EchoAgent::new_agent(name)]) {
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
            Kind::Demo => ("demo", None, &["extended_card", "open_ended"]),
            Kind::Command => ("command", Some("command"), COMMAND),
            Kind::A2a => ("a2a", Some("url"), A2A),
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
        let elsewhere = A2A.iter().filter(|it| !COMMAND.contains(it));
        for key in COMMAND.iter().chain(elsewhere).chain(OTHERS) {
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
        if let Err(error) = CommandAgent::new(command.iter().cloned()) {
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
}

fn policy(raw: &raw::Agent) -> Policy {
    Policy {
        context_concurrency: match raw.contexts {
            raw::Contexts::Parallel => ContextConcurrency::Parallel,
            raw::Contexts::Queue => ContextConcurrency::Queue,
            raw::Contexts::Reject => ContextConcurrency::Reject,
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
