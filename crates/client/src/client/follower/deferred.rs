//! Asking for an answer, and looking for its task when that takes its time.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use latimer_protocol::{ContextId, SendMessageRequest, SendMessageResponse};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::UNREACHABLE_TIMEOUT;
use super::calls::{CallResult, FollowState};
use crate::client::Client;
use crate::error::Error;

/// How long an answer may take before its task is looked for.
const LOOKUP_DELAY: Duration = Duration::from_secs(1);

/// The pause between the first two looks; doubled each time.
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);

/// The longest pause.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// How many looks have to fail before it is believed that there is nothing to be found.
const MAX_LOOKUPS: u32 = 4;

/// What becomes of the message.
type SendResult = Result<SendMessageResponse, Error>;

/// Sends the message for its answer. When that takes its time, is lost on the way, or somebody is in a
/// hurry, the task is looked for by its conversation.
pub(super) fn send_blocking(
    client: &Client,
    request: SendMessageRequest,
    context: ContextId,
    resolve_now: Arc<Notify>,
) -> FollowState {
    let client = client.clone();
    FollowState::Calling(Box::pin(async move {
        let sender = client.clone();
        let mut reply = Some(async move { sender.send(request).await }.boxed());
        let (mut send_error, mut lookups, mut next_lookup) =
            (None, 0, client.0.task_lookup.next_timer_step(LOOKUP_DELAY));
        let mut failures = 0;
        loop {
            let lookup = async {
                tokio::select! {
                    () = resolve_now.notified() => {}
                    () = sleep_until(next_lookup) => {}
                }
                client.look_up_task(&context).await
            };
            match race_reply(&mut reply, lookup).await {
                Ok(Ok(Some(id))) => {
                    // Whoever hangs up may be taken for somebody who has lost interest.
                    reply.map(tokio::spawn);
                    return CallResult::TaskFound(id);
                }
                Ok(Ok(None)) => {
                    (lookups, failures) = (lookups + 1, 0);
                    next_lookup = Instant::now() + backoff(lookups);
                }
                // It may come back, and have the task.
                Ok(Err(error)) if error.is_transient() => {
                    failures += 1;
                    next_lookup = Instant::now() + backoff(failures);
                }
                Ok(Err(_)) => (lookups, next_lookup) = (MAX_LOOKUPS, Instant::now() + MAX_BACKOFF),
                Err(Err(error)) if may_have_been_delivered(&error) => {
                    (reply, send_error) = (None, Some((error, Instant::now())));
                    (lookups, next_lookup) = (0, Instant::now());
                }
                Err(result) => return CallResult::MessageSent(result),
            }
            let gave_up =
                |since: &Instant| lookups >= MAX_LOOKUPS || since.elapsed() > UNREACHABLE_TIMEOUT;
            if let Some((error, _)) = send_error.take_if(|(_, since)| gave_up(since)) {
                return CallResult::MessageSent(Err(error));
            }
            // An answer that is lost may never have had a task.
            if lookups == MAX_LOOKUPS && send_error.is_none() {
                tracing::debug!(%context, "the agent has no task in the conversation it was told");
                client.disable_task_lookup();
            }
        }
    }))
}

/// How long to wait behind so many looks.
fn backoff(lookups: u32) -> Duration {
    INITIAL_BACKOFF.saturating_mul(1 << lookups.min(16)).min(MAX_BACKOFF)
}

/// What is done while an answer is waited for, or the answer if that comes before.
async fn race_reply<T>(
    reply: &mut Option<BoxFuture<'static, SendResult>>,
    other: impl Future<Output = T>,
) -> Result<T, SendResult> {
    match reply {
        None => Ok(other.await),
        Some(reply) => tokio::select! {
            biased;
            result = reply => Err(result),
            output = other => Ok(output),
        },
    }
}

/// Whether nobody knows what became of the message.
fn may_have_been_delivered(error: &Error) -> bool {
    matches!(
        error,
        Error::ConnectionLost { .. } | Error::Timeout { .. } | Error::UpstreamUnavailable { .. }
    )
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use async_trait::async_trait;
    use futures_util::stream;
    use latimer_protocol::{
        Call, CallResponse, Error as AgentError, ErrorKind, Finality, ListTasksResponse, Reply,
        ReplyKind, Request, SharedEvent, StreamEvent, StreamResponse, Task, TaskId, TaskState,
    };
    use tokio::time::sleep;

    use super::*;
    use crate::client::user_message;
    use crate::transport::Transport;

    /// An agent that answers like this, after this time. Its task is done when it is subscribed to.
    struct StubAgent {
        delay: Duration,
        reply: fn() -> Result<SendMessageResponse, Error>,
        /// What the conversations are called in its lists; what they are, if nothing.
        listed_context: Option<&'static str>,
        /// When the second conversation begins, and for how long there are no lists from then on.
        outage: (Instant, Duration),
    }

    impl StubAgent {
        fn new(delay: Duration, reply: fn() -> Result<SendMessageResponse, Error>) -> Self {
            let outage = (Instant::now() + PROBE_TIME, Duration::ZERO);
            Self { delay, reply, listed_context: None, outage }
        }
    }

    impl fmt::Debug for StubAgent {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("Agent")
        }
    }

    fn task(state: TaskState, context: Option<ContextId>) -> Task {
        let id = TaskId::new("t").unwrap();
        Task { context_id: context, ..Task::new(id, ContextId::new("c").unwrap(), state) }
    }

    fn timed_out() -> Result<SendMessageResponse, Error> {
        Err(Error::Timeout { origin: "o".into(), limit: LOOKUP_DELAY })
    }

    fn completed() -> Result<SendMessageResponse, Error> {
        Ok(SendMessageResponse::Task(Arc::new(task(TaskState::Completed, None))))
    }

    #[async_trait]
    impl Transport for StubAgent {
        async fn exchange(&self, call: &Call) -> Result<CallResponse<Error>, Error> {
            let stream_of = |state| {
                let event = StreamResponse::Task(task(state, None));
                let event = SharedEvent::new(event);
                let event = StreamEvent { revision: None, event, finality: Finality::Last };
                ReplyKind::Stream(Box::pin(stream::iter([Ok(event)])))
            };
            let kind = match &call.request {
                Request::SendMessage(_) => {
                    sleep(self.delay).await;
                    ReplyKind::Single(Reply::SendMessage((self.reply)()?))
                }
                Request::SendStreamingMessage(_) => stream_of(TaskState::Completed),
                Request::SubscribeToTask(_) => stream_of(TaskState::Canceled),
                Request::ListTasks(_)
                    if (self.outage.0..self.outage.0 + self.outage.1).contains(&Instant::now()) =>
                {
                    return Err(AgentError::from(ErrorKind::Unavailable).into());
                }
                Request::ListTasks(request) => {
                    let context = self.listed_context.map(|it| ContextId::new(it).unwrap());
                    let listed = task(TaskState::Working, context.or(request.context_id.clone()));
                    let page =
                        ListTasksResponse { tasks: vec![listed], ..ListTasksResponse::default() };
                    ReplyKind::Single(Reply::TaskList(page))
                }
                _ => return Err(AgentError::from(ErrorKind::UnsupportedOperation).into()),
            };
            Ok(kind.into())
        }
    }

    /// Asks twice: the first time it is tried out whether tasks are found. Says what came of it the
    /// second time, and how long that took.
    async fn run_second_message(
        agent: StubAgent,
        resolve_early: bool,
    ) -> (Result<TaskState, Error>, Duration) {
        let client = Client::from_transport(Arc::new(agent));
        let message = |context: &str| {
            let mut message = user_message("hello");
            message.context_id = ContextId::new(context).ok();
            message
        };
        // Whoever leaves early has tried nothing out.
        drop(client.send_then_follow(message("none")));
        client.send_then_follow(message("one")).result().await.unwrap();
        // What is tried out on the side comes to its end.
        sleep(PROBE_TIME).await;
        let started = Instant::now();
        let follower = client.send_then_follow(message("two"));
        if resolve_early {
            follower.resolve_task_id();
        }
        let state = follower.result().await.map(|it| match it {
            SendMessageResponse::Task(task) => task.status.state,
            SendMessageResponse::Message(message) => panic!("{message:?}"),
        });
        (state, started.elapsed())
    }

    /// When it is tried out whether tasks are found.
    const PROBE_TIME: Duration = Duration::from_millis(1);

    const NEVER: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn fast_reply_is_awaited() {
        let delay = LOOKUP_DELAY / 2;
        let (state, took) = run_second_message(StubAgent::new(delay, completed), false).await;
        assert_eq!((state.unwrap(), took), (TaskState::Completed, delay));
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reply_task_is_looked_up_after_delay_or_on_demand() {
        for (resolve_early, min, max) in
            [(false, LOOKUP_DELAY, LOOKUP_DELAY * 2), (true, Duration::ZERO, Duration::ZERO)]
        {
            let (state, took) =
                run_second_message(StubAgent::new(NEVER, completed), resolve_early).await;
            assert_eq!(state.unwrap(), TaskState::Canceled, "{resolve_early}");
            assert!((min..=max).contains(&took), "{resolve_early}: {took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn task_listed_under_other_context_is_ignored() {
        // Its tasks are not asked for, so that it is streamed.
        let agent = StubAgent {
            listed_context: Some("of somebody else"),
            ..StubAgent::new(NEVER, completed)
        };
        let (state, took) = run_second_message(agent, true).await;
        assert_eq!((state.unwrap(), took), (TaskState::Completed, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn agent_error_is_returned_without_lookup() {
        let rate_limited = || Err(AgentError::from(ErrorKind::RateLimited).into());
        let (state, took) =
            run_second_message(StubAgent::new(Duration::ZERO, rate_limited), false).await;
        let Err(Error::Agent(error)) = state else { panic!("{state:?}") };
        assert_eq!((error.kind(), took), (ErrorKind::RateLimited, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn task_of_lost_reply_is_found_after_agent_outage() {
        for (minutes, recovers) in [(1, true), (3, false)] {
            let mut agent = StubAgent::new(Duration::ZERO, timed_out);
            agent.outage.1 = Duration::from_secs(60 * minutes);
            let (state, took) = run_second_message(agent, false).await;
            match recovers {
                true => assert_eq!(state.unwrap(), TaskState::Canceled),
                false => assert!(matches!(state, Err(Error::Timeout { .. })), "{state:?}"),
            }
            assert!(took < UNREACHABLE_TIMEOUT + MAX_BACKOFF * 2, "{took:?}");
        }
    }
}
