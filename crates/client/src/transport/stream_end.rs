//! When a stream has ended, and when it was cut off.

use std::time::Duration;

use futures_core::Stream;
use futures_util::{StreamExt, stream};
use latimer_protocol::{EventStream, Finality, Phase, StreamEvent, StreamResponse};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::STREAM_CLOSE_GRACE;
use crate::error::Error;

/// Time that a stream has to send its first event before it is used without one.
const FIRST_EVENT_WAIT: Duration = Duration::from_secs(1);

/// How far a stream has told its story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamProgress {
    /// Something is still to come.
    Open,
    /// The agent asks for something: the stream may end here, or go on.
    Interrupted,
    /// The task is over, or the answer was given.
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

/// What a stream goes on with behind an event, as far as the event tells.
pub(super) fn finality(event: &StreamResponse) -> Finality {
    match StreamProgress::from_event(event) {
        Some(StreamProgress::Finished) => Finality::Last,
        Some(StreamProgress::Interrupted | StreamProgress::Open) | None => Finality::More,
    }
}

/// Ends a stream where its story ends, and makes an error of an end before that.
///
/// Whatever comes in between the two ends of a cut connection may close it in good order: that a
/// stream has ended says nothing, and what it told says everything.
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
            // What goes wrong behind the end does not matter any more.
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

/// A stream that has begun: one whose first event has come, or does not come soon.
///
/// Some servers say in the first event what others say in place of a stream. Either is an answer to
/// the call. Others have nothing to say until something happens.
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
