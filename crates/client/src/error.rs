//! Errors of calls and of the options of a client.

use std::time::Duration;

use latimer_outbound::{Forbidden, InvalidTls, RedirectError, RequestError};
use latimer_protocol::ErrorKind;
use latimer_protocol::card::SignatureError;

use crate::negotiate::NoInterface;

/// Error of a call, of connecting to an agent, or of the options of a client.
///
/// Messages name the origin that was called. They contain no credential, path or query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The agent returned an error.
    #[error("{0}")]
    Agent(#[from] latimer_protocol::Error),
    /// No connection was established: nothing was sent, and a retry is safe.
    #[error("{origin} cannot be reached: {source}")]
    Unreachable {
        /// Origin that was called.
        origin: String,
        /// Reason why it could not be reached.
        source: RequestError,
    },
    /// The connection was lost before the response. Whether the agent processed the request is
    /// unknown.
    #[error("the connection to {origin} was lost before the response: {source}")]
    ConnectionLost {
        /// Origin that was called.
        origin: String,
        /// Reason why the connection was lost.
        source: RequestError,
    },
    /// The response, or the next byte of a stream, did not arrive in time.
    #[error("{origin} did not respond within {limit:?}")]
    Timeout {
        /// Origin that was called.
        origin: String,
        /// Limit that was exceeded.
        limit: Duration,
    },
    /// A stream ended while its task was running. Subscribe again, or fetch the task.
    #[error("the stream from {origin} was interrupted before its task was settled")]
    StreamInterrupted {
        /// Origin that was called.
        origin: String,
    },
    /// A proxy in front of the agent answered 502, 503 or 504. Whether the agent processed the
    /// request is unknown.
    #[error("{origin} returned a gateway error: {problem}")]
    UpstreamUnavailable {
        /// Origin that was called.
        origin: String,
        /// HTTP status and the beginning of the response.
        problem: String,
        /// Delay after which the proxy allows a retry.
        retry_after: Option<Duration>,
    },
    /// The response is not A2A: it is an HTML page, empty, of another protocol, or a redirect to
    /// another origin.
    #[error("the response of {origin} is not A2A: {problem}")]
    InvalidResponse {
        /// Origin that was called.
        origin: String,
        /// HTTP status, problem, and the beginning of the response.
        problem: String,
    },
    /// The URL is not allowed by the guard.
    #[error("the URL {origin} is forbidden: it {source}")]
    Forbidden {
        /// Origin of the URL.
        origin: String,
        /// Rule that forbids it.
        source: Forbidden,
    },
    /// No usable card was found.
    #[error("no usable agent card: {0}")]
    NoCard(String),
    /// The signatures of the card do not satisfy [`CardTrust`](crate::CardTrust).
    #[error("the agent card is not trusted: {0}")]
    UntrustedCard(#[from] SignatureError),
    /// No interface of the card can be called.
    #[error("{0}")]
    NoInterface(#[from] NoInterface),
    /// No credentials satisfy the card, or they could not be obtained or renewed.
    #[error("no credentials for the agent: {0}")]
    NoCredentials(String),
    /// A polled task was still running after the last poll.
    #[error("task {task} was still running after {polls} polls")]
    PollLimitReached {
        /// Task that was polled.
        task: latimer_protocol::TaskId,
        /// Number of polls.
        polls: u32,
    },
    /// An option of the client is invalid or cannot take effect.
    #[error("{0}")]
    InvalidSetup(String),
}

impl Error {
    /// Returns whether nothing was sent, so that repeating the call is safe for every operation.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Returns whether the same call may succeed later. Repeating it may still process a message
    /// twice, unless the error [is unsent](Self::is_unsent).
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::ConnectionLost { .. }
            | Self::Timeout { .. }
            | Self::UpstreamUnavailable { .. }
            | Self::StreamInterrupted { .. } => true,
            Self::Agent(error) => {
                matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::RateLimited)
            }
            Self::InvalidResponse { .. }
            | Self::Forbidden { .. }
            | Self::NoCard(_)
            | Self::UntrustedCard(_)
            | Self::NoInterface(_)
            | Self::NoCredentials(_)
            | Self::PollLimitReached { .. }
            | Self::InvalidSetup(_) => false,
        }
    }

    /// Returns the delay before a retry that the agent or a proxy in front of it asks for.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Agent(error) => error.retry_after_seconds().map(Duration::from_secs),
            Self::UpstreamUnavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Sets the delay before a retry, unless the error has one or is permanent.
    pub(crate) fn with_default_retry_after(mut self, wait: Duration) -> Self {
        if self.retry_after().is_some() || !self.is_transient() {
            return self;
        }
        match &mut self {
            Self::Agent(error) => *error = error.clone().with_retry_after(wait),
            Self::UpstreamUnavailable { retry_after, .. } => *retry_after = Some(wait),
            _ => {}
        }
        self
    }

    /// Creates the error of a redirect to another origin.
    fn cross_origin_redirect(origin: String, target_origin: &str) -> Self {
        let problem = format!("it redirects to {target_origin}, which received nothing");
        let advice = "if the agent has moved, create the client with that URL";
        Self::InvalidResponse { origin, problem: format!("{problem}; {advice}") }
    }

    /// Converts an error of the HTTP client.
    pub(crate) fn from_request_error(origin: &str, error: RequestError, limit: Duration) -> Self {
        let origin = origin.to_owned();
        match error {
            RequestError::Forbidden(source) => Self::Forbidden { origin, source },
            RequestError::Timeout => Self::Timeout { origin, limit },
            RequestError::Unresolved { .. }
            | RequestError::Unreachable { .. }
            | RequestError::Tls { .. } => Self::Unreachable { origin, source: error },
            RequestError::Redirect(
                RedirectError::CrossOrigin { origin: to }
                | RedirectError::MethodChange { origin: to },
            ) => Self::cross_origin_redirect(origin, &to),
            RequestError::Redirect(_) | RequestError::TooLarge { .. } => {
                Self::InvalidResponse { origin, problem: error.to_string() }
            }
            source => Self::ConnectionLost { origin, source },
        }
    }
}

impl From<InvalidTls> for Error {
    fn from(error: InvalidTls) -> Self {
        Self::InvalidSetup(error.to_string())
    }
}

/// Removes the origin, so that callers of a gateway do not see the address of its upstream.
impl From<Error> for latimer_protocol::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Agent(error) => error,
            Error::Unreachable { .. } => unavailable("the agent cannot be reached"),
            Error::ConnectionLost { .. } => unavailable("the connection to the agent was lost"),
            Error::Timeout { .. } => unavailable("the agent did not respond in time"),
            Error::UpstreamUnavailable { retry_after, .. } => {
                let error = unavailable("the agent does not respond to the proxy in front of it");
                match retry_after {
                    Some(wait) => error.with_retry_after(wait),
                    None => error,
                }
            }
            Error::StreamInterrupted { .. } => {
                unavailable("the stream was interrupted before the task was settled")
            }
            Error::PollLimitReached { .. } => unavailable("the task is still running"),
            Error::InvalidResponse { .. } => ErrorKind::InvalidAgentResponse.into(),
            Error::Forbidden { .. }
            | Error::NoCard(_)
            | Error::UntrustedCard(_)
            | Error::NoInterface(_)
            | Error::NoCredentials(_)
            | Error::InvalidSetup(_) => Self::internal(),
        }
    }
}

fn unavailable(message: &'static str) -> latimer_protocol::Error {
    latimer_protocol::Error::new(ErrorKind::Unavailable, message)
}
