//! Who may change a task.

use std::ops::Deref;

use super::LiveTaskRef;
use crate::engine::shutdown::Shutdown;

/// The right to change a task: there is one at a time.
#[derive(Debug)]
pub(in crate::engine) struct WriterPermit(LiveTaskRef);

impl WriterPermit {
    /// The floor of a task that nobody else knows of: whoever begins it has it.
    pub(in crate::engine) fn for_new_task(live: LiveTaskRef) -> Self {
        Self(live)
    }

    /// Takes the floor, if nobody has it and the task is not being canceled.
    pub(in crate::engine) fn try_acquire(live: &LiveTaskRef) -> Option<Self> {
        live.writer_permits().try_acquire().ok()?.forget();
        Some(Self(live.clone())).filter(|it| !it.lock().canceling)
    }

    /// Waits for the floor. None when the task comes to an end first, or the engine stops.
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
            // Whoever cancels it has the floor next, and perhaps fails.
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
