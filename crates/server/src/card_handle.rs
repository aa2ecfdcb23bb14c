//! What an agent says about itself, while it is served.

use std::sync::{Arc, RwLock};
use std::time::SystemTime;

use latimer_protocol::card::AgentCard;

use crate::sync::{read_unpoisoned, write_unpoisoned};

/// Where the card of an agent hangs, for everybody to read, and for the agent to change. Cheap to
/// clone; clones are the same.
///
/// ```
/// use latimer_protocol::card::AgentCard;
/// use latimer_server::CardHandle;
///
/// let handle = CardHandle::new(AgentCard::default());
/// handle.set(AgentCard { description: "Knows more now".into(), ..AgentCard::default() });
/// assert_eq!(handle.card().description, "Knows more now");
/// ```
#[derive(Clone, Debug)]
pub struct CardHandle(Arc<RwLock<CardState>>);

#[derive(Debug)]
struct CardState {
    card: Arc<AgentCard>,
    generation: u64,
    modified_at: SystemTime,
}

impl CardHandle {
    /// A placard with this card.
    #[must_use]
    pub fn new(card: AgentCard) -> Self {
        let state =
            CardState { card: Arc::new(card), generation: 0, modified_at: SystemTime::now() };
        Self(Arc::new(RwLock::new(state)))
    }

    /// The card as it is now.
    #[must_use]
    pub fn card(&self) -> Arc<AgentCard> {
        self.read(|it| Arc::clone(&it.card))
    }

    /// Shows another card. Whether it differs is found out here.
    pub fn set(&self, card: AgentCard) {
        let mut state = write_unpoisoned(&self.0);
        if *state.card != card {
            let generation = state.generation + 1;
            *state = CardState { card: Arc::new(card), generation, modified_at: SystemTime::now() };
        }
    }

    /// How often the card was changed.
    pub(crate) fn generation(&self) -> u64 {
        self.read(|it| it.generation)
    }

    /// Since when the card is as it is.
    pub(crate) fn modified_at(&self) -> SystemTime {
        self.read(|it| it.modified_at)
    }

    fn read<T>(&self, project: impl FnOnce(&CardState) -> T) -> T {
        // A card is replaced whole: whoever panicked left a whole one.
        project(&read_unpoisoned(&self.0))
    }
}
