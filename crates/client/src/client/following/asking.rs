//! Asking for an answer, and looking for its task when that takes its time.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use latimer_protocol::{ContextId, SendMessageRequest, SendMessageResponse};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

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

/// What becomes of the message.
type Sent = Result<SendMessageResponse, Error>;

/// Sends the message for its answer. When that takes its time, is lost on the way, or somebody is in a
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
        let mut answer = Some(async move { asker.send(request).await }.boxed());
        let (mut lost, mut looks, mut at) = (None, 0, client.0.finding.step_after(SOON));
        loop {
            let look = async {
                tokio::select! {
                    () = hurry.notified() => {}
                    () = sleep_until(at) => {}
                }
                client.find_task(&context).await
            };
            match before_the_answer(&mut answer, look).await {
                Ok(Some(id)) => {
                    // Whoever hangs up may be taken for somebody who has lost interest.
                    answer.map(tokio::spawn);
                    return Called::Found(id);
                }
                Ok(None) => {
                    looks += 1;
                    at = Instant::now() + FIRST.saturating_mul(1 << looks.min(16)).min(LONGEST);
                }
                Err(Err(error)) if is_lost(&error) => {
                    (answer, lost) = (None, Some(error));
                    (looks, at) = (0, Instant::now());
                }
                Err(answer) => return Called::Sent(answer),
            }
            if looks == LOOKS {
                tracing::debug!(%context, "the agent has no task in the conversation it was told");
                client.stop_finding();
                if let Some(error) = lost.take() {
                    return Called::Sent(Err(error));
                }
            }
        }
    }))
}

/// What is done while an answer is waited for, or the answer if that comes before.
async fn before_the_answer<T>(
    answer: &mut Option<BoxFuture<'static, Sent>>,
    done: impl Future<Output = T>,
) -> Result<T, Sent> {
    match answer {
        None => Ok(done.await),
        Some(answer) => tokio::select! {
            biased;
            answer = answer => Err(answer),
            done = done => Ok(done),
        },
    }
}

/// Whether nobody knows what became of the message.
fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Lost { .. } | Error::Timeout { .. } | Error::Away { .. })
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use async_trait::async_trait;
    use futures_util::stream;
    use latimer_protocol::{
        Answer, Call, Error as AgentError, ErrorKind, ListTasksResponse, Reply, Request, Service,
        SharedEvent, StreamResponse, Streamed, Task, TaskId, TaskState, Then,
    };
    use tokio::time::sleep;

    use super::*;
    use crate::client::says;

    /// An agent that answers like this, after this time. Its task is done when it is subscribed to.
    struct Agent {
        late: Duration,
        answer: fn() -> Result<SendMessageResponse, AgentError>,
        /// What the conversations are called in its lists; what they are, if nothing.
        called: Option<&'static str>,
    }

    impl fmt::Debug for Agent {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("Agent")
        }
    }

    fn task(state: TaskState, context: Option<ContextId>) -> Task {
        let id = TaskId::new("t").unwrap();
        Task { context_id: context, ..Task::new(id, ContextId::new("c").unwrap(), state) }
    }

    fn done() -> Result<SendMessageResponse, AgentError> {
        Ok(SendMessageResponse::Task(Arc::new(task(TaskState::Completed, None))))
    }

    #[async_trait]
    impl Service for Agent {
        async fn call(&self, call: Call) -> Result<Answer, AgentError> {
            let told = |state| {
                let event = StreamResponse::Task(task(state, None));
                let event = SharedEvent::new(event);
                let event = Streamed { revision: None, event, then: Then::Closes };
                Reply::Stream(Box::pin(stream::iter([Ok(event)])))
            };
            Ok(match call.request {
                Request::SendMessage(_) => {
                    sleep(self.late).await;
                    Reply::Sent((self.answer)()?)
                }
                Request::SendStreamingMessage(_) => told(TaskState::Completed),
                Request::SubscribeToTask(_) => told(TaskState::Canceled),
                Request::ListTasks(request) => {
                    let named = self.called.map(|it| ContextId::new(it).unwrap());
                    let listed = task(TaskState::Working, named.or(request.context_id));
                    let tasks = vec![listed];
                    Reply::Tasks(ListTasksResponse { tasks, ..ListTasksResponse::default() })
                }
                _ => return Err(ErrorKind::UnsupportedOperation.into()),
            }
            .into())
        }
    }

    /// Asks twice: the first time it is tried out whether tasks are found. Says what came of it the
    /// second time, and how long that took.
    async fn asked(agent: Agent, hurries: bool) -> (Result<TaskState, Error>, Duration) {
        let client = Client::over(Arc::new(agent));
        let message = |context: &str| {
            let mut message = says("hello");
            message.context_id = ContextId::new(context).ok();
            message
        };
        // Whoever leaves early has tried nothing out.
        drop(client.follow_late(message("none")));
        client.follow_late(message("one")).outcome().await.unwrap();
        // What is tried out on the side comes to its end.
        sleep(Duration::from_millis(1)).await;
        let since = Instant::now();
        let following = client.follow_late(message("two"));
        if hurries {
            following.hurry();
        }
        let state = following.outcome().await.map(|it| match it {
            SendMessageResponse::Task(task) => task.status.state,
            SendMessageResponse::Message(message) => panic!("{message:?}"),
        });
        (state, since.elapsed())
    }

    const NEVER: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn a_quick_answer_is_waited_for() {
        let late = SOON / 2;
        let (state, took) = asked(Agent { late, answer: done, called: None }, false).await;
        assert_eq!((state.unwrap(), took), (TaskState::Completed, late));
    }

    #[tokio::test(start_paused = true)]
    async fn the_task_of_a_slow_answer_is_found_soon_or_at_once() {
        for (hurries, least, most) in
            [(false, SOON, SOON * 2), (true, Duration::ZERO, Duration::ZERO)]
        {
            let agent = Agent { late: NEVER, answer: done, called: None };
            let (state, took) = asked(agent, hurries).await;
            assert_eq!(state.unwrap(), TaskState::Canceled, "{hurries}");
            assert!((least..=most).contains(&took), "{hurries}: {took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_elses_task_is_found() {
        // Its tasks are not asked for, so that it is streamed.
        let agent = Agent { late: NEVER, answer: done, called: Some("of somebody else") };
        let (state, took) = asked(agent, true).await;
        assert_eq!((state.unwrap(), took), (TaskState::Completed, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_of_the_agent_is_its_answer() {
        let refused = || Err(ErrorKind::RateLimited.into());
        let agent = Agent { late: Duration::ZERO, answer: refused, called: None };
        let (state, took) = asked(agent, false).await;
        let Err(Error::Agent(error)) = state else { panic!("{state:?}") };
        assert_eq!((error.kind(), took), (ErrorKind::RateLimited, Duration::ZERO));
    }
}
