//! Why a server does not run.

use std::io;

use crate::agent::InvalidAgents;

/// What a server's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The agents cannot be published together.
    #[error("the agents cannot be published")]
    Agents(#[from] InvalidAgents),
    /// A setting has no meaning.
    #[error("{setting}: {problem}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The address cannot be listened at.
    #[error("cannot listen at {address}")]
    Listen {
        /// The address.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// What the store holds could not be taken over.
    #[error("the store is not usable")]
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
