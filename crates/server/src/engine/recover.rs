//! Recovery of the tasks of ended processes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use latimer_outbound::Backoff;
use latimer_protocol::{
    Caller, Error, Event, Message, Revision, SendMessageConfiguration, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use latimer_store::{
    Append, Error as StoreError, LoggedEvent, PendingWork, StoredTask, TaskHeader,
};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, oneshot};
use tracing::{error, info, warn};

use super::accept::{InboundMessage, ReplyMode};
use super::live::{LiveTaskRef, WriterPermit, is_settled};
use super::task_scope::TaskScope;
use super::turn_runner::{ExecutorCall, TurnPermits, TurnRunner, failed_status};
use super::{Engine, ids, store_error};
use crate::agent::{Agent, ContextConcurrency};

/// Delays between attempts while the store fails.
const RETRY_BACKOFF: Backoff =
    Backoff { initial: Duration::from_millis(100), max: Duration::from_secs(30) };

/// Number of events that one read of the store returns at most.
const EVENT_BATCH: usize = 256;

/// State of the recovery, which the background and calls share.
#[derive(Debug)]
pub(super) struct Recovery {
    /// Number of tasks that are left.
    remaining: AtomicU64,
    /// Held from the claim of a task until its turn has the writer permit, so that no call uses the
    /// task in between.
    claiming: Mutex<()>,
    /// Places for recovered turns.
    places: Arc<Semaphore>,
}

impl Recovery {
    pub(super) fn new(max_recovering: usize) -> Self {
        Self {
            remaining: AtomicU64::new(0),
            claiming: Mutex::new(()),
            places: Arc::new(Semaphore::new(max_recovering.max(1))),
        }
    }

    /// Returns the number of tasks that are left.
    pub(super) fn remaining(&self) -> u64 {
        self.remaining.load(Ordering::Relaxed)
    }

    fn is_done(&self) -> bool {
        self.remaining() == 0
    }

    fn count_recovered(&self) {
        let _ = self.remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |remaining| {
            remaining.checked_sub(1)
        });
    }
}

/// Place of a recovered turn. Shared by the turns of one task; `None` for a task that a call needs.
type RecoveryPlace = Option<Arc<OwnedSemaphorePermit>>;

impl Engine {
    /// Starts the recovery of the tasks of ended processes and the periodic removal of expired tasks.
    /// Call it once, before the first call.
    ///
    /// Returns the number of tasks to recover at once; the recovery runs in the background, with at
    /// most [`EngineLimits::max_recovering`](super::EngineLimits::max_recovering) turns at a time.
    /// Queued turns start; interrupted ones go to [`Executor::recover`](crate::Executor::recover),
    /// and tasks of agents that are no longer published fail. A task that a call needs is recovered
    /// before its turn comes.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn recover(&self) -> Result<u64, Error> {
        self.0.tracker.spawn(self.clone().sweep());
        let count = self.store().count_abandoned().await.map_err(store_error)?;
        if let Some(dispatcher) = self.0.dispatcher.get() {
            dispatcher.resume().await.map_err(store_error)?;
        }
        if count > 0 {
            info!(tasks = count, "recovering tasks of ended processes");
            self.0.recovery.remaining.store(count, Ordering::Relaxed);
            self.0.tracker.spawn(self.clone().recover_in_background());
        }
        Ok(count)
    }

    /// Recovers all abandoned tasks. Ends early when the engine drains; the next process continues.
    async fn recover_in_background(self) {
        let mut failures = 0;
        loop {
            let place = tokio::select! {
                place = Arc::clone(&self.0.recovery.places).acquire_owned() => place.ok(),
                () = self.shutdown().draining() => return,
            };
            match self.recover_next(place.map(Arc::new)).await {
                Ok(true) => failures = 0,
                Ok(false) => break,
                Err(error) => {
                    failures += 1;
                    warn!(%error, "recovery failed; retrying");
                    tokio::select! {
                        () = tokio::time::sleep(RETRY_BACKOFF.delay(failures)) => {}
                        () = self.shutdown().draining() => return,
                    }
                }
            }
        }
        self.0.recovery.remaining.store(0, Ordering::Relaxed);
        info!("recovery finished");
    }

    /// Claims and recovers the next abandoned task. Returns whether there was one.
    async fn recover_next(&self, place: RecoveryPlace) -> Result<bool, Error> {
        let _claiming = self.0.recovery.claiming.lock().await;
        let claimed = self.store().claim_abandoned(1).await.map_err(store_error)?;
        let Some(stored) = claimed.into_iter().next() else { return Ok(false) };
        self.recover_claimed(stored, place).await;
        Ok(true)
    }

    /// Recovers a task of an ended process before a call uses it. Returns the task as it is then.
    pub(super) async fn ensure_recovered(&self, stored: StoredTask) -> Result<StoredTask, Error> {
        if stored.header.pending_work == PendingWork::None || self.0.recovery.is_done() {
            return Ok(stored);
        }
        let _claiming = self.0.recovery.claiming.lock().await;
        if let Some(claimed) = self.store().claim(&stored.key).await.map_err(store_error)? {
            self.recover_claimed(claimed, None).await;
        }
        let reloaded = self.store().load(&stored.key).await.map_err(store_error)?;
        Ok(reloaded.unwrap_or(stored))
    }

    /// Recovers a claimed task, or fails it if that is not possible.
    async fn recover_claimed(&self, stored: StoredTask, place: RecoveryPlace) {
        let key = stored.key.clone();
        if let Err(error) = self.recover_task(stored, place).await {
            warn!(task = %key.id, %error, "task could not be recovered");
            let reason = "the task could not be recovered after a restart".to_owned();
            self.fail_orphaned_task(self.0.live_tasks.get_or_create(&key), reason);
        }
        self.0.recovery.count_recovered();
    }

    async fn recover_task(
        &self,
        mut stored: StoredTask,
        place: RecoveryPlace,
    ) -> Result<(), Error> {
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
            self.resume_turn(interrupted, permit, stored, place.clone());
        }
        for inbound in queued {
            // No caller waits for the start.
            let (start_sender, _) = oneshot::channel();
            let turn_place =
                self.0.turn_queues.reserve_recorded(&live.key().agent, &live.key().owner);
            let turn = self.clone().run_follow_up(
                inbound,
                live.clone(),
                None,
                None,
                turn_place,
                start_sender,
            );
            let place = place.clone();
            self.spawn_detached(async move {
                turn.await;
                drop(place);
            });
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
    fn resume_turn(
        &self,
        inbound: InboundMessage,
        permit: WriterPermit,
        stored: StoredTask,
        place: RecoveryPlace,
    ) {
        let is_queued = stored.header.pending_work == PendingWork::Queued;
        let agent = Arc::clone(&inbound.agent);
        let (id, context) = (stored.key.id.clone(), stored.header.context.clone());
        let slot = self.0.context_queue.slot(&stored.key, &context);
        let turn = self.new_turn(inbound, id, context, (!is_queued).then_some(&stored), Vec::new());
        let mut runner =
            TurnRunner::for_existing_task(self.clone(), agent, permit, turn, stored, None);
        let concurrency = runner.agent.policy().context_concurrency;
        let key = runner.live.key();
        // Interrupted turns ran at the same time before, so they need no permit.
        let turn_place = is_queued
            .then(|| self.0.turn_queues.reserve_recorded(&key.agent, &key.owner))
            .flatten();
        let in_context_order = is_queued && concurrency == ContextConcurrency::Queue;
        let context = match concurrency {
            ContextConcurrency::Parallel => None,
            _ if in_context_order => None,
            ContextConcurrency::Queue | ContextConcurrency::Reject => slot.try_acquire().ok(),
        };
        let permits = TurnPermits { context, place: turn_place };
        if in_context_order || permits.place.is_some() {
            let turn = self.run_in_order(runner, true, permits);
            return self.spawn_detached(async move {
                turn.await;
                drop(place);
            });
        }
        let executor_call = if is_queued { ExecutorCall::Execute } else { ExecutorCall::Recover };
        if !is_queued {
            runner.mark_started();
        }
        self.spawn_detached(async move {
            runner.run(executor_call, is_queued, permits).await;
            drop(place);
        });
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
            let events =
                self.store().events(&stored.key, cursor, EVENT_BATCH).await.map_err(store_error)?;
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
            for attempt in 1.. {
                match engine.try_fail_orphaned_task(&live, &reason).await {
                    Ok(()) => break,
                    Err(error) => {
                        let task = &live.key().id;
                        warn!(%task, %error, "task without a turn could not be failed; retrying");
                    }
                }
                tokio::select! {
                    () = tokio::time::sleep(RETRY_BACKOFF.delay(attempt)) => {}
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
