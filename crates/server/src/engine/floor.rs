//! Who may change a task.

use std::ops::Deref;

use super::halt::Halt;
use super::live::Guard;

/// The right to change a task: there is one at a time.
#[derive(Debug)]
pub(super) struct Floor(Guard);

impl Floor {
    /// The floor of a task that nobody else knows of: whoever begins it has it.
    pub(super) fn of_new(live: Guard) -> Self {
        Self(live)
    }

    /// Takes the floor, if nobody has it and the task is not being canceled.
    pub(super) fn take(live: &Guard) -> Option<Self> {
        live.turns().try_acquire().ok()?.forget();
        Some(Self(live.clone())).filter(|it| !it.lock().canceling)
    }

    /// Waits for the floor. None when the task comes to an end first, or the engine stops.
    pub(super) async fn wait(live: &Guard, halt: &Halt) -> Option<Self> {
        loop {
            tokio::select! {
                biased;
                () = halt.stopped() => return None,
                turn = live.turns().acquire() => turn.ok()?.forget(),
            }
            let floor = Self(live.clone());
            if !floor.lock().canceling {
                return Some(floor);
            }
            drop(floor);
            // Whoever cancels it has the floor next, and perhaps fails.
            let over = live.until(|state| {
                let over = state.status.is_terminal();
                (over || !state.canceling).then_some(over)
            });
            if over.await {
                return None;
            }
        }
    }
}

impl Deref for Floor {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.0
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        self.0.change(|state| state.turn = None);
        self.0.turns().add_permits(1);
    }
}
