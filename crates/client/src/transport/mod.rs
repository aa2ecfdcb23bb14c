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
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_core::Stream;
use futures_util::StreamExt;
use latimer_protocol::{Call, CallResponse, Reply, Service, StreamEvent};

pub use endpoint::Endpoint;
pub(crate) use endpoint::{parse_origin, url_origin};
pub(crate) use error_response::status_error;
pub use grpc::Grpc;
pub use http_channel::{CallLimits, HttpChannel};
pub(crate) use http_channel::{OutgoingRequest, to_uri};
pub use jsonrpc::JsonRpc;
pub use rest::HttpJson;

use crate::error::Error;

/// Time a stream has to end after its last event. A server may repeat the finished task, and a
/// stream that is read to its end leaves a connection that can be reused.
pub(crate) const STREAM_CLOSE_GRACE: Duration = Duration::from_secs(1);

/// The events of a stream, with an [`Error`] of this crate where it breaks.
///
/// It ends when the task has come to an end or to a question, or with the agent's direct answer. A
/// stream that ends before is an [`Error::StreamInterrupted`].
pub type Events = Pin<Box<dyn Stream<Item = Result<StreamEvent, Error>> + Send>>;

/// Carries calls to an agent.
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Makes one call. Dropping the future gives up waiting; it does not undo what the call began.
    async fn exchange(&self, call: &Call) -> Result<TransportResponse, Error>;
}

/// What a call came to.
pub struct TransportResponse {
    /// The answer.
    pub kind: ReplyKind,
    /// URIs of the extensions that the agent says are active.
    pub extensions: Vec<String>,
}

/// An answer: a reply at once, or a stream of events.
pub enum ReplyKind {
    /// A reply, which is never [`Reply::Stream`].
    Single(Reply),
    /// Events.
    Stream(Events),
}

impl fmt::Debug for TransportResponse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = out.debug_struct("Exchanged");
        match &self.kind {
            ReplyKind::Single(reply) => output.field("reply", reply),
            ReplyKind::Stream(_) => output.field("events", &"…"),
        };
        output.field("extensions", &self.extensions).finish()
    }
}

impl fmt::Debug for ReplyKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single(reply) => reply.fmt(out),
            Self::Stream(_) => out.write_str("Events"),
        }
    }
}

impl From<TransportResponse> for CallResponse {
    fn from(response: TransportResponse) -> Self {
        let reply = match response.kind {
            ReplyKind::Single(reply) => reply,
            ReplyKind::Stream(events) => {
                Reply::Stream(Box::pin(events.map(|event| event.map_err(Into::into))))
            }
        };
        Self { reply, task_dialect: None, extensions: response.extensions }
    }
}

/// An agent in the same process, or anything else that is a service.
#[derive(Debug)]
pub(crate) struct InProcess(pub(crate) Arc<dyn Service>);

#[async_trait]
impl Transport for InProcess {
    async fn exchange(&self, call: &Call) -> Result<TransportResponse, Error> {
        let CallResponse { reply, extensions, .. } = self.0.call(call.clone()).await?;
        let kind = match reply {
            Reply::Stream(events) => {
                let events = events.map(|event| event.map_err(Error::from));
                ReplyKind::Stream(stream_end::require_settled_end(
                    Box::pin(events),
                    "this process".into(),
                ))
            }
            reply => ReplyKind::Single(reply),
        };
        Ok(TransportResponse { kind, extensions })
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
                let exchanged = crate::transport::Transport::exchange(self, &call).await?;
                Ok(exchanged.into())
            }
        }
    };
}
use impl_service;
