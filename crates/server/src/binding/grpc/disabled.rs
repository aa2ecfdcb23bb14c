//! Stand-in for gRPC without the feature `grpc`: gRPC is neither served nor listed in cards.

use std::convert::Infallible;

use http::Response;
use latimer_protocol::Error;
use latimer_protocol::card::ProtocolBinding;

use super::body::Body;
use super::{Frontend, RequestContext};

/// The gRPC binding, for cards and routes.
pub(super) const BINDING: Option<ProtocolBinding> = None;

/// Returns `None`: without the feature, no request is gRPC.
pub(super) fn rejection(_: &RequestContext<'_>, _: &Error) -> Option<Response<Body>> {
    None
}

/// Stand-in for health checks and reflection.
#[derive(Clone, Debug)]
pub(crate) struct SupportServices;

impl SupportServices {
    pub(crate) fn new() -> Result<Self, Infallible> {
        Ok(Self)
    }

    pub(crate) async fn set_serving(&self, _: bool) {}
}

impl Frontend {
    /// Responds that the path was not found.
    pub(super) async fn grpc<B>(&self, ctx: &RequestContext<'_>, _: B) -> Response<Body> {
        self.not_found(ctx)
    }
}
