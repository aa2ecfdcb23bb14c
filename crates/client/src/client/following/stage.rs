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
const LINGER: Duration = Duration::from_secs(1);

/// What a follower is doing.
pub(super) enum Stage {
    /// A call is under way. It is kept here, so that whoever stops waiting for it can go on.
    Calling(BoxFuture<'static, Called>),
    /// Events come in.
    Streaming { events: Events, first: Option<First> },
    /// There is nothing more to come.
    Over,
}

/// What the first event of a stream may tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// What came of a message.
    New,
    /// The question that the message answers.
    Old,
    /// What has happened meanwhile, or only what happens now.
    Again,
}

impl Stage {
    /// Leaves a stream that has told everything: its end is near, and read in the background, so that
    /// its connection can be used again.
    pub(super) fn leave(self) {
        let Self::Streaming { mut events, .. } = self else { return };
        let rest = async move { while events.next().await.is_some() {} };
        let mut rest = Box::pin(timeout(LINGER, rest));
        if rest.as_mut().now_or_never().is_none() {
            tokio::spawn(rest);
        }
    }
}

/// What a call came to.
pub(super) enum Called {
    Opened { events: Result<Events, Error>, request: Request },
    Sent(Result<SendMessageResponse, Error>),
    Found(TaskId),
    Subscribed { events: Result<Events, Error>, id: TaskId },
    Looked { task: Result<Arc<Task>, Error>, id: TaskId },
}

/// Sends the message, for a stream where the agent may have one.
pub(super) fn open(client: &Client, request: SendMessageRequest) -> Stage {
    if !client.may_stream() {
        return send(client, request);
    }
    let client = client.clone();
    let call = client.call(Request::SendStreamingMessage(request));
    Stage::Calling(Box::pin(async move {
        Called::Opened { events: client.open(&call).await, request: call.request }
    }))
}

/// Sends the message, for a task to look at.
pub(super) fn send(client: &Client, mut request: SendMessageRequest) -> Stage {
    let client = client.clone();
    request.configuration.get_or_insert_default().return_immediately = true;
    Stage::Calling(Box::pin(async move { Called::Sent(client.send(request).await) }))
}

/// Asks for a stream of what happens to a task, or looks at it where there are none.
pub(super) fn subscribe(
    client: &Client,
    id: TaskId,
    after: Option<Revision>,
    pause: Duration,
) -> Stage {
    if !client.may_stream() {
        return look(client, id, pause);
    }
    let client = client.clone();
    Stage::Calling(Box::pin(async move {
        sleep(pause).await;
        Called::Subscribed { events: client.subscribe(id.clone(), after).await, id }
    }))
}

/// Looks at a task.
pub(super) fn look(client: &Client, id: TaskId, pause: Duration) -> Stage {
    let client = client.clone();
    Stage::Calling(Box::pin(async move {
        sleep(pause).await;
        Called::Looked { task: client.get_task(id.clone()).await, id }
    }))
}
