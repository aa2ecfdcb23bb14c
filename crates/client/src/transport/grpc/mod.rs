//! gRPC.
//!
//! Pings of HTTP/2 detect dead connections. Streams of gRPC have no comments, so one without events
//! for longer than the idle timeout fails, and a follower subscribes again.

mod tonic_channel;
mod v0_3;
mod v1;

use std::error::Error as _;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use http::uri::PathAndQuery;
use http::{HeaderMap, Uri};
use latimer_outbound::RequestError;
use latimer_protocol::binding::grpc::{self, Package};
use latimer_protocol::binding::parameters;
use latimer_protocol::{
    Call, CallResponse, ErrorKind, EventStream, GrpcStatus, InvalidField, ReplyKind, Revision,
    SharedEvent, StreamEvent, StreamResponse,
};
use prost::Message;
use tokio::time::timeout;
use tonic::client::Grpc as TonicClient;
use tonic::codec::Streaming;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use super::endpoint::Endpoint;
use super::http_channel::{CallLimits, HttpChannel};
use super::outgoing_request::{active_extensions, insert_call_headers};
use super::{Transport, error_response, impl_service, stream_end};
use crate::client::CallOptions;
use crate::credentials::RequestCredentials;
use crate::error::Error;
use tonic_channel::TonicChannel;

/// Whether gRPC is compiled in.
pub(crate) const GRPC_ENABLED: bool = true;

/// Creates a transport over gRPC, for a channel that speaks HTTP/2.
///
/// # Errors
/// [`Error::InvalidSetup`] if the version has no gRPC.
pub(crate) fn grpc_transport(
    endpoint: Endpoint,
    channel: HttpChannel,
) -> Result<Arc<dyn Transport>, Error> {
    Ok(Arc::new(Grpc::new(endpoint, channel)?))
}

/// Transport over gRPC, for 1.0 and 0.3.
#[derive(Clone, Debug)]
pub struct Grpc {
    endpoint: Endpoint,
    package: Package,
    channel: HttpChannel,
    origin: Uri,
}

impl Grpc {
    /// Creates a transport to an endpoint. The HTTP client of the channel must use HTTP/2.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if the version has no gRPC.
    pub fn new(endpoint: Endpoint, channel: HttpChannel) -> Result<Self, Error> {
        let package = Package::for_version(endpoint.version()).ok_or_else(|| {
            let problem = format!("A2A {} does not exist over gRPC", endpoint.version());
            Error::InvalidSetup(problem)
        })?;
        let origin = endpoint.origin().parse();
        let origin = origin.map_err(|_| Error::InvalidSetup("the URL has no host".into()))?;
        Ok(Self { endpoint, package, channel, origin })
    }

    /// Prepares a call: headers, credentials and path.
    async fn prepare(
        &self,
        call: &Call,
        options: &CallOptions,
    ) -> Result<(Rpc<'_>, RequestCredentials), Error> {
        let version = self.endpoint.version();
        let mut headers = HeaderMap::new();
        insert_call_headers(&mut headers, &call.context, version)?;
        let credentials = self.channel.credentials_for(&self.endpoint, options).await?;
        if credentials.has_query_parameters() {
            let problem = "the card requires an API key in the query of the URL, and gRPC requests have no query";
            return Err(Error::NoCredentials(problem.into()));
        }
        credentials.apply_to_headers(&mut headers);
        let path = grpc::path(call.request.operation(), self.package)
            .ok_or_else(|| unsupported_operation(self.package))?;
        let path = path.parse().map_err(|_| latimer_protocol::Error::internal())?;
        let tonic_channel = TonicChannel::new(self.channel.http().clone());
        let client = TonicClient::with_origin(tonic_channel, self.origin.clone());
        let limits = self.channel.limits.for_call(options);
        let client = client.max_decoding_message_size(limits.max_body_bytes);
        Ok((Rpc { grpc: self, limits, client, path, headers }, credentials))
    }

    /// Converts the status of a failed call: an error of the agent, or of the connection.
    fn status_error(&self, status: &Status, limits: &CallLimits) -> Error {
        let mut source = status.source();
        while let Some(error) = source {
            if let Some(request_error) = error.downcast_ref::<RequestError>() {
                return self.request_error(request_error, limits);
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

    /// Copies an error of the HTTP client, which tonic owns.
    fn request_error(&self, error: &RequestError, limits: &CallLimits) -> Error {
        let source = || error.to_string().into();
        let copy = match error {
            RequestError::Forbidden(forbidden) => RequestError::Forbidden(*forbidden),
            RequestError::Timeout => RequestError::Timeout,
            RequestError::Unresolved { .. } => RequestError::Unresolved { source: source() },
            RequestError::Unreachable { .. } => RequestError::Unreachable { source: source() },
            RequestError::Tls { .. } => RequestError::Tls { source: source() },
            _ => RequestError::Broken { source: source() },
        };
        Error::from_request_error(self.endpoint.origin(), copy, limits.timeout)
    }

    fn malformed(&self, invalid: &dyn std::fmt::Display) -> Error {
        error_response::malformed(self.endpoint.origin(), invalid)
    }
}

/// A call with its headers and path.
struct Rpc<'a> {
    grpc: &'a Grpc,
    limits: CallLimits,
    client: TonicClient<TonicChannel>,
    path: PathAndQuery,
    headers: HeaderMap,
}

impl Rpc<'_> {
    fn build_request<M>(&self, message: M) -> Request<M> {
        let metadata = MetadataMap::from_headers(self.headers.clone());
        Request::from_parts(metadata, tonic::Extensions::default(), message)
    }

    async fn ready(&mut self) -> Result<(), Error> {
        let ready = self.client.ready().await;
        ready.map_err(|error| self.grpc.request_error(&error, &self.limits))
    }

    /// Sends a message and reads the single reply.
    async fn unary<M, R, T>(mut self, message: M) -> Result<(T, Vec<String>), Error>
    where
        M: Message + Default + Send + Sync + 'static,
        R: Message + Default + Send + Sync + 'static,
        T: TryFrom<R>,
        T::Error: std::fmt::Display,
    {
        self.ready().await?;
        let request = self.build_request(message);
        let limit = self.limits.timeout;
        let response = self.client.unary(request, self.path, ProstCodec::<M, R>::default());
        let origin = self.grpc.endpoint.origin();
        let response = timeout(limit, response)
            .await
            .map_err(|_| Error::from_request_error(origin, RequestError::Timeout, limit))?
            .map_err(|status| self.grpc.status_error(&status, &self.limits))?;
        let (extensions, reply) = split_response(response);
        let converted = T::try_from(reply);
        Ok((converted.map_err(|error| self.grpc.malformed(&error))?, extensions))
    }

    /// Opens a stream and waits for its first event.
    async fn stream<M, R>(mut self, message: M) -> ExchangeResult
    where
        M: Message + Default + Send + Sync + 'static,
        R: Message + Default + Send + Sync + 'static,
        StreamResponse: TryFrom<R, Error = InvalidField>,
    {
        self.ready().await?;
        let request = self.build_request(message);
        let limit = self.limits.idle_timeout;
        let codec = ProstCodec::<M, R>::default();
        let response = self.client.server_streaming(request, self.path, codec);
        let origin = self.grpc.endpoint.origin();
        let response = timeout(limit, response)
            .await
            .map_err(|_| Error::from_request_error(origin, RequestError::Timeout, limit))?
            .map_err(|status| self.grpc.status_error(&status, &self.limits))?;
        let (extensions, events) = split_response(response);
        let events = self.grpc.read_events(events, self.limits).await?;
        Ok((ReplyKind::Stream(events), extensions))
    }
}

/// Creates the error of an operation that a package does not have.
fn unsupported_operation(package: Package) -> Error {
    let message = format!("A2A {} does not have this operation over gRPC", package.version());
    latimer_protocol::Error::new(ErrorKind::UnsupportedOperation, message).into()
}

fn split_response<T>(response: Response<T>) -> (Vec<String>, T) {
    let (metadata, message, _) = response.into_parts();
    (active_extensions(&metadata.into_headers()), message)
}

impl Grpc {
    async fn dispatch(&self, rpc: Rpc<'_>, request: &latimer_protocol::Request) -> ExchangeResult {
        match self.package {
            Package::V1_0 => v1::exchange(rpc, request).await,
            Package::V0_3 => v0_3::exchange(rpc, request).await,
        }
    }

    async fn read_events<R>(
        &self,
        events: Streaming<R>,
        limits: CallLimits,
    ) -> Result<EventStream<Error>, Error>
    where
        R: Send + 'static,
        StreamResponse: TryFrom<R, Error = InvalidField>,
    {
        let transport = self.clone();
        let origin = self.endpoint.origin().to_owned();
        let events = stream_end::with_idle_timeout(limits.idle_timeout, events).map(move |event| {
            let origin = transport.endpoint.origin();
            let timed_out =
                |_| Error::from_request_error(origin, RequestError::Timeout, limits.idle_timeout);
            let event = event
                .map_err(timed_out)?
                .map_err(|status| transport.status_error(&status, &limits))?;
            let event = StreamResponse::try_from(event).map_err(|it| transport.malformed(&it))?;
            let (revision, finality) = (event_revision(&event), stream_end::finality(&event));
            Ok(StreamEvent { revision, event: SharedEvent::new(event), finality })
        });
        stream_end::wait_first_event(stream_end::require_settled_end(Box::pin(events), origin))
            .await
    }
}

/// Returns the revision of an event, from the metadata of the cursor extension.
fn event_revision(event: &StreamResponse) -> Option<Revision> {
    let metadata = match event {
        StreamResponse::Task(it) => &it.metadata,
        StreamResponse::Message(it) => &it.metadata,
        StreamResponse::StatusUpdate(it) => &it.metadata,
        StreamResponse::ArtifactUpdate(it) => &it.metadata,
    };
    let number = metadata.get(parameters::CURSOR_EXTENSION)?;
    // Numbers of protobuf structs are doubles.
    let number = number.as_u64().or_else(|| number.as_f64().map(|it| it as u64))?;
    Some(Revision::new(number))
}

#[async_trait]
impl Transport for Grpc {
    async fn exchange(
        &self,
        call: &Call,
        options: &CallOptions,
    ) -> Result<CallResponse<Error>, Error> {
        let request = self.endpoint.with_defaults(&call.request);
        let (rpc, credentials) = self.prepare(call, options).await?;
        let mut result = self.dispatch(rpc, &request).await;
        if let Err(Error::Agent(error)) = &result
            && error.kind() == ErrorKind::Unauthenticated
            && credentials.has_tokens()
        {
            credentials.invalidate_tokens();
            let (rpc, _) = self.prepare(call, options).await?;
            result = self.dispatch(rpc, &request).await;
        }
        let (kind, extensions) = result?;
        Ok(CallResponse { kind, task_dialect: None, extensions })
    }
}

/// Result of a call in either package.
type ExchangeResult = Result<(ReplyKind<Error>, Vec<String>), Error>;

impl_service!(Grpc);
