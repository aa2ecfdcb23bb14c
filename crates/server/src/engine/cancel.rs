//! Canceling a task.

use std::sync::Arc;

use latimer_protocol::{
    Call, CallResponse, Error, ErrorKind, Event, Reply, Request, Revision, Task, TaskState,
    TaskStatus, TaskStatusUpdateEvent,
};
use latimer_store::{Append, Error as StoreError, PendingWork as Needed, StoredTask, TaskHeader};
use tokio::sync::oneshot;

use super::live::{Guard, Published};
use super::tasks::Found;
use super::{Engine, ids, unavailable};

impl Engine {
    pub(super) async fn cancel(&self, call: Call) -> Result<CallResponse, Error> {
        let Request::CancelTask(request) = &call.request else { return Err(Error::internal()) };
        let Found { stored, extensions } = self.find(&call, &request.id).await?;
        let made_in = Some(stored.header.created_in);
        let task = match stored.header.state.is_terminal() {
            true => stored.task,
            false => self.stop(self.0.lives.get(&stored.key)).await?,
        };
        if task.status.state != TaskState::Canceled {
            let message = format!("task {} is over ({})", task.id, task.status.state);
            return Err(Error::new(ErrorKind::TaskNotCancelable, message));
        }
        Ok(CallResponse { reply: Reply::Task(task), task_dialect: made_in, extensions })
    }

    /// Brings a task to an end, and returns it as it ended. Goes on when nobody waits for it.
    async fn stop(&self, live: Guard) -> Result<Arc<Task>, Error> {
        let (done, ended) = oneshot::channel();
        let engine = self.clone();
        self.0.tracker.spawn(async move {
            let result = engine.stop_live(&live).await;
            if result.is_err() {
                live.change(|state| state.canceling = false);
            }
            // The caller may have gone.
            let _ = done.send(result);
        });
        ended.await.unwrap_or_else(|_| Err(Error::internal()))
    }

    async fn stop_live(&self, live: &Guard) -> Result<Arc<Task>, Error> {
        live.lock().canceling = true;
        let declined = async {
            // It may begin only now.
            let turn = live.until(|state| state.turn.clone()).await;
            turn.cancelled().cancel();
            turn.declined().await
        };
        tokio::select! {
            biased;
            ended = live.until(|state| {
                state.settled.clone().filter(|_| state.status.is_terminal())
            }) => Ok(ended),
            why = declined => Err(why),
            turn = live.turns().acquire() => {
                // Nobody is at it, and nobody will be while this goes on.
                let _turn = turn.map_err(|_| Error::internal())?;
                self.append_canceled(live).await
            }
        }
    }

    /// Ends a task that nobody is at.
    async fn append_canceled(&self, live: &Guard) -> Result<Arc<Task>, Error> {
        let stored = self.store().load(live.key()).await.map_err(unavailable)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(&live.key().id))?;
        if stored.header.state.is_terminal() {
            live.learn(&stored);
            return Ok(stored.task);
        }
        self.let_go(&stored).await;
        self.end(live, stored, TaskState::Canceled.into()).await.map_err(unavailable)
    }

    /// Has the agent let go of a task.
    async fn let_go(&self, stored: &StoredTask) {
        let Some(agent) = self.0.registry.get(&stored.key.agent) else { return };
        let letting_go = agent.executor().let_go(&stored.task, stored.header.note.as_deref());
        // One that takes too long does not keep its caller waiting.
        let _ = tokio::time::timeout(agent.policy().cancel_grace, letting_go).await;
    }

    /// Gives a task that nobody is at its last status.
    pub(super) async fn end(
        &self,
        live: &Guard,
        stored: StoredTask,
        status: TaskStatus,
    ) -> Result<Arc<Task>, StoreError> {
        let StoredTask { key, task, revision, header } = stored;
        let now = ids::now().max(header.status_changed_at);
        let mut update = TaskStatusUpdateEvent::new(key.id.clone(), status.with_timestamp(now));
        update.context_id = task.context_id.clone();
        let mut task = Arc::unwrap_or_clone(task);
        let event = Event::Status(update);
        if task.apply(event.clone()).is_err() {
            // The store refuses it too, and says why.
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
                pending_work: Needed::None,
                ..header
            },
            snapshot: Some(Arc::clone(&task)),
            idempotency: None,
            webhook: None,
        };
        let revision: Revision = self.store().append(append).await?;
        if state.is_terminal() {
            self.shares().end(live.key());
        }
        let settled = Some(Arc::clone(&task));
        let published = Published { revision, status: state, settled, turn_ends: true };
        live.publish(vec![event], published);
        self.happened(live.key());
        Ok(task)
    }
}
