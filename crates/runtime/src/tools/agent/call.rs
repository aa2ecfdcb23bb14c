//! One message to an agent, until there is an answer or nobody wants one any more.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use latimer_client::{Client, Error as ClientError, TaskFollower};
use latimer_protocol::{Message, SendMessageResponse, TaskId};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::debug;

/// How long an agent has to say which task it is, and to hear that it should stop.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// What came of a message.
pub(super) enum CallOutcome {
    /// A task that is over or asks for something, or a direct answer.
    Replied(SendMessageResponse),
    /// No answer.
    Failed(ClientError),
    /// Nobody wants it any more, and the agent was told so.
    Canceled,
}

/// A message on its way, and what comes of it. When this is dropped, the agent is told to stop as soon
/// as it is known what.
pub(super) struct AgentCall {
    handle: JoinHandle<CallOutcome>,
    task_id: Arc<OnceLock<TaskId>>,
    cancel_guard: DropGuard,
}

impl AgentCall {
    /// Sends a message. The agent is told to stop when `cancel` trips, too.
    pub(super) fn start(
        client: Client,
        message: Message,
        parent_token: &CancellationToken,
    ) -> Self {
        let (cancel_token, task_id) = (parent_token.child_token(), Arc::new(OnceLock::new()));
        let handle =
            tokio::spawn(run_call(client, message, cancel_token.clone(), Arc::clone(&task_id)));
        Self { handle, task_id, cancel_guard: cancel_token.drop_guard() }
    }

    /// Waits for what comes of it.
    pub(super) async fn wait(&mut self) -> CallOutcome {
        (&mut self.handle).await.unwrap_or(CallOutcome::Canceled)
    }

    /// Tells the agent to stop, and waits until it is told.
    pub(super) async fn cancel(self) {
        let Self { handle, cancel_guard, .. } = self;
        drop(cancel_guard);
        // What comes of it does not matter any more.
        let _ = handle.await;
    }

    /// The task, as soon as it is known.
    pub(super) fn task_id(&self) -> Option<&TaskId> {
        self.task_id.get()
    }
}

async fn run_call(
    client: Client,
    message: Message,
    cancel_token: CancellationToken,
    task_id: Arc<OnceLock<TaskId>>,
) -> CallOutcome {
    let mut follower = client.follow(message);
    let read_events = async {
        while let Some(event) = follower.next().await? {
            if let Some(id) = event.task_id() {
                task_id.get_or_init(|| id.clone());
            }
        }
        Ok(())
    };
    match cancel_token.run_until_cancelled(read_events).await {
        None => {
            if timeout(CANCEL_TIMEOUT, cancel_task(&client, follower)).await.is_err() {
                debug!("the agent of a tool cannot be told to stop");
            }
            CallOutcome::Canceled
        }
        Some(Err(error)) => CallOutcome::Failed(error),
        Some(Ok(())) => match follower.result().await {
            Ok(reply) => CallOutcome::Replied(reply),
            Err(error) => CallOutcome::Failed(error),
        },
    }
}

/// Cancels the task, which may not be known yet.
async fn cancel_task(client: &Client, mut follower: TaskFollower) {
    while follower.task().is_none() {
        if !matches!(follower.next().await, Ok(Some(_))) {
            return;
        }
    }
    let Some(task) = follower.task().filter(|it| !it.status.state.is_terminal()) else { return };
    if let Err(error) = client.cancel_task(task.id.clone()).await {
        debug!(%error, "the agent of a tool does not stop");
    }
}
