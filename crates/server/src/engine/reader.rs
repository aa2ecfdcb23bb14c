//! Readers of a task's log.
//!
//! A reader has a cursor and nothing else: what is recent it finds with the live task, what is older
//! in the store. It never makes the writer or another reader wait.

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

use super::live::{Next, Recent, Watch};
use super::{CURSOR_EXTENSION, Halt, unavailable};

/// When a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// When there is nothing to expect without the caller: the stream of a message.
    Settled,
    /// When the task is over: the stream of a subscriber.
    Over,
}

/// A stream of the events behind a revision.
pub(super) struct Reader {
    live: Watch,
    store: Arc<dyn TaskStore>,
    halt: Halt,
    cursor: Revision,
    /// What came up to here does not end the stream: it was before what the stream is about.
    since: Revision,
    until: Until,
    /// The task as it was at the cursor, when the stream must begin with one.
    opening: Option<Box<Task>>,
    /// Whether each event carries its revision in its metadata.
    numbered: bool,
    ready: VecDeque<StreamEvent>,
    pending: Option<Pending>,
    ended: bool,
    /// Counts as an open stream until it is dropped.
    _open: super::Open,
}

type Pending = Pin<Box<dyn Future<Output = Result<Vec<(Revision, Recent)>, Error>> + Send>>;

/// What a reader begins with.
pub(super) struct From {
    pub(super) cursor: Revision,
    pub(super) since: Revision,
    pub(super) until: Until,
    pub(super) opening: Option<Box<Task>>,
    pub(super) numbered: bool,
}

impl Reader {
    pub(super) fn new(
        live: Watch,
        store: Arc<dyn TaskStore>,
        halt: Halt,
        open: super::Open,
        from: From,
    ) -> Self {
        let From { cursor, since, until, opening, numbered } = from;
        Self {
            live,
            store,
            halt,
            cursor,
            since,
            until,
            opening,
            numbered,
            ready: VecDeque::new(),
            pending: None,
            ended: false,
            _open: open,
        }
    }

    /// Begins with the task as it stands at the cursor.
    pub(super) fn show(&mut self, task: Task) {
        let then = self.then(task.status.state, self.cursor);
        self.give(self.cursor, StreamResponse::Task(task).into(), then);
    }

    /// Looks for events behind the cursor, as far as they are at hand.
    fn look(&mut self) {
        match self.live.next(self.cursor) {
            Next::Events(events) => self.take(events),
            Next::Older => self.pending = Some(self.fetch()),
            Next::Wait if let Some(error) = self.refused() => {
                self.pending = Some(Box::pin(std::future::ready(Err(error))));
            }
            Next::Wait if self.is_at_the_end() => self.ended = true,
            Next::Wait => self.pending = Some(self.wait()),
            Next::End => self.ended = true,
            Next::Answer(message) => {
                let event = StreamResponse::Message(message).into();
                self.ready.push_back(StreamEvent {
                    revision: None,
                    event,
                    finality: Finality::Last,
                });
                self.ended = true;
            }
            Next::Failed(error) => {
                self.pending = Some(Box::pin(std::future::ready(Err(error))));
            }
        }
    }

    fn take(&mut self, events: Vec<(Revision, Recent)>) {
        for (revision, recent) in events {
            self.cursor = revision;
            let event = match (recent, self.opening.take()) {
                (Recent::Shown(event), None) => event,
                (Recent::Shown(event), Some(mut task)) => {
                    // Refused by the fold is what the log cannot have.
                    let _ =
                        Event::from_stream_response(event.event().clone()).map(|it| task.apply(it));
                    StreamResponse::Task(*task).into()
                }
                (Recent::Said(message), Some(mut task)) => {
                    let _ = task.apply(Event::Message(message));
                    self.opening = Some(task);
                    continue;
                }
                (Recent::Said(_), None) => continue,
            };
            let state = event.event().status().map(|it| it.state);
            let then = state.map_or(Finality::More, |state| self.then(state, revision));
            self.give(revision, event, then);
            if self.ended {
                return;
            }
        }
    }

    fn give(&mut self, revision: Revision, event: SharedEvent, then: Finality) {
        self.ended = then == Finality::Last;
        let event = if self.numbered { number(&event, revision) } else { event };
        self.ready.push_back(StreamEvent { revision: Some(revision), event, finality: then });
    }

    /// Why the message that the stream is about was not taken, if it was not.
    fn refused(&self) -> Option<Error> {
        self.live.lock().refused.clone().filter(|_| self.until == Until::Settled)
    }

    /// Whether everything that the stream is about was seen.
    fn is_at_the_end(&self) -> bool {
        let state = self.live.lock();
        let seen = self.cursor >= state.revision && state.revision > self.since;
        self.until == Until::Settled && seen && state.is_quiet()
    }

    /// Whether a stream goes on behind an event with this state.
    fn then(&self, state: TaskState, revision: Revision) -> Finality {
        if revision <= self.since && !state.is_terminal() {
            return Finality::More;
        }
        let closes = match (state, self.until) {
            (state, _) if state.is_terminal() => true,
            (_, Until::Over) => false,
            (TaskState::InputRequired, Until::Settled) => true,
            (TaskState::AuthRequired, Until::Settled) => {
                let state = self.live.lock();
                state.turn.is_none() && state.revision == revision
            }
            (_, Until::Settled) => false,
        };
        if closes { Finality::Last } else { Finality::More }
    }

    fn fetch(&self) -> Pending {
        let (store, key, cursor) = (self.store.clone(), self.live.key().clone(), self.cursor);
        Box::pin(async move {
            let events = store.events(&key, cursor, FETCH).await.map_err(unavailable)?;
            if events.is_empty() {
                // It was there, and was removed meanwhile.
                return Err(Error::task_not_found(&key.id));
            }
            Ok(events.into_iter().map(|it| (it.revision, it.event.into())).collect())
        })
    }

    /// Waits for something to happen, and finds nothing itself.
    fn wait(&self) -> Pending {
        let (live, halt, cursor) = ((*self.live).clone(), self.halt.clone(), self.cursor);
        let (since, settles) = (self.since, self.until == Until::Settled);
        Box::pin(async move {
            let news = live.until(|state| {
                let refused = settles && state.refused.is_some();
                let over = state.answer.is_some() || state.failure.is_some() || refused;
                let quiet = settles && state.revision > since && state.is_quiet();
                (state.revision > cursor || over || quiet).then_some(())
            });
            tokio::select! {
                () = news => Ok(Vec::new()),
                () = halt.streams(&live) => Err(halted(cursor)),
            }
        })
    }
}

/// How many events are read from the store at once.
const FETCH: usize = 256;

impl Stream for Reader {
    type Item = Result<StreamEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(next)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            let Some(pending) = self.pending.as_mut() else {
                self.look();
                continue;
            };
            let found = ready!(pending.as_mut().poll(context));
            self.pending = None;
            match found {
                Ok(events) => self.take(events),
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

/// The event with its revision in its metadata, for bindings without event ids.
fn number(event: &SharedEvent, revision: Revision) -> SharedEvent {
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

fn halted(cursor: Revision) -> Error {
    let message = "the server is shutting down; subscribe again to go on";
    Error::new(ErrorKind::Unavailable, message).with_metadata("lastEventId", cursor.to_string())
}
