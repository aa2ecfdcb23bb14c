//! Drain and stop signals of the engine.

use tokio_util::sync::CancellationToken;

use super::live::LiveTask;

/// Shutdown state of an engine. Cheap to clone; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Shutdown {
    /// New messages are rejected.
    draining: CancellationToken,
    /// Running turns stop and leave their tasks to the next process.
    stopped: CancellationToken,
}

impl Shutdown {
    pub(super) fn drain(&self) {
        self.draining.cancel();
    }

    pub(super) fn stop(&self) {
        self.stopped.cancel();
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.is_cancelled()
    }

    pub(super) async fn draining(&self) {
        self.draining.cancelled().await;
    }

    pub(super) async fn stopped(&self) {
        self.stopped.cancelled().await;
    }

    /// Waits until a stream of a task has to end: the engine has stopped, or it drains and no turn
    /// of the task is running.
    pub(super) async fn stream_should_end(&self, live: &LiveTask) {
        let idle = async {
            self.draining().await;
            live.wait_for(|state| state.turn.is_none().then_some(())).await;
        };
        tokio::select! {
            () = idle => {}
            () = self.stopped() => {}
        }
    }
}
