//! Storage of cards between clients.

use std::fmt;
use std::time::SystemTime;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Stores the cards that clients fetch, so that other clients can use them without another request,
/// for example in a later process.
///
/// A client loads the card when it connects. While the card is fresh, the client makes no request for
/// it; after that it asks the server whether the card has changed. The client verifies the signatures
/// of a loaded card, as [`CardTrust`](crate::CardTrust) requires. Implementations handle their own
/// errors; the client fetches a card that they cannot load.
#[async_trait]
pub trait CardCache: fmt::Debug + Send + Sync + 'static {
    /// Returns the card that was saved for `url`, which is the URL that a client was created with.
    async fn load(&self, url: &str) -> Option<StoredCard>;

    /// Replaces the card for `url`. The client never saves a card whose server sent
    /// `Cache-Control: no-store`.
    async fn save(&self, url: &str, card: StoredCard);
}

/// A card as its server sent it, with the headers for a conditional request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCard {
    /// URL where the card was found. A client ignores a stored card from a URL that it would not
    /// fetch cards from.
    pub url: String,
    /// JSON of the card.
    pub json: String,
    /// `ETag` header of the response.
    pub etag: Option<String>,
    /// `Last-Modified` header of the response.
    pub last_modified: Option<String>,
    /// Time after which the card must be revalidated.
    pub fresh_until: SystemTime,
}
