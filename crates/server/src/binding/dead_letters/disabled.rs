//! Stand-in for the dead-letter API without the feature `push`: its paths are not found.

use http::Response;

use super::body::Body;
use super::{Frontend, RequestContext};

impl Frontend {
    /// Responds that the path was not found.
    pub(super) async fn dead_letters(&self, ctx: &RequestContext<'_>, _: &str) -> Response<Body> {
        self.not_found(ctx)
    }
}
