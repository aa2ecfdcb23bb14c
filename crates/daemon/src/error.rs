//! Errors of starting a daemon.

use std::io;
use std::path::PathBuf;

use latimer_protocol::card::InvalidKey;
use latimer_runtime::InvalidCommand;
use latimer_server::InvalidJwt;
use latimer_store::OpenError;

/// Reason why a daemon cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// This version cannot serve agents of this kind.
    #[error("agent {agent:?}: this version cannot serve agents of `kind = \"{kind}\"`")]
    UnsupportedKind {
        /// Name of the agent.
        agent: String,
        /// Kind of the agent.
        kind: &'static str,
    },
    /// The command of an agent is invalid.
    #[error("agent {agent:?} has an invalid command: {source}")]
    Command {
        /// Name of the agent.
        agent: String,
        /// Reason.
        source: InvalidCommand,
    },
    /// The settings of a remote agent are invalid.
    #[error("agent {agent:?} has invalid settings: {source}")]
    Upstream {
        /// Name of the agent.
        agent: String,
        /// Reason.
        source: latimer_client::Error,
    },
    /// A token, certificate or key file of a remote agent cannot be read.
    #[error("agent {agent:?}: cannot read {}: {source}", path.display())]
    UpstreamFile {
        /// Name of the agent.
        agent: String,
        /// Path of the file.
        path: PathBuf,
        /// I/O error.
        source: io::Error,
    },
    /// The `listen` address is not a loopback address, and no authentication is configured.
    #[error("{listen} is reachable from other machines but no authentication is configured")]
    UnauthenticatedRemote {
        /// Configured `listen` address.
        listen: String,
    },
    /// The settings in `[auth.jwt]` are invalid.
    #[error("auth.jwt.{0}")]
    Jwt(InvalidJwt),
    /// The `listen` address cannot be resolved.
    #[error("cannot resolve `listen` address {listen}: {source}")]
    ResolveAddress {
        /// Configured `listen` address.
        listen: String,
        /// I/O error.
        source: io::Error,
    },
    /// The directory of the store cannot be created.
    #[error("cannot create directory {}: {source}", path.display())]
    CreateDir {
        /// Path of the directory.
        path: PathBuf,
        /// I/O error.
        source: io::Error,
    },
    /// The store cannot be opened.
    #[error("{0}")]
    Store(OpenError),
    /// A key file cannot be read.
    #[error("cannot read key file {}: {source}", path.display())]
    KeyFile {
        /// Path of the file.
        path: PathBuf,
        /// I/O error.
        source: io::Error,
    },
    /// A key file does not contain a usable key.
    #[error("cannot use key file {}: {source}", path.display())]
    UnusableKey {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        source: InvalidKey,
    },
    /// The server cannot start.
    #[error("{}", with_causes(.0))]
    Server(latimer_server::Error),
}

impl StartError {
    /// Returns what the operator can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::UnauthenticatedRemote { .. } => Some(
                "configure `api_key`, `[[auth.keys]]`, `[auth.jwt]` or `tls.client_ca`, without \
                 `public_paths = [\"/*\"]`; or listen on 127.0.0.1; or set `dangerously_allow_unauthenticated_remote = true`",
            ),
            Self::KeyFile { .. } => Some("generate a key with `latimer card keygen --out FILE`"),
            Self::UnsupportedKind { .. } => Some("supported kinds: echo, command, demo, a2a"),
            Self::Store(OpenError::Locked { .. }) => {
                Some("stop that process, or choose another file with --store FILE or `store.path`")
            }
            Self::Server(latimer_server::Error::Listen { source, .. }) => match source.kind() {
                io::ErrorKind::AddrInUse => Some(
                    "another process listens there; choose another port with --listen, \
                     or any free port with --listen 127.0.0.1:0",
                ),
                io::ErrorKind::PermissionDenied => {
                    Some("ports below 1024 require privileges; choose another port with --listen")
                }
                io::ErrorKind::AddrNotAvailable => Some(
                    "the address is not assigned to this machine; choose another with --listen",
                ),
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

    /// Returns whether the cause is in the configuration, so that a retry cannot succeed.
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

/// Formats an error with its causes on one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
