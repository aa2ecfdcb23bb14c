//! When a stream has ended, and when it was cut off.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use latimer_protocol::{Finality, Phase, StreamEvent, StreamResponse};
use tokio::time::timeout;

use super::Events;
use crate::error::Error;

/// How long a stream may go on behind its end, for those that tell the finished task once more; and how
/// long its beginning is waited for.
const LINGER: Duration = Duration::from_secs(1);

/// How far a stream has told its story.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// Something is still to come.
    Part,
    /// The agent asks for something: the stream may end here, or go on.
    Question,
    /// The task is over, or the answer was given.
    All,
}

impl Told {
    fn by(event: &StreamResponse) -> Option<Self> {
        if matches!(event, StreamResponse::Message(_)) {
            return Some(Self::All);
        }
        Some(match event.status()?.state.phase() {
            Phase::Terminal => Self::All,
            Phase::Interrupted => Self::Question,
            Phase::Active => Self::Part,
        })
    }
}

/// What a stream goes on with behind an event, as far as the event tells.
pub(super) fn then(event: &StreamResponse) -> Finality {
    match Told::by(event) {
        Some(Told::All) => Finality::Last,
        Some(Told::Question | Told::Part) | None => Finality::More,
    }
}

/// Ends a stream where its story ends, and makes an error of an end before that.
///
/// Whatever comes in between the two ends of a cut connection may close it in good order: that a
/// stream has ended says nothing, and what it told says everything.
pub(super) fn until_the_end(events: Events, origin: String) -> Events {
    let state = (events, Told::Part, origin);
    Box::pin(stream::unfold(Some(state), |state| async {
        let (mut events, told, origin) = state?;
        let next = match told {
            Told::All => timeout(LINGER, events.next()).await.unwrap_or_default(),
            Told::Part | Told::Question => events.next().await,
        };
        match (next, told) {
            // What goes wrong behind the end does not matter any more.
            (None | Some(Err(_)), Told::All) | (None, Told::Question) => None,
            (None, Told::Part) => Some((Err(Error::Cut { origin }), None)),
            (Some(Err(error)), Told::Part | Told::Question) => Some((Err(error), None)),
            (Some(Ok(streamed)), _) => {
                let told = Told::by(streamed.event.event()).unwrap_or(told);
                Some((Ok::<StreamEvent, Error>(streamed), Some((events, told, origin))))
            }
        }
    }))
}

/// A stream that has begun: one whose first event has come, or does not come soon.
///
/// Some servers say in the first event what others say in place of a stream. Either is an answer to
/// the call. Others have nothing to say until something happens.
pub(super) async fn begun(mut events: Events) -> Result<Events, Error> {
    match timeout(LINGER, events.next()).await {
        Err(_) | Ok(None) => Ok(events),
        Ok(Some(first)) => {
            let first = first?;
            Ok(Box::pin(stream::iter([Ok(first)]).chain(events)))
        }
    }
}
