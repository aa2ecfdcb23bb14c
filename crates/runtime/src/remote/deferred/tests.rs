use std::fmt;

use async_trait::async_trait;
use futures_util::stream;
use latimer_client::transport::Transport;
use latimer_client::{CallOptions, user_message};
use latimer_protocol::{
    Call, CallResponse, Error as AgentError, ErrorKind, Finality, ListTasksResponse, Reply,
    ReplyKind, Request, SharedEvent, StreamEvent, Task, TaskState,
};
use tokio::time::sleep;

use super::*;

/// Agent that replies to a blocking send after `delay`. A subscription reports its task as
/// canceled.
struct StubAgent {
    delay: Duration,
    reply: fn() -> SendResult,
    /// Context of listed tasks; that of the request if `None`.
    listed_context: Option<&'static str>,
    /// Time from which listing tasks fails, and for how long.
    outage: (Instant, Duration),
}

impl StubAgent {
    fn new(delay: Duration, reply: fn() -> SendResult) -> Self {
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

fn timed_out() -> SendResult {
    Err(ClientError::Timeout { origin: "o".into(), limit: LOOKUP_DELAY })
}

fn completed() -> SendResult {
    Ok(SendMessageResponse::Task(Arc::new(task(TaskState::Completed, None))))
}

#[async_trait]
impl Transport for StubAgent {
    async fn exchange(
        &self,
        call: &Call,
        _: &CallOptions,
    ) -> Result<CallResponse<ClientError>, ClientError> {
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

/// Sends two messages in different contexts: the first one probes whether tasks can be looked up.
/// Returns the final state of the second one, and the time it took.
async fn run_second_message(
    agent: StubAgent,
    resolve_early: bool,
) -> (Result<TaskState, ClientError>, Duration) {
    let (client, lookup) = (Client::from_transport(Arc::new(agent)), Arc::new(TaskLookup::new()));
    let send = |context: &str| {
        let mut message = user_message("hello");
        message.context_id = ContextId::new(context).ok();
        send_then_follow(&client, &lookup, message.into())
    };
    // A dropped reply does not use up the probe.
    drop(send("none"));
    final_state(send("one")).await.unwrap();
    // The probe runs in the background.
    sleep(PROBE_TIME).await;
    let started = Instant::now();
    let reply = send("two");
    if resolve_early {
        reply.request_task_id();
    }
    (final_state(reply).await, started.elapsed())
}

async fn final_state(mut reply: DeferredReply) -> Result<TaskState, ClientError> {
    let mut state = None;
    while let Some(event) = reply.next().await? {
        state = event.status().map(|it| it.state);
    }
    Ok(state.unwrap())
}

/// Time until the probe has ended.
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
    // Its tasks cannot be looked up, so its replies are streamed.
    let agent = StubAgent { listed_context: Some("other"), ..StubAgent::new(NEVER, completed) };
    let (state, took) = run_second_message(agent, true).await;
    assert_eq!((state.unwrap(), took), (TaskState::Completed, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn agent_error_is_returned_without_lookup() {
    let rate_limited = || Err(AgentError::from(ErrorKind::RateLimited).into());
    let (state, took) =
        run_second_message(StubAgent::new(Duration::ZERO, rate_limited), false).await;
    let Err(ClientError::Agent(error)) = state else { panic!("{state:?}") };
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
            false => assert!(matches!(state, Err(ClientError::Timeout { .. })), "{state:?}"),
        }
        assert!(took < UNREACHABLE_TIMEOUT + LOOKUP_BACKOFF.max * 2, "{took:?}");
    }
}
