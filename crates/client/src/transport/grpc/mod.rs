//! gRPC.
//!
//! Whether a connection lives is found out by the pings of HTTP/2. A stream of gRPC has no comments: one
//! that tells nothing for longer than the limit is given up, and whoever follows its task subscribes
//! again.

mod channel;
mod v0_3;
mod v1;

use std::error::Error as _;
use std::time::Duration;

use async_trait::async_trait;
use futures_core::Stream;
use futures_util::{StreamExt, stream};
use http::uri::PathAndQuery;
use http::{HeaderMap, Uri};
use latimer_outbound::RequestError;
use latimer_protocol::binding::{grpc, parameters};
use latimer_protocol::{
    Call, ErrorKind, GrpcStatus, InvalidField, Revision, SharedEvent, StreamEvent, StreamResponse,
    Version,
};
use prost::Message;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tonic::client::Grpc as Caller;
use tonic::codec::Streaming;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use super::endpoint::Endpoint;
use super::wire::{Wire, active, describe};
use super::{Events, Exchanged, Outcome, Transport, ending, page, service};
use crate::credentials::Shown;
use crate::error::Error;
use channel::Channel;

/// Calls an agent over gRPC: 1.0 and 0.3.
#[derive(Clone, Debug)]
pub struct Grpc {
    endpoint: Endpoint,
    wire: Wire,
    origin: Uri,
}

impl Grpc {
    /// A transport to an endpoint. The HTTP client of the wire must speak HTTP/2.
    ///
    /// # Errors
    /// [`Error::Setup`] when the version has no gRPC.
    pub fn new(endpoint: Endpoint, wire: Wire) -> Result<Self, Error> {
        if grpc::service(endpoint.version()).is_none() {
            let problem = format!("A2A {} is not spoken over gRPC", endpoint.version());
            return Err(Error::Setup(problem));
        }
        let origin = endpoint.origin().parse();
        let origin = origin.map_err(|_| Error::Setup("the address has no host".into()))?;
        Ok(Self { endpoint, wire, origin })
    }

    /// One call, ready to be made.
    async fn rpc(&self, call: &Call) -> Result<(Rpc<'_>, Shown), Error> {
        let version = self.endpoint.version();
        let mut headers = HeaderMap::new();
        describe(&mut headers, call, version)?;
        let shown = self.wire.shown(&self.endpoint).await?;
        if shown.has_parameters() {
            let problem = "the API key goes into a query, and gRPC has none";
            return Err(Error::Credentials(problem.into()));
        }
        shown.in_headers(&mut headers);
        let path = grpc::path(call.request.operation(), version).ok_or_else(|| {
            let message = format!("A2A {version} has no such operation over gRPC");
            latimer_protocol::Error::new(ErrorKind::UnsupportedOperation, message)
        })?;
        let path = path.parse().map_err(|_| latimer_protocol::Error::internal())?;
        let channel = Channel::new(self.wire.http().clone());
        let caller = Caller::with_origin(channel, self.origin.clone());
        let caller = caller.max_decoding_message_size(self.wire.limits.body);
        Ok((Rpc { grpc: self, caller, path, headers }, shown))
    }

    /// What a failed call amounts to: something the agent said, or something on the way to it.
    fn failure(&self, status: &Status) -> Error {
        let mut source = status.source();
        while let Some(error) = source {
            if let Some(failure) = error.downcast_ref::<RequestError>() {
                return self.lost(failure);
            }
            source = error.source();
        }
        let status = GrpcStatus {
            code: status.code() as i32,
            message: status.message().to_owned(),
            details: status.details().to_vec(),
        };
        latimer_protocol::Error::from_grpc(&status).into()
    }

    /// A failure that somebody else holds: the same again, with its words for a source.
    fn lost(&self, failure: &RequestError) -> Error {
        let source = || failure.to_string().into();
        let copy = match failure {
            RequestError::Forbidden(forbidden) => RequestError::Forbidden(*forbidden),
            RequestError::Timeout => RequestError::Timeout,
            RequestError::Unresolved { .. } => RequestError::Unresolved { source: source() },
            RequestError::Unreachable { .. } => RequestError::Unreachable { source: source() },
            RequestError::Tls { .. } => RequestError::Tls { source: source() },
            _ => RequestError::Broken { source: source() },
        };
        Error::of(self.endpoint.origin(), copy, self.wire.limits.call)
    }

    fn malformed(&self, invalid: &dyn std::fmt::Display) -> Error {
        page::malformed(self.endpoint.origin(), invalid)
    }
}

/// One call, ready to be made.
struct Rpc<'a> {
    grpc: &'a Grpc,
    caller: Caller<Channel>,
    path: PathAndQuery,
    headers: HeaderMap,
}

impl Rpc<'_> {
    fn request<M>(&self, message: M) -> Request<M> {
        let metadata = MetadataMap::from_headers(self.headers.clone());
        Request::from_parts(metadata, tonic::Extensions::default(), message)
    }

    async fn ready(&mut self) -> Result<(), Error> {
        self.caller.ready().await.map_err(|failure| self.grpc.lost(&failure))
    }

    /// Asks, and reads the one answer.
    async fn unary<M, R, T>(mut self, message: M) -> Result<(T, Vec<String>), Error>
    where
        M: Message + Default + Send + Sync + 'static,
        R: Message + Default + Send + Sync + 'static,
        T: TryFrom<R>,
        T::Error: std::fmt::Display,
    {
        self.ready().await?;
        let request = self.request(message);
        let limit = self.grpc.wire.limits.call;
        let answer = self.caller.unary(request, self.path, ProstCodec::<M, R>::default());
        let origin = self.grpc.endpoint.origin();
        let answer = timeout(limit, answer)
            .await
            .map_err(|_| Error::of(origin, RequestError::Timeout, limit))?
            .map_err(|status| self.grpc.failure(&status))?;
        let (extensions, answer) = opened(answer);
        let read = T::try_from(answer);
        Ok((read.map_err(|error| self.grpc.malformed(&error))?, extensions))
    }

    /// Asks, and reads events as they come.
    async fn stream<M, R>(mut self, message: M) -> Result<(Streaming<R>, Vec<String>), Error>
    where
        M: Message + Default + Send + Sync + 'static,
        R: Message + Default + Send + Sync + 'static,
    {
        self.ready().await?;
        let request = self.request(message);
        let limit = self.grpc.wire.limits.idle;
        let codec = ProstCodec::<M, R>::default();
        let answer = self.caller.server_streaming(request, self.path, codec);
        let origin = self.grpc.endpoint.origin();
        let answer = timeout(limit, answer)
            .await
            .map_err(|_| Error::of(origin, RequestError::Timeout, limit))?
            .map_err(|status| self.grpc.failure(&status))?;
        let (extensions, events) = opened(answer);
        Ok((events, extensions))
    }
}

fn opened<T>(response: Response<T>) -> (Vec<String>, T) {
    let (metadata, message, _) = response.into_parts();
    (active(&metadata.into_headers()), message)
}

impl Grpc {
    async fn answer(&self, rpc: Rpc<'_>, request: &latimer_protocol::Request) -> Answered {
        match self.endpoint.version() {
            Version::V1_0 => v1::exchange(self, rpc, request).await,
            Version::V0_3 => v0_3::exchange(self, rpc, request).await,
            Version::V0_1 => Err(latimer_protocol::Error::internal().into()),
        }
    }

    async fn events<R>(&self, events: Streaming<R>) -> Result<Events, Error>
    where
        R: Send + 'static,
        StreamResponse: TryFrom<R, Error = InvalidField>,
    {
        let own = self.clone();
        let origin = self.endpoint.origin().to_owned();
        let events = within(self.wire.limits.idle, events).map(move |event| {
            let late =
                |_| Error::of(own.endpoint.origin(), RequestError::Timeout, own.wire.limits.idle);
            let event = event.map_err(late)?.map_err(|status| own.failure(&status))?;
            let event = StreamResponse::try_from(event).map_err(|it| own.malformed(&it))?;
            let (revision, then) = (revision(&event), ending::then(&event));
            Ok(StreamEvent { revision, event: SharedEvent::new(event), finality: then })
        });
        ending::begun(ending::until_the_end(Box::pin(events), origin)).await
    }
}

/// The items of a stream, each within a time of its own; what comes late is the last.
fn within<S: Stream + Unpin>(
    limit: Duration,
    items: S,
) -> impl Stream<Item = Result<S::Item, Elapsed>> {
    stream::unfold(Some(items), move |items| async move {
        let mut items = items?;
        match timeout(limit, items.next()).await {
            Ok(item) => Some((Ok(item?), Some(items))),
            Err(late) => Some((Err(late), None)),
        }
    })
}

/// The number of an event, where the extension for it is active.
fn revision(event: &StreamResponse) -> Option<Revision> {
    let metadata = match event {
        StreamResponse::Task(it) => &it.metadata,
        StreamResponse::Message(it) => &it.metadata,
        StreamResponse::StatusUpdate(it) => &it.metadata,
        StreamResponse::ArtifactUpdate(it) => &it.metadata,
    };
    let number = metadata.get(parameters::CURSOR_EXTENSION)?;
    // In protobuf all numbers are doubles.
    let number = number.as_u64().or_else(|| number.as_f64().map(|it| it as u64))?;
    Some(Revision::new(number))
}

#[async_trait]
impl Transport for Grpc {
    async fn exchange(&self, call: &Call) -> Result<Exchanged, Error> {
        let request = self.endpoint.addressed(&call.request);
        let (rpc, shown) = self.rpc(call).await?;
        let mut answer = self.answer(rpc, &request).await;
        if let Err(Error::Agent(error)) = &answer
            && error.kind() == ErrorKind::Unauthenticated
            && shown.may_renew()
        {
            shown.renew();
            let (rpc, _) = self.rpc(call).await?;
            answer = self.answer(rpc, &request).await;
        }
        let (outcome, extensions) = answer?;
        Ok(Exchanged { outcome, extensions })
    }
}

/// What a call of either package comes to.
type Answered = Result<(Outcome, Vec<String>), Error>;

service!(Grpc);
