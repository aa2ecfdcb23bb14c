//! Shared, replaceable card of a published agent.

use std::sync::Arc;
use std::time::SystemTime;

use latimer_protocol::card::AgentCard;
use parking_lot::RwLock;

/// Shared handle to the card of a published agent. The server reads it for every card request; the
/// executor may replace it at any time. Cheap to clone; clones share one card.
///
/// ```
/// use latimer_protocol::card::AgentCard;
/// use latimer_server::CardHandle;
///
/// let handle = CardHandle::new(AgentCard::default());
/// handle.set(AgentCard { description: "Translates text".into(), ..AgentCard::default() });
/// assert_eq!(handle.card().description, "Translates text");
/// ```
#[derive(Clone, Debug)]
pub struct CardHandle(Arc<RwLock<CardState>>);

#[derive(Debug)]
struct CardState {
    card: Arc<AgentCard>,
    generation: u64,
    modified_at: SystemTime,
    is_placeholder: bool,
}

impl CardHandle {
    /// Creates a handle with a card.
    #[must_use]
    pub fn new(card: AgentCard) -> Self {
        Self::with_state(card, false)
    }

    /// Creates a handle with a card that stands in until the executor [sets](Self::set) the right one.
    /// Clients are told not to store it.
    pub(crate) fn placeholder(card: AgentCard) -> Self {
        Self::with_state(card, true)
    }

    fn with_state(card: AgentCard, is_placeholder: bool) -> Self {
        Self(Arc::new(RwLock::new(CardState {
            card: Arc::new(card),
            generation: 0,
            modified_at: SystemTime::now(),
            is_placeholder,
        })))
    }

    /// Returns the current card.
    #[must_use]
    pub fn card(&self) -> Arc<AgentCard> {
        self.read(|it| Arc::clone(&it.card))
    }

    /// Replaces the card. Keeps its modification time if the card is equal to the current one.
    pub fn set(&self, card: AgentCard) {
        let mut state = self.0.write();
        state.is_placeholder = false;
        if *state.card != card {
            state.card = Arc::new(card);
            state.generation += 1;
            state.modified_at = SystemTime::now();
        }
    }

    /// Returns whether the card stands in for one that is not known yet.
    pub(crate) fn is_placeholder(&self) -> bool {
        self.read(|it| it.is_placeholder)
    }

    /// Returns the number of changes of the card.
    pub(crate) fn generation(&self) -> u64 {
        self.read(|it| it.generation)
    }

    /// Returns the time of the last change.
    pub(crate) fn modified_at(&self) -> SystemTime {
        self.read(|it| it.modified_at)
    }

    fn read<T>(&self, project: impl FnOnce(&CardState) -> T) -> T {
        project(&self.0.read())
    }
}
