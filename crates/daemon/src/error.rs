//! Why a daemon does not start.

use std::io;
use std::path::PathBuf;

use latimer_protocol::card::InvalidKey;
use latimer_runtime::InvalidCommand;
use latimer_server::InvalidJwt;
use latimer_store::OpenError;

/// Why a daemon does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An agent is of a kind that this version does not have.
    #[error(
        "the agent {agent:?} is of the kind \"{kind}\", which is not available in this version"
    )]
    UnsupportedKind {
        /// The agent.
        agent: String,
        /// Its kind.
        kind: &'static str,
    },
    /// The command of an agent cannot be run.
    #[error("the agent {agent:?} cannot be run: {source}")]
    Command {
        /// The agent.
        agent: String,
        /// Why.
        source: InvalidCommand,
    },
    /// An agent elsewhere cannot be called as the configuration says.
    #[error("the agent {agent:?} cannot be called: {source}")]
    Upstream {
        /// The agent.
        agent: String,
        /// Why.
        source: latimer_client::Error,
    },
    /// The file of a token, a certificate or its key cannot be read.
    #[error("the agent {agent:?}: cannot read {}: {source}", path.display())]
    UpstreamFile {
        /// The agent.
        agent: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Anybody on the network could call the agents.
    #[error("{listen} can be reached from other machines, and nobody would be asked who they are")]
    UnauthenticatedRemote {
        /// The address.
        listen: String,
    },
    /// No token could be verified.
    #[error("auth.jwt.{0}")]
    Jwt(InvalidJwt),
    /// The address does not exist.
    #[error("there is no address {listen}: {source}")]
    ResolveAddress {
        /// The address.
        listen: String,
        /// Why.
        source: io::Error,
    },
    /// The folder of the store cannot be made.
    #[error("cannot make the folder {}: {source}", path.display())]
    CreateDir {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The store cannot be opened.
    #[error("{0}")]
    Store(OpenError),
    /// The file of a key cannot be read.
    #[error("cannot read the key {}: {source}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A key is none that can be used.
    #[error("cannot use {}: {source}", path.display())]
    UnusableKey {
        /// The file.
        path: PathBuf,
        /// Why.
        source: InvalidKey,
    },
    /// The server cannot run.
    #[error("{}", with_causes(.0))]
    Server(latimer_server::Error),
}

impl StartError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::UnauthenticatedRemote { .. } => Some(
                "set `api_key`, or say in `[[auth.keys]]`, `[auth.jwt]` or `tls.client_ca` who may \
                 call; listen on 127.0.0.1; or set \
                 `dangerously_allow_unauthenticated_remote = true`",
            ),
            Self::KeyFile { .. } => Some("make one with: latimer card keygen --out FILE"),
            Self::UnsupportedKind { .. } => Some("available are: echo, command, demo, a2a"),
            Self::Store(OpenError::Locked { .. }) => Some(
                "use that server, or another file: --store FILE, or `store.path` in a configuration",
            ),
            Self::Server(latimer_server::Error::Listen { source, .. }) => match source.kind() {
                io::ErrorKind::AddrInUse => Some(
                    "another server listens there; choose another port with --listen, \
                     or any free one with --listen 127.0.0.1:0",
                ),
                io::ErrorKind::PermissionDenied => {
                    Some("ports below 1024 need a privilege; choose another with --listen")
                }
                io::ErrorKind::AddrNotAvailable => Some("this machine does not have that address"),
                _ => None,
            },
            Self::Command { .. }
            | Self::Jwt(_)
            | Self::Upstream { .. }
            | Self::UpstreamFile { .. }
            | Self::ResolveAddress { .. }
            | Self::CreateDir { .. }
            | Self::Store(_)
            | Self::UnusableKey { .. }
            | Self::Server(_) => None,
        }
    }

    /// Whether the configuration is to blame, so that trying again is in vain.
    #[must_use]
    pub fn is_config_error(&self) -> bool {
        match self {
            Self::UnsupportedKind { .. }
            | Self::Command { .. }
            | Self::Upstream { .. }
            | Self::UpstreamFile { .. }
            | Self::UnauthenticatedRemote { .. }
            | Self::Jwt(_)
            | Self::KeyFile { .. }
            | Self::UnusableKey { .. } => true,
            Self::Server(error) => {
                use latimer_server::Error;
                matches!(error, Error::Agents(_) | Error::Setting { .. })
            }
            Self::ResolveAddress { .. } | Self::CreateDir { .. } | Self::Store(_) => false,
        }
    }
}

/// An error with all that led to it, on one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
