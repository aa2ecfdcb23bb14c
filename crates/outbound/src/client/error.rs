//! Request errors.

use std::error::Error;

use hyper_util::client::legacy;

use super::connector;
use super::redirect::RedirectError;
use crate::forbidden::Forbidden;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Reason why a request has no response.
///
/// The message is safe for the untrusted client that submitted the URL; the source is for the log.
///
/// ```
/// # use latimer_outbound::{Forbidden, RequestError};
/// let error = RequestError::from(Forbidden::Scheme);
/// assert_eq!(error.to_string(), "the URL must begin with https://");
/// assert!(!error.is_retryable());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The guard rejected the URL. No request was sent.
    #[error("the URL {0}")]
    Forbidden(#[from] Forbidden),
    /// The response is a redirect that is not followed.
    #[error("the response is a redirect that {0}")]
    Redirect(#[from] RedirectError),
    /// The host name does not resolve.
    #[error("the host name does not resolve")]
    Unresolved {
        /// Underlying error.
        source: BoxError,
    },
    /// No address of the host accepted a connection.
    #[error("could not connect")]
    Unreachable {
        /// Underlying error.
        source: BoxError,
    },
    /// The TLS handshake failed, for example because the certificate is not trusted.
    #[error("could not establish TLS")]
    Tls {
        /// Underlying error.
        source: BoxError,
    },
    /// The request or connection attempt timed out.
    #[error("timed out")]
    Timeout,
    /// The body of the response exceeds the limit.
    #[error("the response is larger than {limit} bytes")]
    TooLarge {
        /// Maximum size in bytes.
        limit: usize,
    },
    /// The connection closed before the end of the response, or the response is not valid HTTP.
    #[error("the connection broke")]
    Broken {
        /// Underlying error.
        source: BoxError,
    },
}

impl RequestError {
    /// Returns whether the same request may succeed later.
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

    /// Converts an error of the HTTP library, most often one of the connector.
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
