//! Builds the configured agents.

use std::fmt;

use latimer_protocol::card::{AgentCard, AgentSkill};
use latimer_runtime::{CommandAgent, DemoAgent, EchoAgent, InputFormat};
use latimer_server::Agent;

use crate::config::{
    AgentConfig, AgentKind, CardConfig, CommandInput, CommandKeys, Config, DemoKeys, StoreLocation,
};
use crate::error::StartError;
use crate::remote::build_remote_agent;

/// Builds all agents of a configuration.
pub(crate) fn build_agents(config: &Config) -> Result<Vec<Agent>, StartError> {
    config.agents.iter().map(|it| build_agent(it, config)).collect()
}

fn build_demo(name: &str, config: &DemoKeys) -> Agent {
    let demo = DemoAgent::default();
    let demo = if config.open_ended { demo.open_ended() } else { demo };
    let agent = demo.into_agent(name);
    match config.extended_card {
        true => agent.with_extended_card(DemoAgent::extended_card(name)),
        false => agent,
    }
}

fn build_agent(agent: &AgentConfig, config: &Config) -> Result<Agent, StartError> {
    let name = &agent.name;
    let built = match &agent.kind {
        AgentKind::Echo => EchoAgent::new_agent(name),
        AgentKind::Demo(demo) => build_demo(name, demo),
        AgentKind::Command(command) => build_command(agent, command, config)?.into_agent(name),
        AgentKind::A2a(upstream) => {
            let built = build_remote_agent(agent, upstream, config)?;
            let policy = agent.policy(built.policy());
            return Ok(built.with_policy(policy).with_access(agent.access()));
        }
        AgentKind::Mcp(_) | AgentKind::Model(_) => {
            let (agent, kind) = (name.clone(), agent.kind.name());
            return Err(StartError::UnsupportedKind { agent, kind });
        }
    };
    let apply_config = |card: &AgentCard| {
        let mut card = card.clone();
        apply_card_config(&mut card, &agent.card);
        card.capabilities.streaming = Some(agent.streaming);
        card
    };
    let card = apply_config(&built.card());
    let extended = built.extended_card().map(apply_config);
    let policy = agent.policy(built.policy());
    let built = built.with_card(card).with_policy(policy).with_access(agent.access());
    Ok(match extended {
        Some(extended) => built.with_extended_card(extended),
        None => built,
    })
}

/// Program of an agent that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingProgram {
    /// Name of the agent.
    pub agent: String,
    /// The program.
    pub program: String,
}

impl fmt::Display for MissingProgram {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, program } = self;
        write!(out, "agent {agent:?}: program {program:?} not found")
    }
}

/// Returns the programs of agents that do not exist on this machine: turns of these agents fail. May
/// run a shell, and blocks until it exits.
#[must_use]
pub fn missing_programs(config: &Config) -> Vec<MissingProgram> {
    let missing_program = |agent: &AgentConfig| {
        let AgentKind::Command(keys) = &agent.kind else { return None };
        let command = build_command(agent, keys, config).ok()?;
        let program = command.missing_program()?.to_owned();
        Some(MissingProgram { agent: agent.name.clone(), program })
    };
    config.agents.iter().filter_map(missing_program).collect()
}

/// Replaces card members by those that the configuration sets.
pub(crate) fn apply_card_config(card: &mut AgentCard, config: &CardConfig) {
    if let Some(description) = &config.description {
        card.description.clone_from(description);
    }
    if let Some(version) = &config.version {
        card.version.clone_from(version);
    }
    if let Some(modes) = &config.input_modes {
        card.default_input_modes.clone_from(modes);
    }
    if let Some(modes) = &config.output_modes {
        card.default_output_modes.clone_from(modes);
    }
    if !config.skills.is_empty() {
        card.skills = config.skills.iter().map(AgentSkill::from).collect();
    }
}

fn build_command(
    agent: &AgentConfig,
    keys: &CommandKeys,
    config: &Config,
) -> Result<CommandAgent, StartError> {
    let command_error = |source| StartError::Command { agent: agent.name.clone(), source };
    let mut command = CommandAgent::new(keys.command.iter().cloned()).map_err(command_error)?;
    command = command
        .inherit_env(keys.env.iter().cloned())
        .max_output_bytes(keys.max_output.0)
        .kill_grace(agent.cancel_grace);
    if keys.inherit_env {
        command = command.inherit_all_env();
    }
    if keys.input == CommandInput::Json {
        command = command.input(InputFormat::Json);
    }
    if let Some(delimiter) = &keys.chunk {
        command = command.delimiter(delimiter.as_bytes());
    }
    if let Some(directory) = &keys.dir {
        command = command.current_dir(directory);
    }
    if let Some(limit) = keys.timeout {
        command = command.timeout(limit);
    }
    if keys.show_stderr {
        command = command.expose_stderr();
    }
    // The private home persists next to the SQLite file; with a memory store it is temporary.
    if keys.inherit_home {
        command = command.inherit_home();
    } else if let StoreLocation::Sqlite { path, .. } = &config.store.location
        && let Some(directory) = path.parent()
    {
        command = command.home(directory.join("homes").join(&agent.name));
    }
    Ok(command)
}
