//! Where a call of a tool comes from, and when to stop.

use latimer_protocol::ContextId;
use latimer_server::Turn;
use tokio_util::sync::CancellationToken;

use crate::remote::{HOPS, Path, context_of};

/// What a tool is called for: the turn of an agent, or nothing that it knows of.
///
/// By its turn, a call is on the way of a message, so that messages in a circle come to an end, and
/// has a caller, whose conversations are apart from those of others.
#[derive(Clone, Debug, Default)]
pub struct Occasion {
    turn: Option<Turn>,
    cancel: CancellationToken,
}

impl Occasion {
    /// A turn. What is called for it stops when it is canceled.
    #[must_use]
    pub fn of(turn: &Turn) -> Self {
        Self { turn: Some(turn.clone()), cancel: turn.cancellation_token().clone() }
    }

    /// The same occasion, stopped by this token and no other.
    #[must_use]
    pub fn cancelled_by(self, cancel: CancellationToken) -> Self {
        Self { cancel, ..self }
    }

    /// Tells when to stop.
    #[must_use]
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Through whom it came so far.
    pub(super) fn path(&self) -> Path {
        match &self.turn {
            Some(turn) => Path::of(turn.message(), HOPS),
            None => Path::new(HOPS),
        }
    }

    /// The name that a conversation has for others: callers who call theirs alike do not meet.
    pub(super) fn context(&self, ours: &ContextId) -> ContextId {
        let theirs = self.turn.as_ref().and_then(|turn| context_of(turn, ours));
        theirs.unwrap_or_else(|| ours.clone())
    }
}
