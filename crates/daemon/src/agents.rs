//! Makes the agents that a configuration lists.

use latimer_protocol::card::AgentCard;
use latimer_runtime::{CommandAgent, DemoAgent, EchoAgent, Input};
use latimer_server::Agent;
use tracing::warn;

use crate::config::{AgentConfig, Behind, CardConfig, CommandConfig, Config, DemoConfig, Place};
use crate::error::StartError;
use crate::remote::remote;

/// All agents of a configuration.
pub(crate) fn agents(config: &Config) -> Result<Vec<Agent>, StartError> {
    config.agents.iter().map(|it| agent(it, config)).collect()
}

fn demonstration(name: &str, config: DemoConfig) -> Agent {
    let demo = DemoAgent::default();
    let demo = if config.open_ended { demo.open_ended() } else { demo };
    let agent = demo.into_agent(name);
    match config.extended_card {
        true => agent.with_extended_card(DemoAgent::extended_card(name)),
        false => agent,
    }
}

fn agent(agent: &AgentConfig, config: &Config) -> Result<Agent, StartError> {
    let name = &agent.name;
    let unavailable = |kind| Err(StartError::Unavailable { agent: name.clone(), kind });
    let made = match &agent.behind {
        Behind::Echo => EchoAgent::new_agent(name),
        Behind::Demo(demo) => demonstration(name, *demo),
        Behind::Command(command) => program(agent, command, config)?.into_agent(name),
        Behind::A2a(upstream) => {
            let made = remote(agent, upstream)?.with_policy(agent.policy.clone());
            return Ok(made.with_access(agent.access.clone()));
        }
        Behind::Mcp { .. } => return unavailable("mcp"),
        Behind::Model { .. } => return unavailable("model"),
    };
    let complete = |card: &AgentCard| {
        let mut card = card.clone();
        describe(&mut card, &agent.card);
        card.capabilities.streaming = Some(agent.streaming);
        card
    };
    let card = complete(&made.card());
    let extended = made.extended_card().map(complete);
    let made = made.with_card(card).with_policy(agent.policy.clone());
    let made = made.with_access(agent.access.clone());
    Ok(match extended {
        Some(extended) => made.with_extended_card(extended),
        None => made,
    })
}

/// Says what the configuration says in place of what the kind does.
pub(crate) fn describe(card: &mut AgentCard, said: &CardConfig) {
    if let Some(description) = &said.description {
        card.description.clone_from(description);
    }
    if let Some(version) = &said.version {
        card.version.clone_from(version);
    }
    if let Some(modes) = &said.input_modes {
        card.default_input_modes.clone_from(modes);
    }
    if let Some(modes) = &said.output_modes {
        card.default_output_modes.clone_from(modes);
    }
    if !said.skills.is_empty() {
        card.skills.clone_from(&said.skills);
    }
}

fn program(
    agent: &AgentConfig,
    said: &CommandConfig,
    config: &Config,
) -> Result<CommandAgent, StartError> {
    let failed = |source| StartError::Command { agent: agent.name.clone(), source };
    let mut command = CommandAgent::new(said.command.iter().cloned()).map_err(failed)?;
    command = command
        .inherit_env(said.env.iter().cloned())
        .max_output_bytes(said.max_output)
        .kill_grace(agent.policy.cancel_grace);
    if said.json {
        command = command.input(Input::Json);
    }
    if let Some(delimiter) = &said.chunk {
        command = command.delimiter(delimiter.as_bytes());
    }
    if let Some(folder) = &said.dir {
        command = command.current_dir(folder);
    }
    if let Some(limit) = said.timeout {
        command = command.timeout(limit);
    }
    if said.show_stderr {
        command = command.expose_stderr();
    }
    // What a program keeps stays beside the tasks, and goes with them when they are in memory.
    if said.inherit_home {
        command = command.inherit_home();
    } else if let Place::Sqlite { path, .. } = &config.store.place
        && let Some(folder) = path.parent()
    {
        command = command.home(folder.join("homes").join(&agent.name));
    }
    if command.resolve_program().is_none() {
        warn!(agent = agent.name, program = command.program(), "command does not exist");
    }
    Ok(command)
}
