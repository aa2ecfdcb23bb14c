//! Turns that continue when their caller stops polling them.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::engine::Engine;

impl Engine {
    /// Runs a future that no caller waits for: polls it once, then spawns the remainder.
    pub(in crate::engine) fn spawn_detached(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) {
        self.start_attached(future).detach();
    }

    /// Wraps a future so that its caller can poll it and dropping it does not stop it.
    pub(in crate::engine) fn start_attached(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> DetachOnDrop {
        let future = Mutex::new(Box::pin(future) as BoxedFuture);
        DetachOnDrop(Some(Inner {
            future,
            active_turn: ActiveTurnCount::new(self),
            tracker_token: None,
        }))
    }
}

type BoxedFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Future of a running turn. The waiting request polls it directly, which saves a spawned task.
/// Dropping it spawns the remainder, so a turn never depends on its caller; outside a Tokio runtime
/// the remainder is lost.
pub(in crate::engine) struct DetachOnDrop(Option<Inner>);

struct Inner {
    /// Never locked, because it is not shared. The mutex makes the type `Sync`.
    future: Mutex<BoxedFuture>,
    active_turn: ActiveTurnCount,
    /// Makes [`Engine::drain`] wait for the turn.
    tracker_token: Option<TaskTrackerToken>,
}

impl DetachOnDrop {
    /// Polls the turn once and spawns the remainder.
    pub(in crate::engine) fn detach(mut self) {
        // The spawned task polls it again and registers its own waker.
        let _ = Pin::new(&mut self).poll(&mut Context::from_waker(Waker::noop()));
    }
}

impl Future for DetachOnDrop {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(inner) = &mut self.0 else { return Poll::Ready(()) };
        let future = inner.future.get_mut();
        let polled = future.as_mut().poll(context);
        match polled {
            Poll::Ready(()) => self.0 = None,
            Poll::Pending if inner.tracker_token.is_none() => {
                inner.tracker_token = Some(inner.active_turn.0.0.tracker.token());
            }
            Poll::Pending => {}
        }
        polled
    }
}

impl Drop for DetachOnDrop {
    fn drop(&mut self) {
        let Some(Inner { future, active_turn, tracker_token }) = self.0.take() else { return };
        // Without a runtime the remainder is lost.
        if let Ok(runtime) = Handle::try_current() {
            let tracker = active_turn.0.0.tracker.clone();
            tracker.spawn_on(
                async move {
                    future.into_inner().await;
                    drop((active_turn, tracker_token));
                },
                &runtime,
            );
        }
    }
}

/// Counts a turn until it is dropped.
struct ActiveTurnCount(Engine);

impl ActiveTurnCount {
    fn new(engine: &Engine) -> Self {
        engine.0.turns.fetch_add(1, Ordering::Relaxed);
        Self(engine.clone())
    }
}

impl Drop for ActiveTurnCount {
    fn drop(&mut self) {
        self.0.0.turns.fetch_sub(1, Ordering::Relaxed);
    }
}
