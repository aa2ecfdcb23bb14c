//! Blocking sends whose task is followed when the reply takes long.
//!
//! Most agents do less work for a reply than for a stream, so a turn whose caller reads no events
//! uses a blocking send. If the reply takes long, the gateway looks up the task by its context. Once
//! it is found, the gateway can read its events and cancel it.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use latimer_client::{Client, Error as ClientError, TaskFollower};
use latimer_outbound::Backoff;
use latimer_protocol::{
    ContextId, Phase, SendMessageRequest, SendMessageResponse, StreamResponse, TaskId,
};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::relay::UpstreamEvents;
use super::task_lookup::{LookupProbe, TaskLookup};

/// Time that a reply may take before its task is looked up.
const LOOKUP_DELAY: Duration = Duration::from_secs(1);

/// Delays between lookups without a result.
const LOOKUP_BACKOFF: Backoff =
    Backoff { initial: Duration::from_millis(200), max: Duration::from_secs(5) };

/// Maximum number of consecutive lookups without a result.
const MAX_LOOKUPS: u32 = 4;

/// Maximum time for looking up the task of a lost reply while the agent is unreachable.
const UNREACHABLE_TIMEOUT: Duration = Duration::from_secs(120);

type SendResult = Result<SendMessageResponse, ClientError>;

/// Sends the message of a new context as a blocking call, and switches to following its task after
/// one second. Streams instead where tasks cannot be looked up by their context, which the first
/// message tests.
pub(super) fn send_then_follow(
    client: &Client,
    lookup: &Arc<TaskLookup>,
    request: SendMessageRequest,
) -> DeferredReply {
    let (client, lookup_requested) = (client.clone(), Arc::new(Notify::new()));
    let message = &request.message;
    let starts_task = message.task_id.is_none() && client.uses_streaming();
    let (state, probe) = match message.context_id.clone().filter(|_| starts_task) {
        Some(context) if lookup.is_supported() => {
            let send = BlockingSend::start(&client, lookup, request, context, &lookup_requested);
            (DeferredState::Sending(send.run().boxed()), None)
        }
        context => {
            let probe = context.and_then(|it| lookup.start_probe(&client, &it));
            (DeferredState::Following(client.follow(request).into()), probe)
        }
    };
    DeferredReply { client, state, lookup_requested, probe }
}

/// The reply of a blocking send, or the events of its task once that was looked up. Dropping it
/// stops waiting; the agent continues the task.
pub(super) struct DeferredReply {
    client: Client,
    state: DeferredState,
    lookup_requested: Arc<Notify>,
    probe: Option<LookupProbe>,
}

enum DeferredState {
    /// Waiting for the reply or the task. The future is stored so that dropping the one of `next`
    /// does not cancel it.
    Sending(BoxFuture<'static, SendOutcome>),
    Following(Box<TaskFollower>),
    Done,
}

enum SendOutcome {
    Replied(SendResult),
    TaskFound(TaskId),
}

impl UpstreamEvents for DeferredReply {
    async fn next(&mut self) -> Result<Option<StreamResponse>, ClientError> {
        loop {
            match &mut self.state {
                DeferredState::Done => return Ok(None),
                DeferredState::Following(follower) => {
                    let event = follower.next().await?;
                    self.start_probe_if_settled(event.as_ref());
                    return Ok(event);
                }
                DeferredState::Sending(send) => match send.await {
                    SendOutcome::Replied(result) => {
                        self.state = DeferredState::Done;
                        return self.on_reply(result?).map(Some);
                    }
                    SendOutcome::TaskFound(id) => {
                        self.state = DeferredState::Following(self.client.follow_task(id).into());
                    }
                },
            }
        }
    }

    fn request_task_id(&self) {
        self.lookup_requested.notify_one();
    }
}

impl DeferredReply {
    /// Returns the event of a reply, and follows its task if that is not settled.
    fn on_reply(&mut self, reply: SendMessageResponse) -> Result<StreamResponse, ClientError> {
        match reply {
            SendMessageResponse::Message(message) => Ok(StreamResponse::Message(message)),
            SendMessageResponse::Task(task) => {
                if task.status.state.phase() == Phase::Active {
                    let follower = self.client.follow_task(task.id.clone());
                    self.state = DeferredState::Following(follower.into());
                }
                Ok(StreamResponse::Task(Arc::unwrap_or_clone(task)))
            }
        }
    }

    /// Starts the probe once the task is settled: then the task is the only one of its context.
    fn start_probe_if_settled(&mut self, event: Option<&StreamResponse>) {
        let Some(event) = event else { return };
        let is_settled = event.status().is_some_and(|it| it.state.phase() != Phase::Active);
        if let (true, Some(id)) = (is_settled, event.task_id())
            && let Some(probe) = self.probe.take()
        {
            probe.spawn(id.clone());
        }
    }
}

/// A blocking send, and the lookups of its task.
struct BlockingSend {
    client: Client,
    lookup: Arc<TaskLookup>,
    context: ContextId,
    lookup_requested: Arc<Notify>,
    /// The call, until its reply is lost.
    reply: Option<BoxFuture<'static, SendResult>>,
    /// Error that lost the reply, and its time.
    lost_reply: Option<(ClientError, Instant)>,
    next_lookup: Instant,
    /// Lookups in a row without a result.
    lookups: u32,
    /// Lookups in a row that failed because the agent could not be reached.
    failures: u32,
}

enum RaceResult {
    Replied(SendResult),
    LookedUp(Result<Option<TaskId>, ClientError>),
}

impl BlockingSend {
    fn start(
        client: &Client,
        lookup: &Arc<TaskLookup>,
        request: SendMessageRequest,
        context: ContextId,
        lookup_requested: &Arc<Notify>,
    ) -> Self {
        let sender = client.clone();
        Self {
            client: client.clone(),
            lookup: Arc::clone(lookup),
            context,
            lookup_requested: Arc::clone(lookup_requested),
            reply: Some(async move { sender.send(request).await }.boxed()),
            lost_reply: None,
            next_lookup: lookup.next_timer_step(LOOKUP_DELAY),
            lookups: 0,
            failures: 0,
        }
    }

    /// Waits for the reply or the task, whichever is first.
    async fn run(mut self) -> SendOutcome {
        loop {
            match self.race().await {
                RaceResult::Replied(Err(error)) if may_have_been_delivered(&error) => {
                    self.reply = None;
                    self.lost_reply = Some((error, Instant::now()));
                    (self.lookups, self.next_lookup) = (0, Instant::now());
                }
                RaceResult::Replied(result) => return SendOutcome::Replied(result),
                RaceResult::LookedUp(Ok(Some(id))) => {
                    // Some agents cancel the task of a client that disconnects.
                    if let Some(reply) = self.reply.take() {
                        self.lookup.spawn(reply.map(drop));
                    }
                    return SendOutcome::TaskFound(id);
                }
                RaceResult::LookedUp(result) => self.schedule_lookup(result),
            }
            if let Some(error) = self.take_lost_reply() {
                return SendOutcome::Replied(Err(error));
            }
            // A lost message may never have had a task.
            if self.lookups == MAX_LOOKUPS && self.lost_reply.is_none() {
                tracing::debug!(context = %self.context, "no task found in context, lookups disabled");
                self.lookup.disable();
            }
        }
    }

    /// Waits for the reply, or until the next lookup is done.
    async fn race(&mut self) -> RaceResult {
        let Self { client, lookup, context, lookup_requested, reply, next_lookup, .. } = self;
        let look_up = async {
            tokio::select! {
                () = lookup_requested.notified() => {}
                () = sleep_until(*next_lookup) => {}
            }
            RaceResult::LookedUp(lookup.find(client, context).await)
        };
        match reply {
            None => look_up.await,
            Some(reply) => tokio::select! {
                biased;
                result = reply => RaceResult::Replied(result),
                result = look_up => result,
            },
        }
    }

    /// Sets the time of the next lookup after one without a task.
    fn schedule_lookup(&mut self, result: Result<Option<TaskId>, ClientError>) {
        let now = Instant::now();
        match result {
            Ok(_) => {
                (self.lookups, self.failures) = (self.lookups + 1, 0);
                self.next_lookup = now + LOOKUP_BACKOFF.delay(self.lookups);
            }
            // The agent may become reachable again and still have the task.
            Err(error) if error.is_transient() => {
                self.failures += 1;
                self.next_lookup = now + LOOKUP_BACKOFF.delay(self.failures);
            }
            Err(_) => (self.lookups, self.next_lookup) = (MAX_LOOKUPS, now + LOOKUP_BACKOFF.max),
        }
    }

    /// Returns the error of a lost reply once its task is no longer looked up.
    fn take_lost_reply(&mut self) -> Option<ClientError> {
        let lookups = self.lookups;
        let gave_up =
            |since: &Instant| lookups >= MAX_LOOKUPS || since.elapsed() > UNREACHABLE_TIMEOUT;
        self.lost_reply.take_if(|(_, since)| gave_up(since)).map(|(error, _)| error)
    }
}

/// Returns whether the agent may have received the message although the reply was lost.
fn may_have_been_delivered(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::ConnectionLost { .. }
            | ClientError::Timeout { .. }
            | ClientError::UpstreamUnavailable { .. }
    )
}
