//! The keys that prove signatures, for everybody.

use http::Response;

use super::{Cacheable, RenderedDocument};
use crate::binding::body::Body;
use crate::binding::{Frontend, RequestContext};

impl Frontend {
    /// Answers with the published keys.
    pub(in crate::binding) fn jwks(&self, ctx: &RequestContext<'_>) -> Response<Body> {
        let Some(keyring) = &self.keyring else { return self.not_found(ctx) };
        self.serve_cacheable(ctx, "keys are asked for with GET", || Cacheable {
            document: RenderedDocument::new(keyring.jwks()),
            modified_at: self.cards.started_at,
            vary: None,
        })
    }
}
