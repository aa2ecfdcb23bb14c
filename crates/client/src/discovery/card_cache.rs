//! Storage of cards between clients.

use std::fmt;
use std::time::SystemTime;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Stores the cards that clients fetch, so that another client need not fetch them again, for example
/// in a later process.
///
/// A client loads the card when it connects. While the card is fresh, the client makes no request for
/// it; after that it asks the server whether the card has changed. Signatures are verified again, as
/// [`CardTrust`](crate::CardTrust) requires. Implementations handle their own errors: a card that
/// cannot be loaded is fetched.
#[async_trait]
pub trait CardCache: fmt::Debug + Send + Sync + 'static {
    /// Returns the card that was saved for `url`, the one that a client was created with.
    async fn load(&self, url: &str) -> Option<StoredCard>;

    /// Replaces the card for `url`. Servers forbid this with `Cache-Control: no-store`; such cards are
    /// not passed here.
    async fn save(&self, url: &str, card: StoredCard);
}

/// A card as a server sent it, with what is needed to ask whether it has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCard {
    /// The URL where the card was found. A client ignores the card if it would not look there.
    pub url: String,
    /// The JSON of the card.
    pub json: String,
    /// The header `ETag` of the response.
    pub etag: Option<String>,
    /// The header `Last-Modified` of the response.
    pub last_modified: Option<String>,
    /// The time from which the card has to be revalidated.
    pub fresh_until: SystemTime,
}
