//! Future that is polled only after its waker fired.
//!
//! A connection is polled for every frame, but its close signals fire once or never. Polling them
//! each time would cost locks.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

/// Future with its own waker. [`WakeGated::poll`] polls it only if that waker fired since the last
/// poll.
pub(super) struct WakeGated<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    gate: Arc<GateWaker>,
    waker: Waker,
}

/// Wakes the task that polls the future, and records that it did.
struct GateWaker {
    woken: AtomicBool,
    /// Waker of the task that polled last.
    task: Mutex<Option<Waker>>,
}

impl<T> WakeGated<T> {
    pub(super) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        let gate = Arc::new(GateWaker { woken: AtomicBool::new(true), task: Mutex::default() });
        Self { future: Box::pin(future), waker: gate.clone().into(), gate }
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<T> {
        if !self.gate.woken.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        // Cleared before the poll, so that a wake during the poll causes another one.
        self.gate.lock_task().replace(context.waker().clone());
        self.gate.woken.store(false, Ordering::Release);
        self.future.as_mut().poll(&mut Context::from_waker(&self.waker))
    }
}

impl GateWaker {
    fn lock_task(&self) -> parking_lot::MutexGuard<'_, Option<Waker>> {
        self.task.lock()
    }
}

impl Wake for GateWaker {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        if let Some(task) = &*self.lock_task() {
            task.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::oneshot;
    use tokio::task::JoinSet;

    use super::*;

    #[tokio::test]
    async fn future_is_polled_only_after_its_waker_fired() {
        let polls = Arc::new(AtomicUsize::new(0));
        let (sender, mut receiver) = oneshot::channel::<()>();
        let counter = polls.clone();
        let mut gated = WakeGated::new(poll_fn(move |context| {
            counter.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut receiver).poll(context)
        }));
        for _ in 0..5 {
            let pending = poll_fn(|context| Poll::Ready(gated.poll(context).is_pending())).await;
            assert!(pending);
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        let mut waker = JoinSet::new();
        waker.spawn(async move { sender.send(()) });
        poll_fn(|context| gated.poll(context)).await.unwrap();
        assert_eq!(polls.load(Ordering::Relaxed), 2);
    }
}
