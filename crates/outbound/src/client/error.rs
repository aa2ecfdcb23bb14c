//! What can go wrong with a request.

use std::error::Error;

use hyper_util::client::legacy;

use super::connector;
use super::redirect::RedirectError;
use crate::forbidden::Forbidden;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Why a request has no answer.
///
/// The words are safe to show to whoever named the address; the sources are for the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The guard refused the address. Nothing was sent.
    #[error("the URL {0}")]
    Forbidden(#[from] Forbidden),
    /// The answer was a redirect, and not one to follow.
    #[error("the answer was a redirect that {0}")]
    Redirect(#[from] RedirectError),
    /// The name has no address at the moment.
    #[error("the name does not resolve")]
    Unresolved {
        /// Why.
        source: BoxError,
    },
    /// Nobody took the connection.
    #[error("could not connect")]
    Unreachable {
        /// Why.
        source: BoxError,
    },
    /// There was somebody, but not with a certificate that counts.
    #[error("could not establish TLS")]
    Tls {
        /// Why.
        source: BoxError,
    },
    /// It took too long.
    #[error("took too long")]
    Timeout,
    /// The answer was larger than it may be.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// How large it may be.
        limit: usize,
    },
    /// The connection ended in the middle, or what came was not HTTP.
    #[error("the connection broke")]
    Broken {
        /// Why.
        source: BoxError,
    },
}

impl RequestError {
    /// Whether the same request may do better later on.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unresolved { .. }
            | Self::Unreachable { .. }
            | Self::Tls { .. }
            | Self::Timeout
            | Self::Broken { .. } => true,
            Self::Forbidden(_) | Self::Redirect(_) | Self::TooLarge { .. } => false,
        }
    }

    pub(super) fn broken(source: impl Into<BoxError>) -> Self {
        Self::Broken { source: source.into() }
    }

    /// What a failed request comes to: mostly something that its connector met with.
    pub(super) fn from_client_error(error: legacy::Error) -> Self {
        match connector::connect_error(&error) {
            Some(connector::ConnectError::Forbidden(forbidden)) => (*forbidden).into(),
            Some(connector::ConnectError::Unresolved(_)) => {
                Self::Unresolved { source: error.into() }
            }
            Some(connector::ConnectError::Unreachable(_)) => {
                Self::Unreachable { source: error.into() }
            }
            Some(connector::ConnectError::Tls(_)) => Self::Tls { source: error.into() },
            Some(connector::ConnectError::Timeout) => Self::Timeout,
            None => Self::broken(error),
        }
    }
}
