//! One message to an agent, until there is an answer or nobody wants one any more.

use std::time::Duration;

use latimer_client::{Client, Error as ClientError, Following};
use latimer_protocol::{Message, SendMessageResponse};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
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

/// Sends a message and waits for what comes of it. When `cancel` trips, or this is dropped, the agent
/// is told to stop as soon as it is known what.
pub(super) async fn run(client: Client, message: Message, cancel: &CancellationToken) -> Ended {
    let stop = cancel.child_token();
    let errand = tokio::spawn(follow(client, message, stop.clone()));
    let _dropped = stop.drop_guard();
    errand.await.unwrap_or(Ended::Stopped)
}

async fn follow(client: Client, message: Message, stop: CancellationToken) -> Ended {
    let mut following = client.follow(message);
    let all = async {
        while following.next().await?.is_some() {}
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
        Some(Ok(())) => match following.outcome().await {
            Ok(answer) => Ended::Answered(answer),
            Err(error) => Ended::Failed(error),
        },
    }
}

/// Cancels the task, which may not be known yet.
async fn cancel(client: &Client, mut following: Following) {
    following.hurry();
    while following.known().is_none() {
        if !matches!(following.next().await, Ok(Some(_))) {
            return;
        }
    }
    let Some(task) = following.known().filter(|it| !it.status.state.is_terminal()) else { return };
    if let Err(error) = client.cancel_task(task.id.clone()).await {
        debug!(%error, "the agent of a tool does not stop");
    }
}
