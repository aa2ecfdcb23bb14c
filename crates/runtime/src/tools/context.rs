//! Where a call of a tool comes from, and when to stop.

use latimer_protocol::ContextId;
use latimer_server::Turn;
use tokio_util::sync::CancellationToken;

use crate::peer::hops::HopPath;
use crate::peer::upstream_ids;
use crate::remote::RemoteAgent;

/// What a tool is called for: the turn of an agent, or nothing that it knows of.
///
/// By its turn, a call is on the way of a message, so that messages in a circle come to an end, and
/// has a caller, whose conversations are apart from those of others.
#[derive(Clone, Debug, Default)]
pub struct ToolContext {
    turn: Option<Turn>,
    cancellation: CancellationToken,
}

impl ToolContext {
    /// A turn. What is called for it stops when it is canceled.
    #[must_use]
    pub fn for_turn(turn: &Turn) -> Self {
        Self { turn: Some(turn.clone()), cancellation: turn.cancellation_token().clone() }
    }

    /// The same occasion, stopped by this token and no other.
    #[must_use]
    pub fn with_cancellation(self, cancellation: CancellationToken) -> Self {
        Self { cancellation, ..self }
    }

    /// Tells when to stop.
    #[must_use]
    pub fn cancellation_token(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// Through whom it came so far.
    pub(super) fn hop_path(&self) -> HopPath {
        match &self.turn {
            Some(turn) => HopPath::from_message(turn.message(), RemoteAgent::DEFAULT_MAX_HOPS),
            None => HopPath::new(RemoteAgent::DEFAULT_MAX_HOPS),
        }
    }

    /// The name that a conversation has for others: callers who call theirs alike do not meet.
    pub(super) fn upstream_context_id(&self, local_id: &ContextId) -> ContextId {
        let derived_id =
            self.turn.as_ref().and_then(|turn| upstream_ids::context_id_for(turn, local_id));
        derived_id.unwrap_or_else(|| local_id.clone())
    }
}
