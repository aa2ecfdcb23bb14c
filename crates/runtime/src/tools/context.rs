//! Context of a tool call.

use latimer_protocol::ContextId;
use latimer_server::Turn;
use tokio_util::sync::CancellationToken;

use crate::peer::hops::HopPath;
use crate::peer::upstream_ids;
use crate::remote::RemoteAgent;

/// Context of a tool call: the turn it serves, if any, and its cancellation token.
///
/// The turn supplies the hop path, which limits loops between agents, and the caller, whose
/// upstream contexts are isolated from those of other callers.
#[derive(Clone, Debug, Default)]
pub struct ToolContext {
    turn: Option<Turn>,
    cancellation: CancellationToken,
}

impl ToolContext {
    /// Creates the context of calls that serve a turn. Canceling the turn cancels them.
    #[must_use]
    pub fn for_turn(turn: &Turn) -> Self {
        Self { turn: Some(turn.clone()), cancellation: turn.cancellation_token().clone() }
    }

    /// Replaces the cancellation token.
    #[must_use]
    pub fn with_cancellation(self, cancellation: CancellationToken) -> Self {
        Self { cancellation, ..self }
    }

    /// Returns the token that cancels the call.
    #[must_use]
    pub fn cancellation_token(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// Returns the hop path of the turn's message, or an empty one without a turn.
    pub(super) fn hop_path(&self) -> HopPath {
        match &self.turn {
            Some(turn) => HopPath::from_message(turn.message(), RemoteAgent::DEFAULT_MAX_HOPS),
            None => HopPath::new(RemoteAgent::DEFAULT_MAX_HOPS),
        }
    }

    /// Returns the upstream id of a context, which is isolated per caller if there is a turn.
    pub(super) fn upstream_context_id(&self, local_id: &ContextId) -> ContextId {
        let derived_id =
            self.turn.as_ref().and_then(|turn| upstream_ids::context_id_for(turn, local_id));
        derived_id.unwrap_or_else(|| local_id.clone())
    }
}
