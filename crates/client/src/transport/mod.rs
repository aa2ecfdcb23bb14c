//! Transports: each is a [`Service`] for one address.
//!
//! A transport writes a [`Call`] in the dialect of its version, sends it over its [`HttpChannel`], and reads
//! what comes back, in whatever way real servers spell it. It tries nothing twice but a request whose
//! token had expired. Its own words for failures are [`Error`]; as a service it says the same in
//! those of the protocol, without the address.

mod endpoint;
mod error_response;
mod events;
mod grpc;
mod http_channel;
mod jsonrpc;
mod response_head;
mod rest;
mod stream_end;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use latimer_protocol::{Call, CallResponse, EventStream, ReplyKind, Service};
use tokio::time::timeout;

pub use endpoint::Endpoint;
pub(crate) use endpoint::{describe_invalid_url, parse_origin, url_origin};
pub(crate) use error_response::status_error;
pub use grpc::Grpc;
pub use http_channel::{CallLimits, HttpChannel};
pub(crate) use http_channel::{OutgoingRequest, to_uri};
pub use jsonrpc::JsonRpc;
pub use rest::HttpJson;

use crate::client::CallOptions;
use crate::error::Error;

/// Time a stream has to end after its last event. A server may repeat the finished task, and a
/// stream that is read to its end leaves a connection that can be reused.
pub(crate) const STREAM_CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Carries calls to an agent.
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Makes one call. Dropping the future stops waiting; the agent may still process the call.
    ///
    /// A stream ends when its task is settled, or with the agent's direct reply. A stream that ends
    /// earlier has [`Error::StreamInterrupted`] as its last item.
    ///
    /// The transport applies the timeouts and headers of `options`. The client has added the
    /// extensions to the context of the call, and makes one call per attempt.
    async fn exchange(
        &self,
        call: &Call,
        options: &CallOptions,
    ) -> Result<CallResponse<Error>, Error>;
}

/// A response as a service returns it: errors of its stream become errors of the protocol.
pub(crate) fn into_service_response(response: CallResponse<Error>) -> CallResponse {
    let CallResponse { kind, task_dialect, extensions } = response;
    let kind = match kind {
        ReplyKind::Single(reply) => ReplyKind::Single(reply),
        ReplyKind::Stream(events) => {
            ReplyKind::Stream(Box::pin(events.map(|event| event.map_err(Into::into))))
        }
    };
    CallResponse { kind, task_dialect, extensions }
}

/// What errors name in place of the origin of an agent in the same process.
const IN_PROCESS: &str = "this process";

/// An agent in the same process, or anything else that is a service.
#[derive(Debug)]
pub(crate) struct InProcess(pub(crate) Arc<dyn Service>);

#[async_trait]
impl Transport for InProcess {
    async fn exchange(
        &self,
        call: &Call,
        options: &CallOptions,
    ) -> Result<CallResponse<Error>, Error> {
        let limit = match call.request.operation().is_streaming() {
            true => options.idle_timeout,
            false => options.timeout,
        };
        let timed_out = |limit| Error::Timeout { origin: IN_PROCESS.to_owned(), limit };
        let response = self.0.call(call.clone());
        let response = match limit {
            Some(limit) => timeout(limit, response).await.map_err(|_| timed_out(limit))?,
            None => response.await,
        };
        let CallResponse { kind, task_dialect, extensions } = response?;
        let kind = match kind {
            ReplyKind::Single(reply) => ReplyKind::Single(reply),
            ReplyKind::Stream(events) => {
                let events = events.map(|event| event.map_err(Error::from));
                let events: EventStream<Error> = match options.idle_timeout {
                    Some(limit) => Box::pin(
                        stream_end::with_idle_timeout(limit, events)
                            .map(move |event| event.map_err(|_| timed_out(limit))?),
                    ),
                    None => Box::pin(events),
                };
                ReplyKind::Stream(stream_end::require_settled_end(events, IN_PROCESS.to_owned()))
            }
        };
        Ok(CallResponse { kind, task_dialect, extensions })
    }
}

/// Makes a transport the service that it is.
macro_rules! impl_service {
    ($transport:ty) => {
        #[async_trait::async_trait]
        impl latimer_protocol::Service for $transport {
            async fn call(
                &self,
                call: latimer_protocol::Call,
            ) -> Result<latimer_protocol::CallResponse, latimer_protocol::Error> {
                let options = crate::CallOptions::default();
                let response = crate::transport::Transport::exchange(self, &call, &options).await?;
                Ok(crate::transport::into_service_response(response))
            }
        }
    };
}
use impl_service;
