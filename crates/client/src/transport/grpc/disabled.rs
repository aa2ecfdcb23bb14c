//! Stub without the feature `grpc`: there is no transport over gRPC.

use std::sync::Arc;

use super::Transport;
use super::endpoint::Endpoint;
use super::http_channel::HttpChannel;
use crate::error::Error;

/// Whether gRPC is compiled in.
pub(crate) const GRPC_ENABLED: bool = false;

/// Returns an error, because there is no transport over gRPC.
pub(crate) fn grpc_transport(_: Endpoint, _: HttpChannel) -> Result<Arc<dyn Transport>, Error> {
    Err(Error::InvalidSetup("gRPC needs the feature `grpc` of latimer-client".into()))
}
