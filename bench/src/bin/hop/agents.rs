//! The upstream agents.

use std::fmt;
use std::path::{Path, PathBuf};

use latimer_bench::BenchError;
use latimer_bench::process::{Process, SERVER_CORE, Starter, free_address};
use latimer_bench::role::Role;
use latimer_bench::server_under_test::{AgentKind, Setup, Store};

/// Implementation of an echo agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// Latimer with the memory store.
    Latimer,
    /// Official JavaScript SDK.
    JavaScript,
    /// Official Python SDK.
    Python,
}

/// Running agent. Dropping it kills the process.
pub(crate) struct RunningAgent {
    pub(crate) address: String,
    pub(crate) process: Process,
}

impl fmt::Display for Agent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Latimer => "Latimer",
            Self::JavaScript => "JavaScript SDK",
            Self::Python => "Python SDK",
        })
    }
}

impl Agent {
    /// Returns the agents whose SDKs are installed.
    pub(crate) fn available() -> Vec<Self> {
        let mut available = vec![Self::Latimer];
        for sdk in [Self::JavaScript, Self::Python] {
            available.extend(
                sdk.program().filter(|(_, prerequisite)| prerequisite.exists()).map(|_| sdk),
            );
        }
        available
    }

    /// Returns the path of the JSON-RPC endpoint.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Latimer => "/a2a",
            Self::JavaScript | Self::Python => "/",
        }
    }

    /// Starts the agent on the server core, and waits until it listens.
    pub(crate) fn start(self, starter: Starter) -> Result<RunningAgent, BenchError> {
        let address = free_address()?;
        let mut process = match self.program() {
            None => {
                let (store, agent) = (Store::Memory, AgentKind::Echo);
                let setup = Setup { address: address.clone(), store, agent };
                starter.start(SERVER_CORE, &Role::ServerUnderTest(setup))?
            }
            Some((command, _)) => {
                let port = address.rsplit(':').next().unwrap_or_default();
                let port_map = format!(r#"PEER_CARD_PORTS={{"http":{port}}}"#);
                let env_vars = [format!("PEER_HTTP={port}"), port_map];
                let command = command.iter().map(|it| (*it).to_owned());
                let arguments: Vec<_> = env_vars.into_iter().chain(command).collect();
                starter.start_program(SERVER_CORE, Path::new("env"), &arguments)?
            }
        };
        process.wait_until_listening(&address)?;
        Ok(RunningAgent { address, process })
    }

    /// Returns the command that starts the agent and the path that must exist for it; `None` for
    /// the agent that is part of this program.
    fn program(self) -> Option<([&'static str; 3], PathBuf)> {
        let (command, prerequisite) = match self {
            Self::Latimer => return None,
            Self::JavaScript => {
                (["node", "tests/peers/js/serve_1x.mjs", "--demo"], "tests/peers/js/node_modules")
            }
            Self::Python => {
                let python = ".venv/1.x/bin/python";
                ([python, "tests/peers/python/serve_1x.py", "--demo"], python)
            }
        };
        Some((command, prerequisite.into()))
    }
}
