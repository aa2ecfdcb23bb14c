//! The keys that prove signatures, for everybody.

use http::Response;

use super::{Published, Written};
use crate::binding::body::Body;
use crate::binding::{At, Front};

impl Front {
    /// Answers with the published keys.
    pub(in crate::binding) fn keys(&self, at: &At<'_>) -> Response<Body> {
        let Some(keyring) = &self.keyring else { return self.nothing(at) };
        self.published(at, "keys are asked for with GET", || Published {
            written: Written::new(keyring.jwks()),
            since: self.cards.since,
            vary: None,
        })
    }
}
