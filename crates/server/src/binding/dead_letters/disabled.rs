//! The dead-letter API without the feature `push`: its paths are not found.

use http::Response;

use super::body::Body;
use super::{Frontend, RequestContext};

impl Frontend {
    /// Responds as to every path without a resource.
    pub(super) async fn dead_letters(&self, ctx: &RequestContext<'_>, _: &str) -> Response<Body> {
        self.not_found(ctx)
    }
}
