//! Exclusive permit to append to a task.

use std::ops::Deref;

use super::LiveTaskRef;
use crate::engine::shutdown::Shutdown;

/// Exclusive permit to append events to one task. Dropping it clears the current turn and admits
/// the next writer.
#[derive(Debug)]
pub(in crate::engine) struct WriterPermit(LiveTaskRef);

impl WriterPermit {
    /// Creates the permit of a new task from [`LiveTasks::create`](super::LiveTasks::create).
    pub(in crate::engine) fn for_new_task(live: LiveTaskRef) -> Self {
        Self(live)
    }

    /// Acquires the permit without waiting. `None` if another writer has it or the task is being
    /// canceled.
    pub(in crate::engine) fn try_acquire(live: &LiveTaskRef) -> Option<Self> {
        live.writer_permits().try_acquire().ok()?.forget();
        Some(Self(live.clone())).filter(|it| !it.lock().canceling)
    }

    /// Waits for the permit, in order of arrival. `None` if the task ends first or the engine
    /// stops.
    pub(in crate::engine) async fn acquire(
        live: &LiveTaskRef,
        shutdown: &Shutdown,
    ) -> Option<Self> {
        loop {
            tokio::select! {
                biased;
                () = shutdown.stopped() => return None,
                permit = live.writer_permits().acquire() => permit.ok()?.forget(),
            }
            let permit = Self(live.clone());
            if !permit.lock().canceling {
                return Some(permit);
            }
            drop(permit);
            // The canceling call gets the permit next. If it fails, the task continues.
            let terminal = live.wait_for(|state| {
                let is_terminal = state.task_state.is_terminal();
                (is_terminal || !state.canceling).then_some(is_terminal)
            });
            if terminal.await {
                return None;
            }
        }
    }
}

impl Deref for WriterPermit {
    type Target = LiveTaskRef;

    fn deref(&self) -> &LiveTaskRef {
        &self.0
    }
}

impl Drop for WriterPermit {
    fn drop(&mut self) {
        self.0.update(|state| state.turn = None);
        self.0.writer_permits().add_permits(1);
    }
}
