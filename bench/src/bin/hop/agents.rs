//! The agents at the end of the way.

use std::fmt;
use std::path::{Path, PathBuf};

use latimer_bench::Failure;
use latimer_bench::process::{Process, SERVER_CORE, Starter, free_address};
use latimer_bench::role::Role;
use latimer_bench::subject::{Kind, Setup, Store};

/// An agent, which says what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// One of ours.
    Ours,
    /// One on the official SDK for JavaScript.
    JavaScript,
    /// One on the official SDK for Python.
    Python,
}

/// An agent that runs.
pub(crate) struct Running {
    pub(crate) address: String,
    pub(crate) process: Process,
}

impl fmt::Display for Agent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Ours => "ours",
            Self::JavaScript => "JavaScript SDK",
            Self::Python => "Python SDK",
        })
    }
}

impl Agent {
    /// Those that can be started from here.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self::Ours];
        for sdk in [Self::JavaScript, Self::Python] {
            all.extend(sdk.program().filter(|(_, needs)| needs.exists()).map(|_| sdk));
        }
        all
    }

    /// Where it answers JSON-RPC.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Ours => "/a2a",
            Self::JavaScript | Self::Python => "/",
        }
    }

    /// Starts it on the core of servers.
    pub(crate) fn start(self, starter: Starter) -> Result<Running, Failure> {
        let address = free_address()?;
        let mut process = match self.program() {
            None => {
                let (store, agent) = (Store::Memory, Kind::Echo);
                let setup = Setup { address: address.clone(), store, agent };
                starter.start(SERVER_CORE, &Role::Subject(setup))?
            }
            Some((words, _)) => {
                let port = address.rsplit(':').next().unwrap_or_default();
                let shown = format!(r#"PEER_SHOWN={{"http":{port}}}"#);
                let told = [format!("PEER_HTTP={port}"), shown];
                let words = words.iter().map(|it| (*it).to_owned());
                let arguments: Vec<_> = told.into_iter().chain(words).collect();
                starter.start_other(SERVER_CORE, Path::new("env"), &arguments)?
            }
        };
        process.wait_until_listening(&address)?;
        Ok(Running { address, process })
    }

    /// What starts it, and what has to be there for that. None for what is in this program.
    fn program(self) -> Option<([&'static str; 3], PathBuf)> {
        let (words, needs) = match self {
            Self::Ours => return None,
            Self::JavaScript => {
                (["node", "tests/peers/js/serve_1x.mjs", "--demo"], "tests/peers/js/node_modules")
            }
            Self::Python => {
                let python = ".venv/1.x/bin/python";
                ([python, "tests/peers/python/serve_1x.py", "--demo"], python)
            }
        };
        Some((words, needs.into()))
    }
}
