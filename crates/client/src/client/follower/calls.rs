//! What a follower is doing: the calls it makes, and what they come to.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use latimer_protocol::{Request, Revision, SendMessageRequest, SendMessageResponse, Task, TaskId};
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::error::Error;
use crate::transport::Events;

/// How long the end of a stream that has told everything is waited for.
const STREAM_CLOSE_GRACE: Duration = Duration::from_secs(1);

/// What a follower is doing.
pub(super) enum FollowState {
    /// A call is under way. It is kept here, so that whoever stops waiting for it can go on.
    Calling(BoxFuture<'static, CallResult>),
    /// Events come in.
    Streaming { events: Events, first_event: Option<FirstEvent> },
    /// There is nothing more to come.
    Done,
}

/// What the first event of a stream may tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstEvent {
    /// What came of a message.
    Result,
    /// The question that the message answers.
    PriorQuestion,
    /// What has happened meanwhile, or only what happens now.
    Resumed,
}

impl FollowState {
    /// Leaves a stream that has told everything: its end is near, and read in the background, so that
    /// its connection can be used again.
    pub(super) fn close(self) {
        let Self::Streaming { mut events, .. } = self else { return };
        let remainder = async move { while events.next().await.is_some() {} };
        let mut remainder = Box::pin(timeout(STREAM_CLOSE_GRACE, remainder));
        if remainder.as_mut().now_or_never().is_none() {
            tokio::spawn(remainder);
        }
    }
}

/// What a call came to.
pub(super) enum CallResult {
    StreamOpened { events: Result<Events, Error>, request: Request },
    MessageSent(Result<SendMessageResponse, Error>),
    TaskFound(TaskId),
    Subscribed { events: Result<Events, Error>, id: TaskId },
    Polled { task: Result<Arc<Task>, Error>, id: TaskId },
}

/// Sends the message, for a stream where the agent may have one.
pub(super) fn open_stream(client: &Client, request: SendMessageRequest) -> FollowState {
    if !client.uses_streaming() {
        return send_nonblocking(client, request);
    }
    let client = client.clone();
    let call = client.build_call(Request::SendStreamingMessage(request));
    FollowState::Calling(Box::pin(async move {
        CallResult::StreamOpened { events: client.open_stream(&call).await, request: call.request }
    }))
}

/// Sends the message, for a task to look at.
pub(super) fn send_nonblocking(client: &Client, mut request: SendMessageRequest) -> FollowState {
    let client = client.clone();
    request.configuration.get_or_insert_default().return_immediately = true;
    FollowState::Calling(Box::pin(
        async move { CallResult::MessageSent(client.send(request).await) },
    ))
}

/// Asks for a stream of what happens to a task, or looks at it where there are none.
pub(super) fn subscribe(
    client: &Client,
    id: TaskId,
    resume_after: Option<Revision>,
    delay: Duration,
) -> FollowState {
    if !client.uses_streaming() {
        return poll(client, id, delay);
    }
    let client = client.clone();
    FollowState::Calling(Box::pin(async move {
        sleep(delay).await;
        CallResult::Subscribed { events: client.subscribe(id.clone(), resume_after).await, id }
    }))
}

/// Looks at a task.
pub(super) fn poll(client: &Client, id: TaskId, delay: Duration) -> FollowState {
    let client = client.clone();
    FollowState::Calling(Box::pin(async move {
        sleep(delay).await;
        CallResult::Polled { task: client.get_task(id.clone()).await, id }
    }))
}
