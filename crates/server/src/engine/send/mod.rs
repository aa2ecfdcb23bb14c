//! Submission of messages: to new tasks, and as follow-ups to existing ones.

mod follow_up;
mod wait;

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use latimer_protocol::{
    CallContext, CallResponse, ContextId, Dialect, Error, ErrorKind, Operation, Reply, ReplyKind,
    Revision, SendMessageRequest, SendMessageResponse, Task, TaskId,
};
use latimer_store::{StoredTask, TaskKey};
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;

pub(super) use self::follow_up::StartReceiver;
use super::accept::{InboundMessage, ReplyMode};
use super::agent_lookup::authorize;
use super::context_queue::ContextSlot;
use super::idempotency::{DuplicateCheck, IdempotencyClaim, InFlightTurn};
use super::live::{LiveTaskRef, Subscription, WriterPermit};
use super::reader::{Reader, ReaderStart, StreamEnd};
use super::tasks::check_resume_cursor;
use super::turn_runner::{DetachOnDrop, ExecutorCall, TurnPermits, TurnRunner};
use super::{CURSOR_EXTENSION, Engine, ids, store_error, trim_history};
use crate::agent::ContextConcurrency;
use crate::turn::{Inner, Outbox, Turn};

/// Result of submitting a message: its turn was started or queued, or the message is a duplicate.
pub(super) struct Submission {
    pub(super) attachment: Attachment,
    /// Revision of the task before the message.
    pub(super) after: Revision,
    /// The task before the message, for streams of follow-ups.
    pub(super) prior_task: Option<Box<Task>>,
    pub(super) task_dialect: Dialect,
    pub(super) kind: SubmissionKind,
    /// The turn, if the caller waits for its result and polls it.
    pub(super) attached_turn: Option<DetachOnDrop>,
    /// Start of the turn, for the stream of a message that waits for an earlier turn.
    pub(super) turn_start: Option<StartReceiver>,
}

/// Relation of a submission to a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubmissionKind {
    /// The turn of the message has started.
    New,
    /// The message repeats an earlier one.
    Duplicate,
    /// The message is stored and waits for its turn; the caller gets the current task.
    Queued,
}

/// Attachment of a caller to a live task.
pub(super) enum Attachment {
    /// The caller waits for the result; events are not buffered for it.
    Waiting(LiveTaskRef),
    /// The caller reads the events as a stream.
    Watching(Subscription),
}

impl Attachment {
    pub(super) fn live(&self) -> &LiveTaskRef {
        match self {
            Self::Waiting(live) => live,
            Self::Watching(subscription) => subscription,
        }
    }
}

impl Engine {
    /// Handles `SendMessage`: submits the message and returns the task or direct reply. Depending on
    /// the request, waits until the task is settled or only until it is stored.
    pub(super) async fn send(
        &self,
        context: CallContext,
        request: SendMessageRequest,
    ) -> Result<CallResponse, Error> {
        let inbound = self.accept(context, Operation::SendMessage, request).await?;
        let (agent, reply_mode) = (inbound.agent.clone(), inbound.reply_mode);
        let (history_length, extensions) =
            (inbound.configuration.history_length, inbound.extensions.clone());
        let mut submission = self.submit(inbound).await?;
        let response = match (reply_mode, submission.kind) {
            (ReplyMode::Immediate, _) | (_, SubmissionKind::Queued) => {
                Box::pin(self.wait_until_created(&submission)).await?
            }
            (ReplyMode::Blocking | ReplyMode::Streaming, _) => {
                self.wait_until_settled(&mut submission, &agent).await?
            }
        };
        let reply = Reply::SendMessage(match response {
            SendMessageResponse::Task(task) => {
                SendMessageResponse::Task(trim_history(task, history_length))
            }
            message @ SendMessageResponse::Message(_) => message,
        });
        let kind = ReplyKind::Single(reply);
        Ok(CallResponse { kind, task_dialect: Some(submission.task_dialect), extensions })
    }

    /// Handles `SendStreamingMessage`: submits the message and returns the events of its turn as a
    /// stream.
    pub(super) async fn stream(
        &self,
        context: CallContext,
        request: SendMessageRequest,
    ) -> Result<CallResponse, Error> {
        let inbound = self.accept(context, Operation::SendStreamingMessage, request).await?;
        let stream_guard = self.open_stream(&inbound.caller)?;
        let extensions = inbound.extensions.clone();
        let (requested_cursor, history_length) =
            (inbound.resume_after, inbound.configuration.history_length);
        let submission = self.submit(inbound).await?;
        let subscription = match submission.attachment {
            Attachment::Watching(subscription) => subscription,
            Attachment::Waiting(live) => live.subscribe(),
        };
        let mut start = ReaderStart {
            cursor: submission.after,
            ignore_end_through: submission.after,
            stream_end: StreamEnd::Settled,
            initial_task: submission.prior_task,
            history_length,
            revision_in_metadata: extensions.iter().any(|it| it == CURSOR_EXTENSION),
            turn_start: submission.turn_start,
        };
        let mut snapshot = None;
        // Only a caller that resends its message can have received events of it.
        if submission.kind == SubmissionKind::Duplicate
            && let Some(stored) =
                self.store().load(subscription.key()).await.map_err(store_error)?
        {
            subscription.sync_from_store(&stored);
            let cursor = check_resume_cursor(requested_cursor, stored.revision)?;
            start.cursor = cursor.unwrap_or(stored.revision);
            snapshot = cursor.is_none().then_some(stored.task);
        }
        let mut reader = Reader::new(
            subscription,
            self.store().clone(),
            self.shutdown().clone(),
            stream_guard,
            start,
        );
        if let Some(task) = snapshot {
            reader.push_snapshot(Arc::unwrap_or_clone(task));
        }
        let kind = ReplyKind::Stream(Box::pin(reader));
        Ok(CallResponse { kind, task_dialect: Some(submission.task_dialect), extensions })
    }

    /// Submits a message: replays the result of a duplicate, continues the task that it names, or
    /// creates a task.
    async fn submit(&self, inbound: InboundMessage) -> Result<Submission, Error> {
        let task_id = inbound.message.task_id.clone();
        let agent = inbound.agent.name();
        let key = match &task_id {
            Some(id) => inbound.scope.task_key(agent, id)?,
            None => inbound.scope.new_task_key(agent, ids::task())?,
        };
        let idempotency = match self.check_duplicate(&inbound, &key, task_id.is_some()).await? {
            DuplicateCheck::Exempt => None,
            DuplicateCheck::First(record, claim) => Some((record, claim)),
            DuplicateCheck::Duplicate(submission) => return Ok(submission),
        };
        let Some(id) = task_id else {
            let permit = WriterPermit::for_new_task(self.0.live_tasks.create(key));
            return self.create_task(inbound, permit, idempotency).await;
        };
        match self.load_visible(&key).await? {
            Some(stored) => Box::pin(self.continue_task(inbound, stored, idempotency)).await,
            None if inbound.dialect.clients_assign_task_ids() => {
                Box::pin(self.create_with_client_id(inbound, key, idempotency)).await
            }
            None => Err(Error::task_not_found(&id)),
        }
    }

    /// Creates a task with an id chosen by the client. Continues the task if a concurrent call
    /// created it.
    async fn create_with_client_id(
        &self,
        inbound: InboundMessage,
        key: TaskKey,
        idempotency: IdempotencyClaim,
    ) -> Result<Submission, Error> {
        let live = self.0.live_tasks.get_or_create(&key);
        let permit = match WriterPermit::try_acquire(&live) {
            Some(permit) => Some(permit),
            None => WriterPermit::acquire(&live, self.shutdown()).await,
        };
        let stored = self.store().load(&key).await.map_err(store_error)?;
        match (stored, permit) {
            (Some(stored), permit) => {
                drop(permit);
                self.continue_task(inbound, stored, idempotency).await
            }
            (None, Some(permit)) => self.create_task(inbound, permit, idempotency).await,
            (None, None) => Err(shutting_down_error()),
        }
    }

    /// Creates a task and starts its first turn.
    ///
    /// # Errors
    /// Fails if the context is busy and the agent's policy rejects concurrent tasks, if the queue of the
    /// agent is full, or if the caller has reached its quota.
    async fn create_task(
        &self,
        mut inbound: InboundMessage,
        permit: WriterPermit,
        idempotency: IdempotencyClaim,
    ) -> Result<Submission, Error> {
        let key = permit.key();
        let place = self.0.turn_queues.reserve(&key.agent, &key.owner)?;
        let context = inbound.message.context_id.clone().unwrap_or_else(ids::context);
        let context_permit = match inbound.agent.policy().context_concurrency {
            ContextConcurrency::Parallel | ContextConcurrency::Queue => None,
            ContextConcurrency::Reject => {
                match self.0.context_queue.slot(key, &context).try_acquire() {
                    Ok(context_permit) => Some(context_permit),
                    Err(_) => {
                        let message = "the agent is busy with this context; try again later";
                        return Err(Error::new(ErrorKind::Unavailable, message));
                    }
                }
            }
        };
        inbound.starts_context = inbound.message.context_id.is_none();
        inbound.assign_ids(&key.id, &context);
        let referenced_tasks = self.referenced_tasks(&inbound).await?;
        let webhook = self.inline_webhook(&mut inbound, key, Revision::START).await?;
        let (dialect, reply_mode, agent) =
            (inbound.dialect, inbound.reply_mode, inbound.agent.clone());
        self.quota().reserve_task(key)?;
        let live = LiveTaskRef::clone(&permit);
        let attachment = attach(&live, reply_mode);
        let turn = self.new_turn(inbound, live.key().id.clone(), context, None, referenced_tasks);
        let mut runner = TurnRunner::for_new_task(self.clone(), agent, permit, turn, dialect);
        if let Some(webhook) = webhook {
            runner.set_webhook(webhook);
        }
        if let Some((record, claim)) = idempotency {
            claim.set_location(InFlightTurn { live, after: Revision::START });
            runner.set_idempotency(record, claim);
        }
        let create_task_first =
            reply_mode == ReplyMode::Immediate || dialect.clients_assign_task_ids();
        let permits = TurnPermits { context: context_permit, place };
        let in_context_order =
            runner.agent.policy().context_concurrency == ContextConcurrency::Queue;
        let attached_turn = if in_context_order || permits.place.is_some() {
            self.run_in_order(runner, create_task_first, permits)
        } else {
            self.start_attached(runner.run(ExecutorCall::Execute, create_task_first, permits))
        };
        let attached_turn = match reply_mode {
            ReplyMode::Blocking => Some(attached_turn),
            ReplyMode::Streaming | ReplyMode::Immediate => {
                attached_turn.detach();
                None
            }
        };
        let (after, kind) = (Revision::START, SubmissionKind::New);
        Ok(Submission {
            attachment,
            after,
            prior_task: None,
            task_dialect: dialect,
            kind,
            attached_turn,
            turn_start: None,
        })
    }

    /// Starts a turn after the earlier turns of its context, if the agent's policy queues them, and once
    /// its place in the queue of the agent has a permit. The first poll of the turn enters it into the
    /// first of the two queues.
    pub(super) fn run_in_order(
        &self,
        mut runner: TurnRunner,
        create_task_first: bool,
        permits: TurnPermits,
    ) -> DetachOnDrop {
        let context = runner.turn.context_id();
        let in_context_order =
            runner.agent.policy().context_concurrency == ContextConcurrency::Queue;
        let slot = in_context_order.then(|| self.0.context_queue.slot(runner.live.key(), context));
        let waiting = acquire_permits(slot, permits);
        self.start_attached(async move {
            tokio::pin!(waiting);
            // The first poll enters the queue, before anything can suspend.
            let acquired = match poll_once(waiting.as_mut()).await {
                Poll::Ready(permits) => Some(permits),
                Poll::Pending => runner.wait_before_start(waiting).await,
            };
            // Without permits the task ended while it waited.
            let Some(permits) = acquired else { return };
            let create_task_first = create_task_first || runner.is_visible();
            runner.run(ExecutorCall::Execute, create_task_first, permits).await;
        })
    }

    /// Creates the turn of a message.
    pub(super) fn new_turn(
        &self,
        inbound: InboundMessage,
        task_id: TaskId,
        context_id: ContextId,
        stored: Option<&StoredTask>,
        referenced_tasks: Vec<Arc<Task>>,
    ) -> Turn {
        Turn::new(Inner {
            message: inbound.message,
            task_id,
            context_id,
            agent: inbound.agent.name().clone(),
            caller: inbound.caller,
            task: stored.map(|it| Arc::clone(&it.task)),
            note: stored.and_then(|it| it.header.note.clone()),
            starts_context: inbound.starts_context,
            result_only: inbound.result_only,
            referenced_tasks,
            metadata: inbound.metadata,
            accepted_output_modes: inbound.configuration.accepted_output_modes,
            extensions: inbound.extensions,
            deadline: inbound.agent.policy().turn_timeout.map(|it| Instant::now() + it),
            cancellation_token: CancellationToken::new(),
            decline_reason: SetOnce::new(),
            outbox: Outbox::default(),
            store: Arc::clone(self.store()),
        })
    }

    /// Loads the tasks that a message refers to. Skips tasks that the caller cannot read: unknown
    /// tasks, tasks of other callers, and tasks of agents that the caller may not use.
    pub(super) async fn referenced_tasks(
        &self,
        inbound: &InboundMessage,
    ) -> Result<Vec<Arc<Task>>, Error> {
        let mut tasks = Vec::new();
        let scope = &inbound.scope;
        for id in inbound.message.reference_task_ids.iter().take(MAX_REFERENCED_TASKS) {
            let agents = self.store().find_agents(scope.owner()?, id).await.map_err(store_error)?;
            let is_allowed = |name: &Arc<str>| {
                let agent = self.0.registry.get(name);
                agent.is_some_and(|it| authorize(&inbound.caller, it).is_ok())
            };
            if let Some(agent) = agents.into_iter().find(is_allowed) {
                let key = scope.task_key(&agent, id)?;
                tasks.extend(self.load_visible(&key).await?.map(|it| it.task));
            }
        }
        Ok(tasks)
    }
}

/// Number of referenced tasks that are loaded; further ids are ignored.
const MAX_REFERENCED_TASKS: usize = 16;

/// Waits for the permit of the context, if there is a slot, and then for the one of the agent.
async fn acquire_permits(slot: Option<ContextSlot>, permits: TurnPermits) -> TurnPermits {
    let TurnPermits { mut context, place } = permits;
    if let Some(slot) = slot {
        context = Some(slot.acquire().await);
    }
    let place = match place {
        Some(place) => Some(place.acquire().await),
        None => None,
    };
    TurnPermits { context, place }
}

/// Attaches a caller to a live task in the way that its reply mode requires.
pub(super) fn attach(live: &LiveTaskRef, reply_mode: ReplyMode) -> Attachment {
    match reply_mode {
        ReplyMode::Streaming => Attachment::Watching(live.subscribe()),
        ReplyMode::Blocking | ReplyMode::Immediate => Attachment::Waiting(live.clone()),
    }
}

/// Returns the error of calls that arrive during shutdown.
pub(super) fn shutting_down_error() -> Error {
    Error::new(ErrorKind::Unavailable, "the server is shutting down; try again in a moment")
}

/// Polls a future once.
pub(super) async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}
