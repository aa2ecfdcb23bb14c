//! Agents to serve.

use std::path::Path;

use latimer_protocol::card::AgentSkill;
use latimer_runtime::{CommandAgent, EchoAgent};
use latimer_server::{Access, AgentRegistry, Policy};

use super::Resolver;
use super::settings::saturating_usize;
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::location::Location;
use crate::config::raw::{CommandKeys, ContextConcurrency, Skill};
use crate::config::{AgentConfig, AgentKind};

impl AgentConfig {
    /// Checks the name.
    pub(in crate::config) fn check(&self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        if let Err(error) = AgentRegistry::new([EchoAgent::new_agent(&self.name)]) {
            let provenance = at.key("name").provenance.clone();
            diagnostics.push(Diagnostic::new(provenance, error.to_string()));
        }
    }

    /// Returns the policy for the agent's turns. `default` is the policy of its kind.
    #[must_use]
    pub fn policy(&self, default: &Policy) -> Policy {
        use latimer_server::ContextConcurrency as Concurrency;
        Policy {
            context_concurrency: match self.contexts {
                ContextConcurrency::Parallel => Concurrency::Parallel,
                ContextConcurrency::Queue => Concurrency::Queue,
                ContextConcurrency::Reject => Concurrency::Reject,
            },
            max_concurrent: match self.max_concurrent {
                Some(0) => None,
                Some(limit) => Some(saturating_usize(limit)),
                None => default.max_concurrent,
            },
            max_queued: default.max_queued,
            max_wait: self.max_wait,
            turn_timeout: self.max_turn,
            cancel_grace: self.cancel_grace,
            idempotency_window: self.repeat_window,
            direct_replies: self.direct_replies.unwrap_or(default.direct_replies),
            record: default.record,
            enforce_input_modes: match &self.kind {
                AgentKind::A2a(keys) => keys.enforce_modes,
                AgentKind::Echo
                | AgentKind::Demo(_)
                | AgentKind::Command(_)
                | AgentKind::Mcp(_)
                | AgentKind::Model(_) => default.enforce_input_modes,
            },
        }
    }

    /// Returns the callers that may use the agent.
    #[must_use]
    pub fn access(&self) -> Access {
        let (principals, scopes) = (self.allow.principals.clone(), self.allow.scopes.clone());
        Access { principals, scopes }
    }
}

impl From<&Skill> for AgentSkill {
    fn from(skill: &Skill) -> Self {
        Self {
            id: skill.id.clone(),
            name: skill.name.clone().unwrap_or_else(|| skill.id.clone()),
            description: skill.description.clone(),
            tags: skill.tags.clone(),
            examples: skill.examples.clone(),
            ..Self::default()
        }
    }
}

impl CommandKeys {
    /// Checks the command. A relative path of the program is relative to the configuration file,
    /// unless `dir` is set.
    pub(in crate::config) fn check(&mut self, at: &Location<'_>, diagnostics: &mut Diagnostics) {
        let at = at.key("command");
        if let Err(error) = CommandAgent::new(self.command.iter().cloned()) {
            diagnostics.push(Diagnostic::new(at.provenance.clone(), error.to_string()));
        }
        let Some(program) = self.command.first_mut().filter(|it| it.contains('/')) else { return };
        if let (None, Some(config_dir)) = (&self.dir, at.config_dir())
            && Path::new(program).is_relative()
        {
            *program = config_dir.join(&*program).to_string_lossy().into_owned();
        }
    }
}

impl Resolver<'_> {
    pub(super) fn check_agents(&mut self, agents: &[AgentConfig]) {
        for (index, agent) in agents.iter().enumerate() {
            if agents[..index].iter().any(|it| it.name == agent.name) {
                let provenance = self.provenance(&["agents", &index.to_string(), "name"]);
                let message = format!("there are two agents named {:?}", agent.name);
                let diagnostic = Diagnostic::new(provenance, message);
                self.diagnostics.push(diagnostic.with_hint("rename one of them"));
            }
        }
    }

    pub(super) fn check_primary(&mut self, primary: Option<&str>, agents: &[AgentConfig]) {
        let Some(primary) = primary else { return };
        if !agents.iter().any(|it| it.name == primary) {
            let names: Vec<_> = agents.iter().map(|it| it.name.as_str()).collect();
            let message = format!("`primary_agent`: no agent is named {primary:?}");
            let hint = format!("configured agents: {}", names.join(", "));
            self.report_error(&["primary_agent"], message, hint);
        }
    }
}
