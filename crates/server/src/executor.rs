//! The trait that agents implement.

use std::fmt;

use async_trait::async_trait;
use latimer_protocol::{Message, Task};

use crate::agent::Policy;
use crate::card_handle::CardHandle;
use crate::turn::{AgentFailure, Turn};

/// Runs the turns of an agent.
///
/// A turn is one message and everything that the agent does in response. Turns of one task run one
/// at a time, in order of arrival; turns of different tasks run concurrently.
///
/// ```
/// use async_trait::async_trait;
/// use latimer_protocol::{
///     Call, Message, MessageId, Reply, ReplyKind, Request, SendMessageResponse,
/// };
/// use latimer_server::{Agent, AgentFailure, Executor, Server, Turn};
///
/// #[derive(Debug)]
/// struct UpperCase;
///
/// #[async_trait]
/// impl Executor for UpperCase {
///     async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
///         turn.progress("thinking").await?;
///         turn.reply(turn.text().to_uppercase()).await?;
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::new(Agent::new("upper-case", UpperCase));
///
/// let message = Message::user(MessageId::new("m1")?, "hello");
/// let call = Call::new(Request::SendMessage(message.into()));
/// let response = server.assemble().await?.service().call(call).await?;
///
/// let ReplyKind::Single(Reply::SendMessage(SendMessageResponse::Task(task))) = response.kind else {
///     panic!("expected a task");
/// };
/// assert_eq!(task.text(), "HELLO");
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Executor: fmt::Debug + Send + Sync + 'static {
    /// Responds to one message.
    ///
    /// When it returns `Ok`, the engine completes the task, unless the turn replied directly,
    /// requested input or an authorization, or set a terminal state. When it returns an error or
    /// panics, the task fails.
    ///
    /// When the caller cancels the task, the engine cancels [`Turn::cancellation_token`]. An
    /// executor that neither returns within [`Policy::cancel_grace`](crate::Policy) nor
    /// [declines](Turn::decline_cancellation) is dropped at one of its `await` points.
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure>;

    /// Resumes or fails a turn that the end of the previous process interrupted.
    ///
    /// The turn has the same message, and [`Turn::task`] is the task with all durable events. The
    /// default fails the task with a reason that names the restart. Override it only if the agent
    /// can determine how far the interrupted turn got.
    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        let _ = turn;
        Err(AgentFailure::interrupted_by_restart())
    }

    /// Checks a message before its turn is recorded, and rejects what is known to fail, such as a call
    /// to an agent that does not respond. Must return quickly and have no effect outside the process.
    ///
    /// Called only for agents that are recorded [before they start](crate::Record::BeforeStart). The
    /// executor is not called if the check fails or ends the turn.
    async fn check(&self, turn: &Turn) -> Result<(), AgentFailure> {
        let _ = turn;
        Ok(())
    }

    /// Returns the policy of agents with this executor, unless
    /// [`Agent::with_policy`](crate::Agent::with_policy) sets another one.
    fn default_policy(&self) -> Policy {
        Policy::default()
    }

    /// Called when a task is canceled while it waits for input and no turn is running. `note` is
    /// the agent's note. The task is canceled regardless of the result; the call is dropped after
    /// `cancel_grace`.
    async fn release(&self, task: &Task, note: Option<&str>) {
        let _ = (task, note);
    }

    /// Called within a Tokio runtime when the server publishes the agent. Must not block. An executor
    /// that determines its capabilities later can store the handle and replace the card through it.
    fn on_publish(&self, card: &CardHandle) {
        let _ = card;
    }

    /// Returns the state of an external dependency of the agent, or `None` if it has none. The server
    /// exports it at `/metrics`. Must not block.
    fn health(&self) -> Option<Health> {
        None
    }

    /// Returns whether an identical resend starts a new turn instead of returning the original
    /// result. The default is `false`, because an identical message is usually a retry of a client
    /// that lost the reply.
    fn accepts_duplicate(&self, message: &Message) -> bool {
        let _ = message;
        false
    }
}

/// State of an external dependency of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Not yet determined.
    Unknown,
    /// The dependency responds.
    Healthy,
    /// The dependency does not respond.
    Unhealthy,
}

/// Executor that calls a function.
pub(crate) struct FnExecutor<F>(pub(crate) F);

impl<F> fmt::Debug for FnExecutor<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("FnExecutor")
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
