//! What can go wrong with a call, by what its caller can do about it.

use std::time::Duration;

use latimer_outbound::{Forbidden, InvalidTls, RedirectError, RequestError};
use latimer_protocol::ErrorKind;
use latimer_protocol::card::SignatureError;

use crate::negotiate::NoInterface;

/// Why a call came to nothing.
///
/// Its words name the origin that was called, and never a credential, a path or a query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The agent answered, with an error.
    #[error("{0}")]
    Agent(#[from] latimer_protocol::Error),
    /// There was no connection: nothing was sent, and another try is safe.
    #[error("{origin} cannot be reached: {source}")]
    Unreachable {
        /// Who was called.
        origin: String,
        /// Why not.
        source: RequestError,
    },
    /// The connection broke before the answer came: nobody knows what became of the request.
    #[error("the connection to {origin} was lost before it answered: {source}")]
    ConnectionLost {
        /// Who was called.
        origin: String,
        /// Why.
        source: RequestError,
    },
    /// The answer, or the next sign of life of a stream, did not come in time.
    #[error("{origin} did not answer within {limit:?}")]
    Timeout {
        /// Who was called.
        origin: String,
        /// The time it had.
        limit: Duration,
    },
    /// A stream ended while its task goes on. Subscribe again, or ask for the task.
    #[error("the stream from {origin} was cut off before its task came to an end")]
    StreamInterrupted {
        /// Who was called.
        origin: String,
    },
    /// What stands before the agent says that it does not answer: nobody knows what became of the
    /// request.
    #[error("{origin} passes nothing on to an agent now: {problem}")]
    UpstreamUnavailable {
        /// Who was called.
        origin: String,
        /// The HTTP status, with the beginning of what came.
        problem: String,
        /// How long it asks to wait before another try.
        retry_after: Option<Duration>,
    },
    /// What came is no answer of an agent: a page, nothing, another protocol, a way to another origin.
    #[error("what {origin} answered is no answer of an agent: {problem}")]
    InvalidResponse {
        /// Who was called.
        origin: String,
        /// The HTTP status, and what is wrong, with the beginning of what came.
        problem: String,
    },
    /// The address may not be called.
    #[error("the address {origin} is not called: it {source}")]
    Forbidden {
        /// The address, as far as it is safe to show.
        origin: String,
        /// Why not.
        source: Forbidden,
    },
    /// There is no card to go by.
    #[error("there is no usable agent card: {0}")]
    NoCard(String),
    /// The card is not signed as it must be.
    #[error("the agent card is not trusted: {0}")]
    UntrustedCard(#[from] SignatureError),
    /// The card offers no way to call the agent.
    #[error("{0}")]
    NoInterface(#[from] NoInterface),
    /// There is no credential to show, or none that could be renewed.
    #[error("there are no credentials to show: {0}")]
    NoCredentials(String),
    /// The task goes on after all the time that was given to wait for it.
    #[error("task {task} goes on after {polls} looks at it")]
    PollLimitReached {
        /// The task.
        task: latimer_protocol::TaskId,
        /// How often it was looked at.
        polls: u32,
    },
    /// What the client was set up with cannot be used.
    #[error("{0}")]
    InvalidSetup(String),
}

impl Error {
    /// Whether nothing was sent, so that even a message may be sent again.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Whether the same call may do better later on. Whether it may be made twice is another matter.
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

    /// How long to wait before another try, if whoever answered has said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Agent(error) => error.retry_after_seconds().map(Duration::from_secs),
            Self::UpstreamUnavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The same error, which is worth another try after this time, unless it says itself after which,
    /// or is worth none.
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

    /// What an address amounts to that leads to another origin.
    fn cross_origin_redirect(origin: String, target_origin: &str) -> Self {
        let problem = format!("it redirects to {target_origin}, where nothing was sent");
        let advice = "if the agent is there now, make the client with that address";
        Self::InvalidResponse { origin, problem: format!("{problem}; {advice}") }
    }

    /// What a failure of the network amounts to.
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

/// What whoever calls through us may see: nothing about the place that was called.
impl From<Error> for latimer_protocol::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Agent(error) => error,
            Error::Unreachable { .. } => unavailable("the agent cannot be reached"),
            Error::ConnectionLost { .. } => unavailable("the connection to the agent was lost"),
            Error::Timeout { .. } => unavailable("the agent did not answer in time"),
            Error::UpstreamUnavailable { retry_after, .. } => {
                let error = unavailable("the agent does not answer whoever stands before it");
                match retry_after {
                    Some(wait) => error.with_retry_after(wait),
                    None => error,
                }
            }
            Error::StreamInterrupted { .. } => {
                unavailable("the stream was cut off before the task came to an end")
            }
            Error::PollLimitReached { .. } => unavailable("the task goes on"),
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
