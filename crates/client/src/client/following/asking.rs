//! Asking for an answer, and looking for its task when that takes its time.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use latimer_protocol::{ContextId, SendMessageRequest, SendMessageResponse};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::stage::{Called, Stage};
use crate::client::Client;
use crate::error::Error;

/// How long an answer may take before its task is looked for.
const SOON: Duration = Duration::from_secs(1);

/// The pause between the first two looks; doubled each time.
const FIRST: Duration = Duration::from_millis(100);

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(5);

/// How many looks have to fail before it is believed that there is nothing to be found.
const LOOKS: u32 = 4;

/// Sends the message for its answer. When that takes its time, fails on the way, or somebody is in a
/// hurry, the task is looked for by its conversation.
pub(super) fn ask(
    client: &Client,
    request: SendMessageRequest,
    context: ContextId,
    hurry: Arc<Notify>,
) -> Stage {
    let client = client.clone();
    Stage::Calling(Box::pin(async move {
        let asker = client.clone();
        let mut answer: Answer = async move { asker.send(request).await }.boxed();
        tokio::select! {
            biased;
            answer = &mut answer => match answer {
                Err(error) if error.is_passing() && !error.is_unsent() => {
                    search(&client, &context, Err(error)).await
                }
                answer => Called::Sent(answer),
            },
            () = hurry.notified() => search(&client, &context, Ok(answer)).await,
            () = sleep(SOON) => search(&client, &context, Ok(answer)).await,
        }
    }))
}

type Answer = BoxFuture<'static, Result<SendMessageResponse, Error>>;

/// Looks for a task until it is found, or its answer comes. Without an answer to wait for, the error
/// that came in place of it stands if the task is not found soon.
async fn search(client: &Client, context: &ContextId, mut answer: Result<Answer, Error>) -> Called {
    let (mut looks, mut pause) = (0, FIRST);
    loop {
        looks += 1;
        if let Some(id) = client.find_task(context).await {
            if let Ok(answer) = answer {
                // Whoever hangs up may be taken for somebody who has lost interest.
                tokio::spawn(answer);
            }
            return Called::Found(id);
        }
        let waited = match answer {
            Ok(mut waited) => tokio::select! {
                biased;
                answer = &mut waited => return Called::Sent(answer),
                () = sleep(pause) => Ok(waited),
            },
            Err(error) if looks >= LOOKS => return Called::Sent(Err(error)),
            Err(error) => {
                sleep(pause).await;
                Err(error)
            }
        };
        if looks == LOOKS {
            tracing::debug!(%context, "the agent has no task in the conversation it was told");
            client.stop_finding();
        }
        answer = waited;
        pause = (pause * 2).min(LONGEST);
    }
}
