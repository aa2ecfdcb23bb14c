//! What an agent says about itself, while it is served.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use latimer_protocol::card::AgentCard;

/// Where the card of an agent hangs, for everybody to read, and for the agent to change. Cheap to
/// clone; clones are the same.
///
/// ```
/// use latimer_protocol::card::AgentCard;
/// use latimer_server::Placard;
///
/// let placard = Placard::new(AgentCard::default());
/// placard.show(AgentCard { description: "Knows more now".into(), ..AgentCard::default() });
/// assert_eq!(placard.card().description, "Knows more now");
/// ```
#[derive(Clone, Debug)]
pub struct Placard(Arc<RwLock<Shown>>);

#[derive(Debug)]
struct Shown {
    card: Arc<AgentCard>,
    edition: u64,
    since: SystemTime,
}

impl Placard {
    /// A placard with this card.
    #[must_use]
    pub fn new(card: AgentCard) -> Self {
        let shown = Shown { card: Arc::new(card), edition: 0, since: SystemTime::now() };
        Self(Arc::new(RwLock::new(shown)))
    }

    /// The card as it is now.
    #[must_use]
    pub fn card(&self) -> Arc<AgentCard> {
        self.read(|it| Arc::clone(&it.card))
    }

    /// Shows another card. Whether it differs is found out here.
    pub fn show(&self, card: AgentCard) {
        let mut shown = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if *shown.card != card {
            let edition = shown.edition + 1;
            *shown = Shown { card: Arc::new(card), edition, since: SystemTime::now() };
        }
    }

    /// How often the card was changed.
    pub(crate) fn edition(&self) -> u64 {
        self.read(|it| it.edition)
    }

    /// Since when the card is as it is.
    pub(crate) fn since(&self) -> SystemTime {
        self.read(|it| it.since)
    }

    fn read<T>(&self, look: impl FnOnce(&Shown) -> T) -> T {
        // A card is replaced whole: whoever panicked left a whole one.
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}
