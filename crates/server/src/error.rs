//! Errors of building and running a server.

use std::io;

use crate::agent::InvalidAgents;

/// Result of building or running a server.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A server cannot be built, started or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Names of agents conflict or are invalid.
    #[error("the agents cannot be published")]
    Agents(#[from] InvalidAgents),
    /// A setting is invalid.
    #[error("{setting}: {problem}")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// Problem with its value.
        problem: String,
    },
    /// The server cannot listen on its address.
    #[error("cannot listen on {address}")]
    Listen {
        /// The configured address.
        address: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The tasks in the store could not be read at the start.
    #[error("the task store cannot be read")]
    Store(#[source] latimer_protocol::Error),
}

impl Error {
    pub(crate) fn setting(setting: &'static str, problem: impl Into<String>) -> Self {
        Self::Setting { setting, problem: problem.into() }
    }

    pub(crate) fn listen(address: impl ToString, source: io::Error) -> Self {
        Self::Listen { address: address.to_string(), source }
    }
}
