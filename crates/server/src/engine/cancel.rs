//! Cancellation of tasks.

use std::sync::Arc;

use latimer_protocol::{
    CallContext, CallResponse, CancelTaskRequest, Error, ErrorKind, Event, Operation, Reply,
    ReplyKind, Revision, Task, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use latimer_store::{Append, Error as StoreError, PendingWork, StoredTask, TaskHeader};
use tokio::sync::oneshot;

use super::agent_lookup::CallRef;
use super::live::{CommittedState, LiveTaskRef};
use super::tasks::AuthorizedTask;
use super::{Engine, ids, store_error};

impl Engine {
    /// Handles `CancelTask`: cancels the task and returns it in its final state. Fails if the task
    /// has already ended otherwise, or if its agent declines.
    pub(super) async fn cancel(
        &self,
        context: CallContext,
        request: CancelTaskRequest,
    ) -> Result<CallResponse, Error> {
        let (operation, tenant) = (Operation::CancelTask, request.tenant.as_deref());
        let call = CallRef { context: &context, operation, tenant };
        let AuthorizedTask { stored, extensions, .. } = self.find_task(call, &request.id).await?;
        let task_dialect = Some(stored.header.created_in);
        let task = match stored.header.state.is_terminal() {
            true => stored.task,
            false => {
                let stored = self.ensure_recovered(stored).await?;
                self.cancel_detached(self.0.live_tasks.get_or_create(&stored.key)).await?
            }
        };
        if task.status.state != TaskState::Canceled {
            let message = format!("task {} has already ended ({})", task.id, task.status.state);
            return Err(Error::new(ErrorKind::TaskNotCancelable, message));
        }
        let kind = ReplyKind::Single(Reply::Task(task));
        Ok(CallResponse { kind, task_dialect, extensions })
    }

    /// Cancels a task and returns it in its final state, which is not `canceled` if the turn ended
    /// first. Continues in the background if the caller disconnects.
    async fn cancel_detached(&self, live: LiveTaskRef) -> Result<Arc<Task>, Error> {
        let (result_sender, result_receiver) = oneshot::channel();
        let engine = self.clone();
        self.0.tracker.spawn(async move {
            let result = engine.cancel_live(&live).await;
            if result.is_err() {
                live.update(|state| state.canceling = false);
            }
            // The send fails if the caller disconnected.
            let _ = result_sender.send(result);
        });
        result_receiver.await.unwrap_or_else(|_| Err(Error::internal()))
    }

    /// Cancels the running turn, or the task itself if no turn is running.
    ///
    /// The first of these decides: the task reaches a terminal state, the agent declines, or the
    /// writer permit is free.
    async fn cancel_live(&self, live: &LiveTaskRef) -> Result<Arc<Task>, Error> {
        live.lock().canceling = true;
        let declined = async {
            // A turn that has acquired its permit may not be published yet.
            let turn = live.wait_for(|state| state.turn.clone()).await;
            turn.cancellation_token().cancel();
            turn.declined().await
        };
        tokio::select! {
            biased;
            ended = live.wait_for(|state| {
                state.settled.clone().filter(|_| state.task_state.is_terminal())
            }) => Ok(ended),
            reason = declined => Err(reason),
            // With the permit, no turn is running, and `canceling` prevents a new one.
            Ok(_permit) = live.writer_permits().acquire() => self.append_canceled(live).await,
        }
    }

    /// Cancels a task without a running turn. Requires the writer permit.
    async fn append_canceled(&self, live: &LiveTaskRef) -> Result<Arc<Task>, Error> {
        let stored = self.store().load(live.key()).await.map_err(store_error)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(&live.key().id))?;
        if stored.header.state.is_terminal() {
            live.sync_from_store(&stored);
            return Ok(stored.task);
        }
        self.release_task(&stored).await;
        self.append_final_status(live, stored, TaskState::Canceled.into())
            .await
            .map_err(store_error)
    }

    /// Calls `Executor::release`.
    pub(super) async fn release_task(&self, stored: &StoredTask) {
        let Some(agent) = self.0.registry.get(&stored.key.agent) else { return };
        let release = agent.executor().release(&stored.task, stored.header.note.as_deref());
        // The task is canceled even if the executor exceeds the grace time.
        let _ = tokio::time::timeout(agent.policy().cancel_grace, release).await;
    }

    /// Appends a final status to a task without a running turn. Requires the writer permit.
    pub(super) async fn append_final_status(
        &self,
        live: &LiveTaskRef,
        stored: StoredTask,
        status: TaskStatus,
    ) -> Result<Arc<Task>, StoreError> {
        let StoredTask { key, task, revision, header } = stored;
        let state_before = header.state;
        let now = ids::now().max(header.status_changed_at);
        let mut update = TaskStatusUpdateEvent::new(key.id.clone(), status.with_timestamp(now));
        update.context_id = task.context_id.clone();
        let mut task = Arc::unwrap_or_clone(task);
        let event = Event::Status(update);
        if task.apply(event.clone()).is_err() {
            // The store rejects the event with the reason.
            task.status.state = header.state;
        }
        let task = Arc::new(task);
        let state = task.status.state;
        let append = Append {
            key,
            expected: revision,
            events: vec![event.clone()],
            header: TaskHeader {
                state,
                status_changed_at: now,
                pending_work: PendingWork::None,
                ..header
            },
            snapshot: Some(Arc::clone(&task)),
            idempotency: None,
            webhook: None,
        };
        let revision: Revision = self.store().append(append).await?;
        self.count_waiting(state_before, state);
        if state.is_terminal() {
            self.quota().release_task(live.key());
        }
        let settled = Some(Arc::clone(&task));
        let committed = CommittedState { revision, task_state: state, settled, turn_ends: true };
        live.publish(vec![event], committed);
        self.notify_webhooks(live.key());
        Ok(task)
    }
}
