//! Transports: each is a [`Service`] for one address.
//!
//! A transport writes a [`Call`] in the dialect of its version, sends it over its [`Wire`], and reads
//! what comes back, in whatever way real servers spell it. It tries nothing twice but a request whose
//! token had expired. Its own words for failures are [`Error`]; as a service it says the same in
//! those of the protocol, without the address.

mod ending;
mod endpoint;
mod events;
mod grpc;
mod head;
mod jsonrpc;
mod page;
mod rest;
mod wire;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_core::Stream;
use futures_util::StreamExt;
use latimer_protocol::{Call, CallResponse, Reply, Service, StreamEvent};

pub use endpoint::Endpoint;
pub(crate) use endpoint::{origin, origin_of};
pub use grpc::Grpc;
pub use jsonrpc::JsonRpc;
pub(crate) use page::failure;
pub use rest::HttpJson;
pub(crate) use wire::{Ask, to_uri};
pub use wire::{Limits, Wire};

use crate::error::Error;

/// The events of a stream, with an [`Error`] of this crate where it breaks.
///
/// It ends when the task has come to an end or to a question, or with the agent's direct answer. A
/// stream that ends before is an [`Error::Cut`].
pub type Events = Pin<Box<dyn Stream<Item = Result<StreamEvent, Error>> + Send>>;

/// Carries calls to an agent.
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Makes one call. Dropping the future gives up waiting; it does not undo what the call began.
    async fn exchange(&self, call: &Call) -> Result<Exchanged, Error>;
}

/// What a call came to.
pub struct Exchanged {
    /// The answer.
    pub outcome: Outcome,
    /// URIs of the extensions that the agent says are active.
    pub extensions: Vec<String>,
}

/// An answer: a reply at once, or a stream of events.
pub enum Outcome {
    /// A reply, which is never [`Reply::Stream`].
    Reply(Reply),
    /// Events.
    Events(Events),
}

impl fmt::Debug for Exchanged {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Exchanged");
        match &self.outcome {
            Outcome::Reply(reply) => shown.field("reply", reply),
            Outcome::Events(_) => shown.field("events", &"…"),
        };
        shown.field("extensions", &self.extensions).finish()
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(reply) => reply.fmt(out),
            Self::Events(_) => out.write_str("Events"),
        }
    }
}

impl From<Exchanged> for CallResponse {
    fn from(exchanged: Exchanged) -> Self {
        let reply = match exchanged.outcome {
            Outcome::Reply(reply) => reply,
            Outcome::Events(events) => {
                Reply::Stream(Box::pin(events.map(|event| event.map_err(Into::into))))
            }
        };
        Self { reply, task_dialect: None, extensions: exchanged.extensions }
    }
}

/// An agent in the same process, or anything else that is a service.
#[derive(Debug)]
pub(crate) struct Local(pub(crate) Arc<dyn Service>);

#[async_trait]
impl Transport for Local {
    async fn exchange(&self, call: &Call) -> Result<Exchanged, Error> {
        let CallResponse { reply, extensions, .. } = self.0.call(call.clone()).await?;
        let outcome = match reply {
            Reply::Stream(events) => {
                let events = events.map(|event| event.map_err(Error::from));
                Outcome::Events(ending::until_the_end(Box::pin(events), "this process".into()))
            }
            reply => Outcome::Reply(reply),
        };
        Ok(Exchanged { outcome, extensions })
    }
}

/// Makes a transport the service that it is.
macro_rules! service {
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
use service;
