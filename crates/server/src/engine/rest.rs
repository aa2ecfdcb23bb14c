//! Work that goes on, whether somebody waits for it or not.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::runtime::Handle;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Engine;

impl Engine {
    /// Runs what nobody waits for: at once as far as it goes, and then by itself.
    pub(super) fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.start(work).let_go();
    }

    /// Runs what a caller waits for, whenever the caller looks at it.
    pub(super) fn start(&self, work: impl Future<Output = ()> + Send + 'static) -> Rest {
        let work = Mutex::new(Box::pin(work) as Boxed);
        Rest(Some(Left { work, counted: Counted::new(self), tracked: None }))
    }
}

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The rest of some work. Its caller polls it as long as it waits, which spares a task of the
/// runtime and the way there and back. The work is not the caller's, though: when this is dropped,
/// the work goes on by itself.
pub(super) struct Rest(Option<Left>);

struct Left {
    /// Never locked, because nobody shares it; but it may stand beside what is shared.
    work: Mutex<Boxed>,
    counted: Counted,
    /// The engine does not come to its end without what was begun.
    tracked: Option<TaskTrackerToken>,
}

impl Rest {
    /// Goes on without a caller: at once as far as it goes, and then by itself.
    pub(super) fn let_go(mut self) {
        // Whoever polls it next is told when to.
        let _ = Pin::new(&mut self).poll(&mut Context::from_waker(Waker::noop()));
    }
}

impl Future for Rest {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(left) = &mut self.0 else { return Poll::Ready(()) };
        let work = left.work.get_mut().unwrap_or_else(PoisonError::into_inner);
        let polled = work.as_mut().poll(context);
        match polled {
            Poll::Ready(()) => self.0 = None,
            Poll::Pending if left.tracked.is_none() => {
                left.tracked = Some(left.counted.0.0.tracker.token());
            }
            Poll::Pending => {}
        }
        polled
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        let Some(Left { work, counted, tracked }) = self.0.take() else { return };
        // Without a runtime nothing goes on.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                work.into_inner().unwrap_or_else(PoisonError::into_inner).await;
                drop((counted, tracked));
            });
        }
    }
}

/// Counts a turn until it is over.
struct Counted(Engine);

impl Counted {
    fn new(engine: &Engine) -> Self {
        engine.0.turns.fetch_add(1, Ordering::Relaxed);
        Self(engine.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.turns.fetch_sub(1, Ordering::Relaxed);
    }
}
