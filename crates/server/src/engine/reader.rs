//! Streams of a task's events.
//!
//! A reader has a cursor. It reads recent events from the live task and older ones from the store.
//! It never blocks the writer or another reader.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use latimer_protocol::{
    Error, ErrorKind, Event, Finality, Revision, SharedEvent, StreamEvent, StreamResponse, Task,
    TaskState,
};
use latimer_store::TaskStore;
use serde_json::Value;

use super::live::{BufferedEvent, ReadResult, Subscription};
use super::send::{StartReceiver, shutting_down_error};
use super::{CURSOR_EXTENSION, Shutdown, last_messages, store_error};

/// Condition that ends a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// The task is settled. Applies to the stream of a message.
    Settled,
    /// The task is terminal. Applies to the stream of a subscriber.
    Terminal,
}

/// Stream of the events after a revision. Dropping it ends the subscription; the task is not
/// affected.
pub(super) struct Reader {
    live: Subscription,
    store: Arc<dyn TaskStore>,
    shutdown: Shutdown,
    cursor: Revision,
    /// Events up to this revision do not end the stream: they precede the message that the stream
    /// belongs to.
    ignore_end_through: Revision,
    stream_end: StreamEnd,
    /// The task at the cursor, for streams that start with a snapshot. The first event is folded
    /// into it.
    initial_task: Option<Box<Task>>,
    /// Maximum number of messages in the history of a task (§3.2.4); `None` for all.
    history_length: Option<u32>,
    /// Whether each event has its revision in its metadata, for bindings without event ids.
    revision_in_metadata: bool,
    ready: VecDeque<StreamEvent>,
    pending: Option<PendingEvents>,
    /// Start of the turn, if the message waits for it. The stream has no events before it.
    turn_start: Option<StartReceiver>,
    ended: bool,
    _stream_guard: super::StreamGuard,
}

type PendingEvents =
    Pin<Box<dyn Future<Output = Result<Vec<(Revision, BufferedEvent)>, Error>> + Send>>;

/// Initial state of a reader.
pub(super) struct ReaderStart {
    pub(super) cursor: Revision,
    pub(super) ignore_end_through: Revision,
    pub(super) stream_end: StreamEnd,
    pub(super) initial_task: Option<Box<Task>>,
    pub(super) history_length: Option<u32>,
    pub(super) revision_in_metadata: bool,
    pub(super) turn_start: Option<StartReceiver>,
}

impl Reader {
    pub(super) fn new(
        live: Subscription,
        store: Arc<dyn TaskStore>,
        shutdown: Shutdown,
        stream_guard: super::StreamGuard,
        start: ReaderStart,
    ) -> Self {
        let ReaderStart {
            cursor,
            ignore_end_through,
            stream_end,
            initial_task,
            history_length,
            revision_in_metadata,
            turn_start,
        } = start;
        Self {
            live,
            store,
            shutdown,
            cursor,
            ignore_end_through,
            stream_end,
            initial_task,
            history_length,
            revision_in_metadata,
            ready: VecDeque::new(),
            pending: None,
            turn_start,
            ended: false,
            _stream_guard: stream_guard,
        }
    }

    /// Adds the task at the cursor as the first event.
    pub(super) fn push_snapshot(&mut self, task: Task) {
        let finality = self.finality(task.status.state, self.cursor);
        self.push_event(self.cursor, StreamResponse::Task(task).into(), finality);
    }

    /// Waits for the start of the turn, and moves the cursor to it.
    fn poll_turn_start(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let Some(turn_start) = &mut self.turn_start else { return Poll::Ready(Ok(())) };
        let start = ready!(Pin::new(turn_start).poll(context));
        self.turn_start = None;
        let (revision, task) = start.unwrap_or_else(|_| Err(shutting_down_error()))?;
        (self.cursor, self.ignore_end_through) = (revision, revision);
        self.initial_task = Some(Box::new(Arc::unwrap_or_clone(task)));
        Poll::Ready(Ok(()))
    }

    /// Reads the buffered events after the cursor. If there are none, starts to fetch older ones
    /// from the store or to wait for new ones.
    fn read_buffered(&mut self) {
        match self.live.read_after(self.cursor) {
            ReadResult::Events(events) => self.enqueue(events),
            ReadResult::NotBuffered => self.pending = Some(self.fetch()),
            ReadResult::Pending if let Some(error) = self.rejection() => {
                self.pending = Some(Box::pin(std::future::ready(Err(error))));
            }
            ReadResult::Pending if self.is_at_end() => self.ended = true,
            ReadResult::Pending => self.pending = Some(self.wait()),
            ReadResult::Ended => self.ended = true,
            ReadResult::DirectReply(message) => {
                let event = StreamResponse::Message(message).into();
                self.ready.push_back(StreamEvent {
                    revision: None,
                    event,
                    finality: Finality::Last,
                });
                self.ended = true;
            }
            ReadResult::Failed(error) => {
                self.pending = Some(Box::pin(std::future::ready(Err(error))));
            }
        }
    }

    fn enqueue(&mut self, events: Vec<(Revision, BufferedEvent)>) {
        for (revision, buffered) in events {
            self.cursor = revision;
            let event = match (buffered, self.initial_task.take()) {
                (BufferedEvent::Streamed(event), None) => event,
                (BufferedEvent::Streamed(event), Some(mut task)) => {
                    // The fold accepts every event of a log.
                    let _ =
                        Event::from_stream_response(event.event().clone()).map(|it| task.apply(it));
                    StreamResponse::Task(*task).into()
                }
                (BufferedEvent::HistoryOnly(message), Some(mut task)) => {
                    let _ = task.apply(Event::Message(message));
                    self.initial_task = Some(task);
                    continue;
                }
                (BufferedEvent::HistoryOnly(_), None) => continue,
            };
            let state = event.event().status().map(|it| it.state);
            let finality = state.map_or(Finality::More, |state| self.finality(state, revision));
            self.push_event(revision, event, finality);
            if self.ended {
                return;
            }
        }
    }

    fn push_event(&mut self, revision: Revision, event: SharedEvent, finality: Finality) {
        self.ended = finality == Finality::Last;
        let event = trim_task_history(event, self.history_length);
        let event =
            if self.revision_in_metadata { add_revision_metadata(&event, revision) } else { event };
        self.ready.push_back(StreamEvent { revision: Some(revision), event, finality });
    }

    /// Returns the error of the agent that rejected the message of this stream.
    fn rejection(&self) -> Option<Error> {
        let state = self.live.lock();
        let rejection = state.rejection_after(self.ignore_end_through);
        rejection.filter(|_| self.stream_end == StreamEnd::Settled).cloned()
    }

    /// Returns whether the stream has delivered every event that belongs to its message.
    fn is_at_end(&self) -> bool {
        let state = self.live.lock();
        let caught_up = self.cursor >= state.revision && state.revision > self.ignore_end_through;
        self.stream_end == StreamEnd::Settled && caught_up && state.is_idle()
    }

    /// Returns whether the stream ends after an event with this state.
    fn finality(&self, state: TaskState, revision: Revision) -> Finality {
        if revision <= self.ignore_end_through && !state.is_terminal() {
            return Finality::More;
        }
        let is_last = match (state, self.stream_end) {
            (state, _) if state.is_terminal() => true,
            (_, StreamEnd::Terminal) => false,
            (TaskState::InputRequired, StreamEnd::Settled) => true,
            (TaskState::AuthRequired, StreamEnd::Settled) => {
                let state = self.live.lock();
                state.turn.is_none() && state.revision == revision
            }
            (_, StreamEnd::Settled) => false,
        };
        if is_last { Finality::Last } else { Finality::More }
    }

    fn fetch(&self) -> PendingEvents {
        let (store, key, cursor) = (self.store.clone(), self.live.key().clone(), self.cursor);
        Box::pin(async move {
            let events = store.events(&key, cursor, FETCH_BATCH).await.map_err(store_error)?;
            if events.is_empty() {
                // The task was removed after the stream started.
                return Err(Error::task_not_found(&key.id));
            }
            Ok(events.into_iter().map(|it| (it.revision, it.event.into())).collect())
        })
    }

    /// Waits for a change of the live task. Resolves to no events; the caller then reads the buffer
    /// again.
    fn wait(&self) -> PendingEvents {
        let (live, shutdown, cursor) = ((*self.live).clone(), self.shutdown.clone(), self.cursor);
        let (ignore_end_through, ends_when_settled) =
            (self.ignore_end_through, self.stream_end == StreamEnd::Settled);
        Box::pin(async move {
            let changed = live.wait_for(|state| {
                let rejected =
                    ends_when_settled && state.rejection_after(ignore_end_through).is_some();
                let finished = state.direct_reply.is_some() || state.failure.is_some() || rejected;
                let idle =
                    ends_when_settled && state.revision > ignore_end_through && state.is_idle();
                (state.revision > cursor || finished || idle).then_some(())
            });
            tokio::select! {
                () = changed => Ok(Vec::new()),
                () = shutdown.stream_should_end(&live) => Err(stream_shutdown_error(cursor)),
            }
        })
    }
}

/// Maximum number of events per read of the store.
const FETCH_BATCH: usize = 256;

impl Stream for Reader {
    type Item = Result<StreamEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Err(error) = ready!(self.poll_turn_start(context)) {
            self.ended = true;
            return Poll::Ready(Some(Err(error)));
        }
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(next)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            let Some(pending) = self.pending.as_mut() else {
                self.read_buffered();
                continue;
            };
            let result = ready!(pending.as_mut().poll(context));
            self.pending = None;
            match result {
                Ok(events) => self.enqueue(events),
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

/// Limits the history of the task in an event. Copies the event only if its task has more messages.
fn trim_task_history(event: SharedEvent, length: Option<u32>) -> SharedEvent {
    let StreamResponse::Task(task) = event.event() else { return event };
    let history = last_messages(&task.history, length);
    if history.len() == task.history.len() {
        return event;
    }
    let history = history.to_vec();
    StreamResponse::Task(Task { history, ..task.clone() }).into()
}

/// Copies an event and adds its revision to its metadata.
fn add_revision_metadata(event: &SharedEvent, revision: Revision) -> SharedEvent {
    let mut event = event.event().clone();
    let metadata = match &mut event {
        StreamResponse::Task(it) => &mut it.metadata,
        StreamResponse::Message(it) => &mut it.metadata,
        StreamResponse::StatusUpdate(it) => &mut it.metadata,
        StreamResponse::ArtifactUpdate(it) => &mut it.metadata,
    };
    metadata.insert(CURSOR_EXTENSION.to_owned(), Value::from(revision.get()));
    event.into()
}

fn stream_shutdown_error(cursor: Revision) -> Error {
    let message = "the server is shutting down; subscribe again to continue";
    Error::new(ErrorKind::Unavailable, message).with_metadata("lastEventId", cursor.to_string())
}
