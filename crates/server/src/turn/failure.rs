//! Errors of agents and of ended turns.

use std::any::Any;
use std::fmt;

use latimer_protocol::Error;
use tracing::error;

/// Reason that callers read when the cause is private.
const AGENT_FAILED: &str = "the agent failed";

/// Failure of an agent's turn, with a reason that the caller may read.
///
/// [`AgentFailure::new`] sets the reason that the caller reads. Every other error converts into a
/// failure, so that `?` works: the caller then reads only "the agent failed", and the engine logs
/// the error.
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
    /// Whether the failure is a [`TurnError`] that the executor passed on.
    turn_ended: bool,
    panicked: bool,
    /// Error that the caller gets instead of a failed task.
    rejection: Option<Box<Error>>,
}

impl AgentFailure {
    /// Creates a failure with a reason for the caller.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            cause: None,
            turn_ended: false,
            panicked: false,
            rejection: None,
        }
    }

    /// Rejects the message with a protocol error. The caller gets the error and the store keeps no
    /// trace of the message.
    ///
    /// This works only until the turn has emitted an event and until the caller has learned of the
    /// task; after that the task fails, with the text of the error as the reason.
    #[must_use]
    pub fn reject_message(error: Error) -> Self {
        let reason = error.message().to_owned();
        Self { rejection: Some(Box::new(error)), ..Self::new(reason) }
    }

    /// Creates the failure of an agent that panicked. The caller reads only that the agent failed;
    /// the log has the panic message.
    pub(crate) fn from_panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let cause = format!("panicked: {}", message.unwrap_or("no message")).into();
        Self { cause: Some(cause), panicked: true, ..Self::new(AGENT_FAILED) }
    }

    /// Creates the failure of a turn that a restart interrupted and that cannot be resumed.
    #[must_use]
    pub fn interrupted_by_restart() -> Self {
        Self::new("the server restarted while the agent was working")
    }

    /// Returns the reason that the caller reads.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns the protocol error of a rejected message.
    pub(crate) fn rejection(&self) -> Option<&Error> {
        self.rejection.as_deref()
    }

    /// Logs the cause, which the caller does not read.
    pub(crate) fn log(&self, agent: &str) {
        if let Some(cause) = &self.cause {
            error!(agent, error = %cause, "agent failed");
        }
    }

    /// Returns whether the agent panicked.
    pub(crate) fn is_panic(&self) -> bool {
        self.panicked
    }

    /// Returns whether the executor stopped only because the turn had ended.
    pub(crate) fn is_turn_ended(&self) -> bool {
        self.turn_ended
    }
}

impl fmt::Display for AgentFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.reason)
    }
}

impl fmt::Debug for AgentFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AgentFailure")
            .field("reason", &self.reason)
            .field("cause", &self.cause)
            .finish()
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for AgentFailure {
    fn from(error: E) -> Self {
        let error: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
        match error.downcast::<TurnError>() {
            Ok(turn_error) => Self { turn_ended: true, ..Self::new(turn_error.to_string()) },
            Err(cause) => Self { cause: Some(cause), ..Self::new(AGENT_FAILED) },
        }
    }
}

/// The turn has ended and accepts no more events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// The agent set a terminal state or replied directly.
    #[error("the turn has ended: the agent has finished the task")]
    Finished,
    /// The engine stopped the turn: the task was canceled, the turn exceeded its time limit, or the
    /// server shut down.
    #[error("the turn has ended: the engine stopped the agent")]
    Stopped,
    /// The events of the turn could not be stored.
    #[error("the turn has ended: its events could not be stored")]
    StoreFailed,
}
