//! Asking for an answer, and looking for its task when that takes its time.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use latimer_protocol::{ContextId, SendMessageRequest, SendMessageResponse};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::PATIENCE;
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
        let mut away = 0;
        loop {
            let look = async {
                tokio::select! {
                    () = hurry.notified() => {}
                    () = sleep_until(at) => {}
                }
                client.find_task(&context).await
            };
            match before_the_answer(&mut answer, look).await {
                Ok(Ok(Some(id))) => {
                    // Whoever hangs up may be taken for somebody who has lost interest.
                    answer.map(tokio::spawn);
                    return Called::Found(id);
                }
                Ok(Ok(None)) => {
                    (looks, away) = (looks + 1, 0);
                    at = Instant::now() + pause(looks);
                }
                // It may come back, and have the task.
                Ok(Err(error)) if error.is_passing() => {
                    away += 1;
                    at = Instant::now() + pause(away);
                }
                Ok(Err(_)) => (looks, at) = (LOOKS, Instant::now() + LONGEST),
                Err(Err(error)) if is_lost(&error) => {
                    (answer, lost) = (None, Some((error, Instant::now())));
                    (looks, at) = (0, Instant::now());
                }
                Err(answer) => return Called::Sent(answer),
            }
            let given_up = |since: &Instant| looks >= LOOKS || since.elapsed() > PATIENCE;
            if let Some((error, _)) = lost.take_if(|(_, since)| given_up(since)) {
                return Called::Sent(Err(error));
            }
            // An answer that is lost may never have had a task.
            if looks == LOOKS && lost.is_none() {
                tracing::debug!(%context, "the agent has no task in the conversation it was told");
                client.stop_finding();
            }
        }
    }))
}

/// How long to wait behind so many looks.
fn pause(looks: u32) -> Duration {
    FIRST.saturating_mul(1 << looks.min(16)).min(LONGEST)
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
        Call, Error as AgentError, ErrorKind, Finality, ListTasksResponse, Reply, Request,
        SharedEvent, StreamEvent, StreamResponse, Task, TaskId, TaskState,
    };
    use tokio::time::sleep;

    use super::*;
    use crate::client::says;
    use crate::transport::{Exchanged, Outcome, Transport};

    /// An agent that answers like this, after this time. Its task is done when it is subscribed to.
    struct Agent {
        late: Duration,
        answer: fn() -> Result<SendMessageResponse, Error>,
        /// What the conversations are called in its lists; what they are, if nothing.
        called: Option<&'static str>,
        /// When the second conversation begins, and for how long there are no lists from then on.
        away: (Instant, Duration),
    }

    impl Agent {
        fn new(late: Duration, answer: fn() -> Result<SendMessageResponse, Error>) -> Self {
            let away = (Instant::now() + TRIED, Duration::ZERO);
            Self { late, answer, called: None, away }
        }
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

    fn lost() -> Result<SendMessageResponse, Error> {
        Err(Error::Timeout { origin: "o".into(), limit: SOON })
    }

    fn done() -> Result<SendMessageResponse, Error> {
        Ok(SendMessageResponse::Task(Arc::new(task(TaskState::Completed, None))))
    }

    #[async_trait]
    impl Transport for Agent {
        async fn exchange(&self, call: &Call) -> Result<Exchanged, Error> {
            let told = |state| {
                let event = StreamResponse::Task(task(state, None));
                let event = SharedEvent::new(event);
                let event = StreamEvent { revision: None, event, finality: Finality::Last };
                Outcome::Events(Box::pin(stream::iter([Ok(event)])))
            };
            let outcome = match &call.request {
                Request::SendMessage(_) => {
                    sleep(self.late).await;
                    Outcome::Reply(Reply::SendMessage((self.answer)()?))
                }
                Request::SendStreamingMessage(_) => told(TaskState::Completed),
                Request::SubscribeToTask(_) => told(TaskState::Canceled),
                Request::ListTasks(_)
                    if (self.away.0..self.away.0 + self.away.1).contains(&Instant::now()) =>
                {
                    return Err(AgentError::from(ErrorKind::Unavailable).into());
                }
                Request::ListTasks(request) => {
                    let named = self.called.map(|it| ContextId::new(it).unwrap());
                    let listed = task(TaskState::Working, named.or(request.context_id.clone()));
                    let page =
                        ListTasksResponse { tasks: vec![listed], ..ListTasksResponse::default() };
                    Outcome::Reply(Reply::TaskList(page))
                }
                _ => return Err(AgentError::from(ErrorKind::UnsupportedOperation).into()),
            };
            Ok(Exchanged { outcome, extensions: Vec::new() })
        }
    }

    /// Asks twice: the first time it is tried out whether tasks are found. Says what came of it the
    /// second time, and how long that took.
    async fn asked(agent: Agent, hurries: bool) -> (Result<TaskState, Error>, Duration) {
        let client = Client::through(Arc::new(agent));
        let message = |context: &str| {
            let mut message = says("hello");
            message.context_id = ContextId::new(context).ok();
            message
        };
        // Whoever leaves early has tried nothing out.
        drop(client.follow_late(message("none")));
        client.follow_late(message("one")).outcome().await.unwrap();
        // What is tried out on the side comes to its end.
        sleep(TRIED).await;
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

    /// When it is tried out whether tasks are found.
    const TRIED: Duration = Duration::from_millis(1);

    const NEVER: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn a_quick_answer_is_waited_for() {
        let late = SOON / 2;
        let (state, took) = asked(Agent::new(late, done), false).await;
        assert_eq!((state.unwrap(), took), (TaskState::Completed, late));
    }

    #[tokio::test(start_paused = true)]
    async fn the_task_of_a_slow_answer_is_found_soon_or_at_once() {
        for (hurries, least, most) in
            [(false, SOON, SOON * 2), (true, Duration::ZERO, Duration::ZERO)]
        {
            let (state, took) = asked(Agent::new(NEVER, done), hurries).await;
            assert_eq!(state.unwrap(), TaskState::Canceled, "{hurries}");
            assert!((least..=most).contains(&took), "{hurries}: {took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_elses_task_is_found() {
        // Its tasks are not asked for, so that it is streamed.
        let agent = Agent { called: Some("of somebody else"), ..Agent::new(NEVER, done) };
        let (state, took) = asked(agent, true).await;
        assert_eq!((state.unwrap(), took), (TaskState::Completed, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_of_the_agent_is_its_answer() {
        let refused = || Err(AgentError::from(ErrorKind::RateLimited).into());
        let (state, took) = asked(Agent::new(Duration::ZERO, refused), false).await;
        let Err(Error::Agent(error)) = state else { panic!("{state:?}") };
        assert_eq!((error.kind(), took), (ErrorKind::RateLimited, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_is_away_may_come_back_with_the_task() {
        for (minutes, comes_back) in [(1, true), (3, false)] {
            let mut agent = Agent::new(Duration::ZERO, lost);
            agent.away.1 = Duration::from_secs(60 * minutes);
            let (state, took) = asked(agent, false).await;
            match comes_back {
                true => assert_eq!(state.unwrap(), TaskState::Canceled),
                false => assert!(matches!(state, Err(Error::Timeout { .. })), "{state:?}"),
            }
            assert!(took < PATIENCE + LONGEST * 2, "{took:?}");
        }
    }
}
