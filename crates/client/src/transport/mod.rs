//! Transports, which carry calls to an agent.
//!
//! A [`Transport`] encodes a [`Call`] in the dialect of its version, sends it, and decodes the
//! response with the deviations of real servers. It repeats a request only to renew a rejected
//! token; the client repeats calls. [`JsonRpc`], [`HttpJson`] and [`Grpc`] call one [`Endpoint`]
//! over an [`HttpChannel`]. Each is also a [`Service`], whose errors do not contain the origin.
//!
//! | module | content |
//! | --- | --- |
//! | `endpoint` | URL, version and tenant |
//! | `error_response` | responses that are errors, or not A2A |
//! | `events` | streams of server-sent events |
//! | `grpc` | gRPC |
//! | `http_channel` | HTTP client with credentials and limits |
//! | `jsonrpc` | JSON-RPC |
//! | `outgoing_request` | requests before credentials are added, and the headers of calls |
//! | `response_head` | error details from the head of a response |
//! | `rest` | HTTP+JSON |
//! | `stream_end` | whether a stream is finished or interrupted |

mod endpoint;
mod error_response;
mod events;
#[cfg_attr(not(feature = "grpc"), path = "grpc/disabled.rs")]
mod grpc;
mod http_channel;
mod jsonrpc;
mod outgoing_request;
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
#[cfg(feature = "grpc")]
pub use grpc::Grpc;
pub(crate) use grpc::{GRPC_ENABLED, grpc_transport};
pub use http_channel::{CallLimits, HttpChannel};
pub use jsonrpc::JsonRpc;
pub(crate) use outgoing_request::{OutgoingRequest, to_uri};
pub use rest::HttpJson;

use crate::client::CallOptions;
use crate::error::Error;

/// Time a stream has to end after its last event. A server may repeat the finished task, and a
/// stream that is read to its end leaves a connection that can be reused.
pub(crate) const STREAM_CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Carries calls to an agent.
///
/// Implement it to call agents over another channel ([`Client::from_transport`]), or to wrap the
/// transport of a client ([`ClientBuilder::layer`]).
///
/// ```
/// use std::sync::Arc;
///
/// use latimer_client::transport::Transport;
/// use latimer_client::{CallOptions, Client, Error, user_message};
/// use latimer_protocol::{Call, CallResponse, ErrorKind, Reply, Request, SendMessageResponse};
///
/// /// Returns each message as the reply to it.
/// #[derive(Debug)]
/// struct Echo;
///
/// #[async_trait::async_trait]
/// impl Transport for Echo {
///     async fn exchange(
///         &self,
///         call: &Call,
///         _: &CallOptions,
///     ) -> Result<CallResponse<Error>, Error> {
///         match &call.request {
///             Request::SendMessage(request) => {
///                 let reply = SendMessageResponse::Message(request.message.clone());
///                 Ok(Reply::SendMessage(reply).into())
///             }
///             _ => Err(latimer_protocol::Error::from(ErrorKind::UnsupportedOperation).into()),
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Error> {
/// let client = Client::from_transport(Arc::new(Echo));
/// let reply = client.send(user_message("hello")).await?;
/// assert!(matches!(reply, SendMessageResponse::Message(it) if it.text() == "hello"));
/// # Ok(())
/// # }
/// ```
///
/// [`Client::from_transport`]: crate::Client::from_transport
/// [`ClientBuilder::layer`]: crate::ClientBuilder::layer
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Makes one attempt of a call. Dropping the future stops waiting; the agent may still process
    /// the call.
    ///
    /// A stream ends when its task is settled, or with the agent's direct reply. A stream that ends
    /// earlier has [`Error::StreamInterrupted`] as its last item.
    ///
    /// The transport applies the timeouts and headers of `options`. The client repeats calls, and
    /// has added the extensions to the context of the call.
    ///
    /// # Errors
    /// See [`Error`]. [`Error::Unreachable`] means that nothing was sent.
    async fn exchange(
        &self,
        call: &Call,
        options: &CallOptions,
    ) -> Result<CallResponse<Error>, Error>;
}

/// Converts the errors of a stream to those of a service.
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

/// Name of an agent in the same process, in errors.
const IN_PROCESS: &str = "this process";

/// A service in the same process.
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

/// Implements [`Service`] for a transport.
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
