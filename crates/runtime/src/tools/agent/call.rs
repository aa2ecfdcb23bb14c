//! One message to an agent, followed until it has a result or is canceled.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use latimer_client::{Client, Error as ClientError, TaskFollower};
use latimer_protocol::{Message, SendMessageResponse, TaskId};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tracing::debug;

/// Maximum time for canceling a task, including the wait for its id.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// Outcome of a message.
pub(super) enum CallOutcome {
    /// A settled task or a direct reply.
    Replied(SendMessageResponse),
    /// The call failed.
    Failed(ClientError),
    /// The call was canceled. The agent was asked to cancel its task.
    Canceled,
    /// The call panicked.
    Panicked,
}

/// A running call, driven by a background task. Dropping it cancels the agent's task in the
/// background, as soon as the task is known.
pub(super) struct AgentCall {
    handle: JoinHandle<CallOutcome>,
    task_id: Arc<OnceLock<TaskId>>,
    cancel_guard: DropGuard,
}

impl AgentCall {
    /// Starts sending a message. Canceling `parent_token` cancels the call, too.
    pub(super) fn start(
        client: Client,
        message: Message,
        parent_token: &CancellationToken,
        tasks: &TaskTracker,
    ) -> Self {
        let (cancel_token, task_id) = (parent_token.child_token(), Arc::new(OnceLock::new()));
        let handle =
            tasks.spawn(run_call(client, message, cancel_token.clone(), Arc::clone(&task_id)));
        Self { handle, task_id, cancel_guard: cancel_token.drop_guard() }
    }

    /// Waits for the outcome. Can be called again if the future is dropped before it completes.
    pub(super) async fn wait(&mut self) -> CallOutcome {
        match (&mut self.handle).await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => CallOutcome::Panicked,
            // The runtime shuts down.
            Err(_) => CallOutcome::Canceled,
        }
    }

    /// Cancels the agent's task and waits until the request has been sent.
    pub(super) async fn cancel(self) {
        let Self { handle, cancel_guard, .. } = self;
        drop(cancel_guard);
        // The outcome of a canceled call is not used.
        let _ = handle.await;
    }

    /// Returns the id of the agent's task, if it is known yet.
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
                debug!("canceling the task of a tool call timed out");
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

/// Waits until the task is known, and cancels it.
async fn cancel_task(client: &Client, mut follower: TaskFollower) {
    while follower.task().is_none() {
        if !matches!(follower.next().await, Ok(Some(_))) {
            return;
        }
    }
    let Some(task) = follower.task().filter(|it| !it.status.state.is_terminal()) else { return };
    if let Err(error) = client.cancel_task(task.id.clone()).await {
        debug!(%error, "canceling the task of a tool call failed");
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use latimer_client::user_message;
    use latimer_protocol::{Call, CallResponse, Error, Service};

    use super::*;

    #[derive(Debug)]
    struct PanickingAgent;

    #[async_trait]
    impl Service for PanickingAgent {
        async fn call(&self, _: Call) -> Result<CallResponse, Error> {
            panic!("on request")
        }
    }

    #[tokio::test]
    async fn panic_is_not_reported_as_cancellation() {
        let client = Client::from_service(Arc::new(PanickingAgent));
        let (token, tasks) = (CancellationToken::new(), TaskTracker::new());
        let mut call = AgentCall::start(client, user_message("hello"), &token, &tasks);
        assert!(matches!(call.wait().await, CallOutcome::Panicked));
    }
}
