//! gRPC binding, for the packages of 1.0 and 0.3.
//!
//! This module frames messages itself instead of using generated services: an event with many readers
//! is encoded once, and limits and errors are the same as in the other bindings. tonic implements
//! health and reflection.
//!
//! | module | content |
//! | --- | --- |
//! | `frames` | framing of messages and trailers |
//! | `support_services` | health and reflection |
//! | `v0_3` | messages of `a2a.v1` |
//! | `v1` | messages of `lf.a2a.v1` |

mod frames;
mod support_services;
mod v0_3;
mod v1;

use std::time::Instant;

use axum::BoxError;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Method, Response};
use latimer_protocol::binding::grpc::{self as grpc_binding, Package};
use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{
    CallResponse, Dialect, Error, ErrorKind, Operation, Reply, ReplyKind, Request, Version,
};
use tonic::{Code, Status};

pub(crate) use frames::GrpcBody;
pub(crate) use support_services::SupportServices;

use super::body::{Body, RequestBody};
use super::{Frontend, RequestContext, reply_context, respond};
use crate::metrics::{Binding, CallLabels, CallOutcome};

/// Media type of gRPC.
const GRPC_CONTENT_TYPE: &str = "application/grpc";
/// Header with the compression of messages.
const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
/// Header with the supported compressions.
const GRPC_ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
/// Name for no compression.
const IDENTITY: &str = "identity";
/// Metadata key of the retry delay, in seconds.
const RETRY_AFTER: HeaderName = HeaderName::from_static("retry-after");

/// The gRPC binding, for cards and routes.
pub(super) const BINDING: Option<ProtocolBinding> = Some(ProtocolBinding::Grpc);

/// Creates the response to a request without a route; `None` if the request is not gRPC.
pub(super) fn rejection(ctx: &RequestContext<'_>, error: &Error) -> Option<Response<Body>> {
    let is_grpc = ctx.header(CONTENT_TYPE).is_some_and(is_grpc);
    is_grpc.then(|| error_response(error, Version::V1_0))
}

/// Returns whether a media type is gRPC, with any message format.
fn is_grpc(content_type: &str) -> bool {
    let suffix = content_type.strip_prefix(GRPC_CONTENT_TYPE);
    suffix.is_some_and(|it| it.is_empty() || it.starts_with(['+', ';']))
}

/// Reason for rejecting a call: an error of the protocol or of gRPC.
#[derive(Debug)]
enum Rejection {
    Error(Error),
    /// The message is compressed, which is not supported.
    Compressed,
    /// The message is flagged as compressed without naming the compression.
    MissingEncoding,
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Rejection {
    fn outcome(&self) -> CallOutcome {
        match self {
            Self::Error(error) => error.kind().into(),
            Self::Compressed | Self::MissingEncoding => CallOutcome::Rejected,
        }
    }

    fn response(&self, version: Version) -> Response<Body> {
        match self {
            Self::Error(error) => error_response(error, version),
            Self::Compressed => {
                let message = "compressed messages are not supported";
                let mut response =
                    trailers_only_response(status_trailers(&Status::unimplemented(message)));
                let accepted = HeaderValue::from_static(IDENTITY);
                response.headers_mut().insert(GRPC_ACCEPT_ENCODING, accepted);
                response
            }
            Self::MissingEncoding => {
                let message = "the message is compressed, but grpc-encoding is missing";
                trailers_only_response(status_trailers(&Status::internal(message)))
            }
        }
    }
}

impl Frontend {
    /// Handles a request to the path of a service.
    pub(super) async fn grpc<B>(
        &self,
        ctx: &RequestContext<'_>,
        body: &mut RequestBody<B>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let started = Instant::now();
        if ctx.path.starts_with("/grpc.") {
            if let Err(error) = self.admit_support_service(ctx) {
                return error_response(&error, Version::V1_0);
            }
            if ctx.path.starts_with(support_services::REFLECTION_PREFIX)
                && let Err(error) = self.authorize_internal(ctx, self.settings.reflection).await
            {
                return error_response(&error, Version::V1_0);
            }
            return match body.take() {
                Some(body) => self.support_services.handle(ctx.head.clone(), body).await,
                None => error_response(&Error::internal(), Version::V1_0),
            };
        }
        let Some((operation, package)) = grpc_binding::parse_path(ctx.path) else {
            let error = Error::new(ErrorKind::MethodNotFound, "unknown service or method");
            return error_response(&error, Version::V1_0);
        };
        let version = package.version();
        let labels = CallLabels { binding: Binding::Grpc, operation: Some(operation), version };
        match self.grpc_response(ctx, operation, package, body).await {
            Ok(response) => {
                self.record_call(labels, CallOutcome::Ok, started);
                response
            }
            Err(rejection) => {
                self.record_call(labels, rejection.outcome(), started);
                rejection.response(version)
            }
        }
    }

    /// Checks access to health and reflection. Health is always accessible.
    fn admit_support_service(&self, ctx: &RequestContext<'_>) -> Result<(), Error> {
        if ctx.path.starts_with("/grpc.health.") {
            return Ok(());
        }
        self.check_host(ctx.head, ctx.peer)?;
        self.charge_rate(ctx, &self.anonymous, None)
    }

    async fn grpc_response<B>(
        &self,
        ctx: &RequestContext<'_>,
        operation: Operation,
        package: Package,
        body: &mut RequestBody<B>,
    ) -> Result<Response<Body>, Rejection>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let is_call =
            ctx.head.method == Method::POST && ctx.header(CONTENT_TYPE).is_some_and(is_grpc);
        if !is_call {
            let message = "gRPC requires POST and the content type application/grpc";
            return Err(Error::new(ErrorKind::InvalidRequest, message).into());
        }
        let version = package.version();
        self.admit_call(ctx).map_err(|(_, error)| error)?;
        self.settings.version_policy.check(version, ctx.declared_version()?, None)?;
        let caller = self.authenticate(ctx).await?;
        self.charge_rate(ctx, &caller, Some(operation))?;
        let limits = &self.settings.http;
        let max_bytes = limits.max_body_bytes + frames::FRAME_HEADER_BYTES;
        let body = body.read(max_bytes, limits.body_timeout).await.map_err(Error::from)?;
        let message = frames::single_message(&body, ctx.header(GRPC_ENCODING))?;
        let request = read_request(operation, package, message)?;
        request.validate().map_err(Error::from)?;
        let reply_context = reply_context(&request);
        let dialect = Dialect::over_http(version);
        let result = match self.build_call(ctx, request, dialect, caller.clone()) {
            Ok(call) => self.service.call(call).await,
            Err(error) => Err(error),
        };
        let mut call_response = match result {
            // 0.3 has one method for both cards: a caller that may not read the extended card gets the
            // public one.
            Err(error)
                if version == Version::V0_3
                    && operation == Operation::GetExtendedAgentCard
                    && matches!(
                        error.kind(),
                        ErrorKind::ExtendedAgentCardNotConfigured
                            | ErrorKind::Unauthenticated
                            | ErrorKind::PermissionDenied
                    ) =>
            {
                let call = self.build_call(ctx, Request::GetAgentCard, dialect, caller)?;
                self.service.call(call).await?
            }
            result => result?,
        };
        self.complete_card(&mut call_response.kind, ctx, &reply_context);
        let CallResponse { kind, extensions, .. } = call_response;
        let grpc_body = match kind {
            ReplyKind::Stream(stream) => GrpcBody::streaming(stream, package),
            ReplyKind::Single(reply) => GrpcBody::unary(write_reply(package, &reply)?),
        };
        let response = with_content_type(Response::new(Body::Grpc(Box::new(grpc_body))));
        Ok(respond::with_extensions_header(response, &extensions, version))
    }
}

/// Decodes the request of an operation.
fn read_request(operation: Operation, package: Package, bytes: Bytes) -> Result<Request, Error> {
    match package {
        Package::V1_0 => v1::read_request(operation, bytes),
        Package::V0_3 => v0_3::read_request(operation, bytes),
    }
}

/// Encodes a reply as a framed message.
fn write_reply(package: Package, reply: &Reply) -> Result<Bytes, Error> {
    match package {
        Package::V1_0 => v1::write_reply(reply),
        Package::V0_3 => v0_3::write_reply(reply),
    }
}

/// Decodes a protobuf message of type `P` and converts it to the model.
fn decode_message<P, M>(bytes: Bytes) -> Result<M, Error>
where
    P: prost::Message + Default,
    M: TryFrom<P, Error: Into<Error>>,
{
    let message = P::decode(bytes).map_err(|_| {
        Error::new(ErrorKind::Parse, "the message is not a valid protobuf request of this method")
    })?;
    message.try_into().map_err(Into::into)
}

/// Creates the response to a call that failed before its first message: headers only.
fn error_response(error: &Error, version: Version) -> Response<Body> {
    trailers_only_response(result_trailers(Err((error, version))))
}

fn trailers_only_response(trailers: HeaderMap) -> Response<Body> {
    let mut response = with_content_type(Response::new(Body::empty()));
    response.headers_mut().extend(trailers);
    response
}

fn with_content_type(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(GRPC_CONTENT_TYPE));
    response
}

/// Encodes the result of a call as trailers.
fn result_trailers(result: Result<(), (&Error, Version)>) -> HeaderMap {
    let Err((error, version)) = result else { return status_trailers(&Status::new(Code::Ok, "")) };
    let written = error.to_grpc(version);
    let code = Code::from_i32(written.code);
    let mut trailers =
        status_trailers(&Status::with_details(code, written.message, written.details.into()));
    if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::RateLimited) {
        trailers.insert(RETRY_AFTER, respond::retry_after(error));
    }
    trailers
}

/// Encodes a status as trailers.
fn status_trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(4);
    if status.add_header(&mut trailers).is_err() {
        // The status cannot be encoded: 13 is the code INTERNAL.
        trailers.insert("grpc-status", HeaderValue::from_static("13"));
    }
    trailers
}
