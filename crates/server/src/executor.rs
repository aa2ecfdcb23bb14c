//! What stands behind an agent.

use std::fmt;

use async_trait::async_trait;
use latimer_protocol::{Message, Task};

use crate::card_handle::CardHandle;
use crate::turn::{AgentFailure, Turn};

/// What stands behind an agent: it takes turns.
///
/// A turn is one message and everything the agent does about it. Turns of one task come one after
/// the other; those of different tasks at the same time.
///
/// ```
/// use async_trait::async_trait;
/// use latimer_server::{AgentFailure, Executor, Turn};
///
/// #[derive(Debug)]
/// struct Shouter;
///
/// #[async_trait]
/// impl Executor for Shouter {
///     async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
///         turn.progress("thinking").await?;
///         turn.reply(turn.text().to_uppercase()).await?;
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait Executor: fmt::Debug + Send + Sync + 'static {
    /// Does what there is to do about a message.
    ///
    /// When it returns, the task is completed, unless the turn said something else: that it asks
    /// for input, or failed, or was a direct answer. An error fails the task. When the caller
    /// cancels, [`Turn::cancellation_token`] says so; an agent that neither stops by itself nor
    /// [declines](Turn::decline_cancellation) is dropped after a grace time, at one of its `await`s.
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure>;

    /// Goes on with a turn that was interrupted when the process that ran it ended, or fails.
    ///
    /// The turn has the same message, and [`Turn::task`] is the task with all that became durable.
    /// An agent that cannot tell what it did already should leave this as it is: the task fails,
    /// with a reason that names the restart.
    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        let _ = turn;
        Err(AgentFailure::interrupted_by_restart())
    }

    /// Lets go of a task that was canceled while no turn of it went on: it asked its caller for
    /// something. `note` is what the agent kept with it. The task is canceled whatever comes of this;
    /// an agent that takes longer than its grace time is dropped.
    async fn release(&self, task: &Task, note: Option<&str>) {
        let _ = (task, note);
    }

    /// The agent is about to be served, and what it says about itself hangs here. An agent that
    /// learns what it can do only later changes it. Called within a Tokio runtime; must not block.
    fn on_publish(&self, card: &CardHandle) {
        let _ = card;
    }

    /// How whatever the agent depends on is doing, if it depends on something elsewhere.
    fn health(&self) -> Option<Health> {
        None
    }

    /// Whether a message that was sent before, and is sent again just as it was, is a new message
    /// all the same. Usually it is somebody who did not get the answer, and gets it again.
    fn accepts_duplicate(&self, message: &Message) -> bool {
        let _ = message;
        false
    }
}

/// How something elsewhere is doing, that an agent depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Nobody knows yet.
    Unknown,
    /// It answers.
    Healthy,
    /// It does not.
    Unhealthy,
}

/// An agent that is a function.
pub(crate) struct FnExecutor<F>(pub(crate) F);

impl<F> fmt::Debug for FnExecutor<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Function")
    }
}

#[async_trait]
impl<F, R, E> Executor for FnExecutor<F>
where
    F: Fn(Turn) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), E>> + Send,
    E: Into<AgentFailure>,
{
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        (self.0)(turn).await.map_err(Into::into)
    }
}
