//! Recovery of the tasks of ended processes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use latimer_outbound::Backoff;
use latimer_protocol::{
    Caller, Error, Event, Message, Revision, SendMessageConfiguration, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use latimer_store::{
    Append, Error as StoreError, LoggedEvent, PendingWork, StoredTask, TaskHeader,
};
use tokio::sync::oneshot;
use tracing::{error, info, warn};

use super::accept::{InboundMessage, ReplyMode};
use super::live::{LiveTaskRef, WriterPermit, is_settled};
use super::task_scope::TaskScope;
use super::turn_runner::{ExecutorCall, TurnRunner, failed_status};
use super::{Engine, ids, store_error};
use crate::agent::{Agent, ContextConcurrency};

/// Number of tasks that one claim, and of events that one read of the store returns at most.
const RECOVERY_BATCH: usize = 256;

impl Engine {
    /// Claims the tasks of ended processes and starts the periodic removal of expired tasks. Call
    /// it once, before the first call.
    ///
    /// Queued turns start; interrupted ones go to [`Executor::recover`](crate::Executor::recover),
    /// and tasks of agents that are no longer published fail. Returns the number of claimed tasks.
    /// Their turns run in the background.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn recover(&self) -> Result<u64, Error> {
        self.0.tracker.spawn(self.clone().sweep());
        let mut abandoned = Vec::new();
        loop {
            let more = self.store().claim_abandoned(RECOVERY_BATCH).await.map_err(store_error)?;
            if more.is_empty() {
                break;
            }
            abandoned.extend(more);
        }
        if !abandoned.is_empty() {
            info!(tasks = abandoned.len(), "claimed tasks of ended processes");
        }
        let count = abandoned.len() as u64;
        if let Some(dispatcher) = self.0.dispatcher.get() {
            dispatcher.resume().await.map_err(store_error)?;
        }
        // Running turns first: queued ones may wait for them.
        abandoned.sort_by_key(|it| it.header.pending_work == PendingWork::Queued);
        for stored in abandoned {
            self.recover_task(stored).await?;
        }
        Ok(count)
    }

    /// Removes expired tasks at the interval of the store's retention.
    async fn sweep(self) {
        let interval = self.store().retention().sweep_interval;
        loop {
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = self.shutdown().draining() => return,
            }
            match self.store().sweep(ids::now()).await {
                Ok(0) => {}
                Ok(tasks) => info!(tasks, "expired tasks removed"),
                Err(error) => warn!(%error, "removal of expired tasks failed"),
            }
        }
    }

    async fn recover_task(&self, mut stored: StoredTask) -> Result<(), Error> {
        if stored.header.pending_work == PendingWork::Held {
            stored = self.make_visible(stored).await?;
        }
        let live = self.0.live_tasks.get_or_create(&stored.key);
        live.sync_from_store(&stored);
        self.quota().count_task(&stored.key);
        let Some(agent) = self.0.registry.get(&stored.key.agent).cloned() else {
            let reason = format!("the agent {:?} is no longer published", stored.key.agent);
            self.fail_orphaned_task(live, reason);
            return Ok(());
        };
        let InterruptedTurns { current, pending } = self.interrupted_turns(&stored).await?;
        let to_inbound = |message| recovered_message(&agent, &stored, message);
        let queued: Vec<_> = pending.into_iter().map(to_inbound).collect();
        let interrupted = to_inbound(current);
        live.lock().queued_messages.extend(queued.iter().map(|it| it.message.message_id.clone()));
        if let Some(permit) = WriterPermit::try_acquire(&live)
            && !is_settled(stored.header.state)
        {
            self.resume_turn(interrupted, permit, stored);
        }
        for inbound in queued {
            // No caller waits for the start.
            let (start_sender, _) = oneshot::channel();
            self.spawn_detached(self.clone().run_follow_up(
                inbound,
                live.clone(),
                None,
                None,
                start_sender,
            ));
        }
        Ok(())
    }

    /// Makes a held task visible. Its agent may have started, so it is not held again.
    async fn make_visible(&self, stored: StoredTask) -> Result<StoredTask, Error> {
        let StoredTask { key, task, revision, header } = stored;
        let now = ids::now().max(header.status_changed_at);
        let status = TaskStatus::from(TaskState::Working).with_timestamp(now);
        let mut update = TaskStatusUpdateEvent::new(key.id.clone(), status);
        update.context_id = task.context_id.clone();
        let mut task = Arc::unwrap_or_clone(task);
        task.apply(Event::Status(update.clone())).map_err(|error| {
            error!(task = %key.id, %error, "held task cannot be made visible");
            Error::internal()
        })?;
        let header = TaskHeader {
            state: TaskState::Working,
            status_changed_at: now,
            pending_work: PendingWork::Running,
            ..header
        };
        let append = Append {
            key: key.clone(),
            expected: revision,
            events: vec![Event::Status(update)],
            header: header.clone(),
            snapshot: None,
            idempotency: None,
            webhook: None,
        };
        let revision = self.store().append(append).await.map_err(store_error)?;
        if let Some(dispatcher) = self.0.dispatcher.get() {
            let webhooks = self.store().webhooks().list_for_task(&key).await;
            for webhook in webhooks.map_err(store_error)? {
                dispatcher.activate(&key, &webhook.id);
            }
        }
        Ok(StoredTask { key, task: Arc::new(task), revision, header })
    }

    /// Resumes an interrupted turn, or starts a queued one.
    fn resume_turn(&self, inbound: InboundMessage, permit: WriterPermit, stored: StoredTask) {
        let is_queued = stored.header.pending_work == PendingWork::Queued;
        let agent = Arc::clone(&inbound.agent);
        let (id, context) = (stored.key.id.clone(), stored.header.context.clone());
        let slot = self.0.context_queue.slot(&stored.key, &context);
        let turn = self.new_turn(inbound, id, context, (!is_queued).then_some(&stored), Vec::new());
        let mut runner =
            TurnRunner::for_existing_task(self.clone(), agent, permit, turn, stored, None);
        let concurrency = runner.agent.policy().context_concurrency;
        if is_queued && concurrency == ContextConcurrency::Queue {
            return self.run_in_context_order(runner, true).detach();
        }
        let context_permit = match concurrency {
            ContextConcurrency::Parallel => None,
            ContextConcurrency::Queue | ContextConcurrency::Reject => slot.try_acquire().ok(),
        };
        let executor_call = if is_queued { ExecutorCall::Execute } else { ExecutorCall::Recover };
        if !is_queued {
            runner.mark_started();
        }
        self.spawn_detached(runner.run(executor_call, is_queued, context_permit));
    }

    /// Replays the log of a task to find the message of the interrupted turn and the messages that
    /// still wait for a turn.
    async fn interrupted_turns(&self, stored: &StoredTask) -> Result<InterruptedTurns, Error> {
        let mut turns = InterruptedTurns {
            current: Message::user(ids::message(), "").into(),
            pending: VecDeque::new(),
        };
        let mut state = TaskState::Submitted;
        let mut cursor = Revision::START;
        loop {
            let events = self
                .store()
                .events(&stored.key, cursor, RECOVERY_BATCH)
                .await
                .map_err(store_error)?;
            let Some(last) = events.last() else { return Ok(turns) };
            cursor = last.revision;
            for LoggedEvent { event, .. } in events {
                turns.observe(event, &mut state);
            }
        }
    }

    /// Fails a task whose events could not be stored, so that it does not stay unfinished without a
    /// turn. Retries in the background until the store accepts it or the engine stops.
    pub(super) fn fail_orphaned_task(&self, live: LiveTaskRef, reason: String) {
        let (engine, shutdown) = (self.clone(), self.shutdown().clone());
        self.0.tracker.spawn(async move {
            let backoff =
                Backoff { initial: Duration::from_millis(100), max: Duration::from_secs(30) };
            for attempt in 1.. {
                match engine.try_fail_orphaned_task(&live, &reason).await {
                    Ok(()) => break,
                    Err(error) => {
                        let task = &live.key().id;
                        warn!(%task, %error, "task without a turn could not be failed; retrying");
                    }
                }
                tokio::select! {
                    () = tokio::time::sleep(backoff.delay(attempt)) => {}
                    // The next process claims the task.
                    () = shutdown.stopped() => break,
                }
            }
        });
    }

    async fn try_fail_orphaned_task(
        &self,
        live: &LiveTaskRef,
        reason: &str,
    ) -> Result<(), StoreError> {
        // Without a permit the task has ended or the engine has stopped.
        let Some(_permit) = WriterPermit::acquire(live, self.shutdown()).await else {
            return Ok(());
        };
        let stored = self.store().load(live.key()).await?;
        if let Some(stored) = stored.filter(|it| it.header.pending_work != PendingWork::None) {
            self.append_final_status(live, stored, failed_status(reason)).await?;
        }
        live.update(|state| state.failure = None);
        Ok(())
    }
}

/// Messages of a task whose turns did not finish.
struct InterruptedTurns {
    current: Arc<Message>,
    pending: VecDeque<Arc<Message>>,
}

impl InterruptedTurns {
    /// Applies the next event of the log; `state` is the state of the task before it.
    fn observe(&mut self, event: Event, state: &mut TaskState) {
        match event {
            Event::Created(task) => {
                *state = task.status.state;
                if let Some(first) = task.history.into_iter().next() {
                    self.current = first;
                }
            }
            Event::Message(message) => self.pending.push_back(message),
            Event::Status(update) => {
                // An interrupted task that resumes handles its oldest pending message.
                let resumes = state.is_interrupted() && update.status.state == TaskState::Working;
                if resumes && let Some(next) = self.pending.pop_front() {
                    self.current = next;
                }
                *state = update.status.state;
            }
            Event::Artifact(_) => {}
        }
    }
}

/// Rebuilds an inbound message from the log. Reply mode, configuration and request metadata are not
/// stored.
fn recovered_message(
    agent: &Arc<Agent>,
    stored: &StoredTask,
    message: Arc<Message>,
) -> InboundMessage {
    InboundMessage {
        configuration: SendMessageConfiguration::default(),
        metadata: message.metadata.clone(),
        caller: match &*stored.key.owner {
            "" => Caller::anonymous(),
            id => Caller::new(id),
        },
        scope: TaskScope::for_owner(&stored.key),
        agent: Arc::clone(agent),
        extensions: message.extensions.clone(),
        dialect: stored.header.created_in,
        reply_mode: ReplyMode::Blocking,
        starts_context: false,
        result_only: false,
        resume_after: None,
        message,
    }
}
