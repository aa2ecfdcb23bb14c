//! How a turn ends other than well.

use std::fmt;

use latimer_protocol::Error;
use tracing::error;

/// Why an agent failed, as far as its caller may know.
///
/// An agent says what the caller reads with [`AgentFailure::new`]. Any other error becomes a failure too,
/// so that `?` works; then the caller reads only that the agent failed, and the log has the rest.
///
/// ```
/// # use latimer_server::AgentFailure;
/// assert_eq!(AgentFailure::new("no such city").to_string(), "no such city");
/// let failure: AgentFailure = std::io::Error::other("db01 refused").into();
/// assert_eq!(failure.to_string(), "the agent failed");
/// ```
pub struct AgentFailure {
    reason: String,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    /// Whether it only passes on that the turn is over.
    turn_over: bool,
    /// What the caller gets where nothing is left of its message.
    rejection: Option<Box<Error>>,
}

impl AgentFailure {
    /// A failure for this reason, which the caller reads.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), cause: None, turn_over: false, rejection: None }
    }

    /// Refuses the message with an error of the protocol. Its caller gets the error, and nothing is
    /// left of the message, as long as nothing was said about it and nobody was told of its task;
    /// otherwise the task fails in the words of the error.
    #[must_use]
    pub fn reject_message(error: Error) -> Self {
        Self {
            reason: error.message().to_owned(),
            rejection: Some(Box::new(error)),
            cause: None,
            turn_over: false,
        }
    }

    /// The failure of an agent that cannot go on after a restart.
    #[must_use]
    pub fn interrupted_by_restart() -> Self {
        Self::new("the server was restarted while the agent was at work")
    }

    /// The reason, for the caller.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The error that the message is refused with, if it is.
    pub(crate) fn rejection(&self) -> Option<&Error> {
        self.rejection.as_deref()
    }

    /// Writes what the caller does not read into the log.
    pub(crate) fn log(&self, agent: &str) {
        if let Some(cause) = &self.cause {
            error!(agent, error = %cause, "agent failed");
        }
    }

    /// Whether the agent only stopped because its turn was over.
    pub(crate) fn is_turn_over(&self) -> bool {
        self.turn_over
    }
}

impl fmt::Display for AgentFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.reason)
    }
}

impl fmt::Debug for AgentFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Failure")
            .field("reason", &self.reason)
            .field("cause", &self.cause)
            .finish()
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for AgentFailure {
    fn from(error: E) -> Self {
        let error: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
        match error.downcast::<TurnError>() {
            Ok(turn_error) => Self { turn_over: true, ..Self::new(turn_error.to_string()) },
            Err(cause) => Self { cause: Some(cause), ..Self::new("the agent failed") },
        }
    }
}

/// Nothing more can be said in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The agent said that the task is over, or answered directly.
    #[error("the turn is over: the agent has given its answer")]
    Finished,
    /// The task was canceled, or took too long, and the agent was told to stop.
    #[error("the turn is over: the agent was told to stop")]
    Stopped,
    /// What the agent said could not be stored.
    #[error("the turn is over: its events could not be stored")]
    StoreFailed,
}
