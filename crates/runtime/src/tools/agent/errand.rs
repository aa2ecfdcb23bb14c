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
const PATIENCE: Duration = Duration::from_secs(10);

/// What came of a message.
pub(super) enum Ended {
    /// A task that is over or asks for something, or a direct answer.
    Answered(SendMessageResponse),
    /// No answer.
    Failed(ClientError),
    /// Nobody wants it any more, and the agent was told so.
    Stopped,
}

/// A message on its way, and what comes of it. When this is dropped, the agent is told to stop as soon
/// as it is known what.
pub(super) struct Errand {
    follows: JoinHandle<Ended>,
    task: Arc<OnceLock<TaskId>>,
    stops: DropGuard,
}

impl Errand {
    /// Sends a message. The agent is told to stop when `cancel` trips, too.
    pub(super) fn begin(client: Client, message: Message, cancel: &CancellationToken) -> Self {
        let (stop, task) = (cancel.child_token(), Arc::new(OnceLock::new()));
        let follows = tokio::spawn(follow(client, message, stop.clone(), Arc::clone(&task)));
        Self { follows, task, stops: stop.drop_guard() }
    }

    /// Waits for what comes of it.
    pub(super) async fn end(&mut self) -> Ended {
        (&mut self.follows).await.unwrap_or(Ended::Stopped)
    }

    /// Tells the agent to stop, and waits until it is told.
    pub(super) async fn stop(self) {
        let Self { follows, stops, .. } = self;
        drop(stops);
        // What comes of it does not matter any more.
        let _ = follows.await;
    }

    /// The task, as soon as it is known.
    pub(super) fn task(&self) -> Option<&TaskId> {
        self.task.get()
    }
}

async fn follow(
    client: Client,
    message: Message,
    stop: CancellationToken,
    task: Arc<OnceLock<TaskId>>,
) -> Ended {
    let mut following = client.follow(message);
    let all = async {
        while let Some(event) = following.next().await? {
            if let Some(id) = event.task_id() {
                task.get_or_init(|| id.clone());
            }
        }
        Ok(())
    };
    match stop.run_until_cancelled(all).await {
        None => {
            if timeout(PATIENCE, cancel(&client, following)).await.is_err() {
                debug!("the agent of a tool cannot be told to stop");
            }
            Ended::Stopped
        }
        Some(Err(error)) => Ended::Failed(error),
        Some(Ok(())) => match following.result().await {
            Ok(answer) => Ended::Answered(answer),
            Err(error) => Ended::Failed(error),
        },
    }
}

/// Cancels the task, which may not be known yet.
async fn cancel(client: &Client, mut following: TaskFollower) {
    while following.task().is_none() {
        if !matches!(following.next().await, Ok(Some(_))) {
            return;
        }
    }
    let Some(task) = following.task().filter(|it| !it.status.state.is_terminal()) else { return };
    if let Err(error) = client.cancel_task(task.id.clone()).await {
        debug!(%error, "the agent of a tool does not stop");
    }
}
