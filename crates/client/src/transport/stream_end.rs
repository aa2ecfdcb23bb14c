//! Distinguishes finished from interrupted streams.

use std::time::Duration;

use futures_core::Stream;
use futures_util::{StreamExt, stream};
use latimer_protocol::{EventStream, Finality, Phase, StreamEvent, StreamResponse};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::STREAM_CLOSE_GRACE;
use crate::error::Error;

/// Time that a stream has for its first event before it is returned without one.
const FIRST_EVENT_WAIT: Duration = Duration::from_secs(1);

/// Progress of the task of a stream, according to its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamProgress {
    /// The task is running.
    Open,
    /// The task requires input: the stream may end or continue.
    Interrupted,
    /// The task is terminal, or the direct reply has arrived.
    Finished,
}

impl StreamProgress {
    fn from_event(event: &StreamResponse) -> Option<Self> {
        if matches!(event, StreamResponse::Message(_)) {
            return Some(Self::Finished);
        }
        Some(match event.status()?.state.phase() {
            Phase::Terminal => Self::Finished,
            Phase::Interrupted => Self::Interrupted,
            Phase::Active => Self::Open,
        })
    }
}

/// Returns the finality of an event, as far as the event shows it.
pub(super) fn finality(event: &StreamResponse) -> Finality {
    match StreamProgress::from_event(event) {
        Some(StreamProgress::Finished) => Finality::Last,
        Some(StreamProgress::Interrupted | StreamProgress::Open) | None => Finality::More,
    }
}

/// Ends a stream after its final event, and adds an error if it ends earlier.
///
/// A proxy may close an interrupted connection cleanly, so only the events show whether a stream is
/// complete.
pub(super) fn require_settled_end(
    events: EventStream<Error>,
    origin: String,
) -> EventStream<Error> {
    let state = (events, StreamProgress::Open, origin);
    Box::pin(stream::unfold(Some(state), |state| async {
        let (mut events, progress, origin) = state?;
        let next = match progress {
            StreamProgress::Finished => {
                timeout(STREAM_CLOSE_GRACE, events.next()).await.unwrap_or_default()
            }
            StreamProgress::Open | StreamProgress::Interrupted => events.next().await,
        };
        match (next, progress) {
            // Errors after the final event have no effect.
            (None | Some(Err(_)), StreamProgress::Finished)
            | (None, StreamProgress::Interrupted) => None,
            (None, StreamProgress::Open) => Some((Err(Error::StreamInterrupted { origin }), None)),
            (Some(Err(error)), StreamProgress::Open | StreamProgress::Interrupted) => {
                Some((Err(error), None))
            }
            (Some(Ok(streamed)), _) => {
                let progress =
                    StreamProgress::from_event(streamed.event.event()).unwrap_or(progress);
                Some((Ok::<StreamEvent, Error>(streamed), Some((events, progress, origin))))
            }
        }
    }))
}

/// Adds a limit to the time between two items of a stream. The error of an item that takes longer is
/// the last item.
pub(super) fn with_idle_timeout<S: Stream + Unpin>(
    limit: Duration,
    items: S,
) -> impl Stream<Item = Result<S::Item, Elapsed>> {
    stream::unfold(Some(items), move |items| async move {
        let mut items = items?;
        match timeout(limit, items.next()).await {
            Ok(item) => Some((Ok(item?), Some(items))),
            Err(elapsed) => Some((Err(elapsed), None)),
        }
    })
}

/// Waits for the first event of a stream, at most [`FIRST_EVENT_WAIT`].
///
/// Some servers report in the first event an error that others send instead of a stream. Both
/// become the error of the call. Other servers send nothing until the task changes.
pub(super) async fn wait_first_event(
    mut events: EventStream<Error>,
) -> Result<EventStream<Error>, Error> {
    match timeout(FIRST_EVENT_WAIT, events.next()).await {
        Err(_) | Ok(None) => Ok(events),
        Ok(Some(first)) => {
            let first = first?;
            Ok(Box::pin(stream::iter([Ok(first)]).chain(events)))
        }
    }
}
