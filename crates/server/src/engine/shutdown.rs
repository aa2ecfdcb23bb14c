//! Coming to a stop.

use tokio_util::sync::CancellationToken;

use super::live::LiveTask;

/// Whether the engine is coming to a stop. Cheap to clone; clones are one.
#[derive(Clone, Debug, Default)]
pub(super) struct Shutdown {
    /// No more work is taken.
    draining: CancellationToken,
    /// What still goes on is left as it is.
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

    /// Waits until nothing more is to be expected of a task: the engine stops, or it takes no more
    /// work and nobody is at this task.
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
