//! gRPC: both packages, by their names.
//!
//! Messages are framed here and not by generated services, so that an event that many read is
//! encoded once, and so that limits and errors are those of the other bindings. Health and
//! reflection are tonic's own.

mod frames;
mod helpers;
mod v0_3;
mod v1;

use std::time::Instant;

use axum::BoxError;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Method, Response};
use latimer_protocol::binding::grpc as names;
use latimer_protocol::{
    CallResponse, Dialect, Error, ErrorKind, Operation, Reply, Request, Version,
};
use tonic::{Code, Status};

pub(crate) use frames::Frames;
pub(crate) use helpers::Helpers;

use super::body::{self, Body};
use super::{At, Front, kept, respond};
use crate::metrics::{Counted, Outcome, Transport};

/// The media type of gRPC.
const GRPC: &str = "application/grpc";
/// How messages are encoded.
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
/// How they could have been.
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
/// The encoding that is none.
const IDENTITY: &str = "identity";
/// When to try again, in seconds.
const RETRY_AFTER: HeaderName = HeaderName::from_static("retry-after");

/// Whether this is the media type of gRPC, in whatever encoding.
pub(super) fn is_grpc(content_type: &str) -> bool {
    let rest = content_type.strip_prefix(GRPC);
    rest.is_some_and(|it| it.is_empty() || it.starts_with(['+', ';']))
}

/// Why a call is refused: in the words of the protocol, or of gRPC itself.
#[derive(Debug)]
enum Refusal {
    Error(Error),
    /// Its message is compressed, and nothing here can read that.
    Compressed,
    /// Its message is said to be compressed, but not how.
    NotCompressed,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Refusal {
    fn outcome(&self) -> Outcome {
        match self {
            Self::Error(error) => error.kind().into(),
            Self::Compressed | Self::NotCompressed => Outcome::Refused,
        }
    }

    fn response(&self, version: Version) -> Response<Body> {
        match self {
            Self::Error(error) => refused(error, version),
            Self::Compressed => {
                let message = "compressed messages are not served";
                let mut response = only_headers(status(&Status::unimplemented(message)));
                let accepted = HeaderValue::from_static(IDENTITY);
                response.headers_mut().insert(ACCEPT_ENCODING, accepted);
                response
            }
            Self::NotCompressed => {
                let message =
                    "the message is said to be compressed, but grpc-encoding says not how";
                only_headers(status(&Status::internal(message)))
            }
        }
    }
}

impl Front {
    /// Answers whatever is sent to the address of a service.
    pub(super) async fn grpc<B>(&self, at: &At<'_>, body: B) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let started = Instant::now();
        if at.path.starts_with("/grpc.") {
            if let Err(error) = self.admit_helper(at) {
                return refused(&error, Version::V1_0);
            }
            if at.path.starts_with(helpers::REFLECTION)
                && let Err(error) = self.check_insider(at, self.settings.reflection).await
            {
                return refused(&error, Version::V1_0);
            }
            return self.helpers.answer(at.head.clone(), body).await;
        }
        let Some((operation, version)) = names::parse_path(at.path) else {
            let error = Error::new(ErrorKind::MethodNotFound, "there is no such service or method");
            return refused(&error, Version::V1_0);
        };
        let what = Counted { transport: Transport::Grpc, operation: Some(operation), version };
        match self.grpc_answer(at, operation, version, body).await {
            Ok(response) => {
                self.count(what, Outcome::Ok, started);
                response
            }
            Err(refusal) => {
                self.count(what, refusal.outcome(), started);
                refusal.response(version)
            }
        }
    }

    /// Whether a service beside the protocol's may be asked. Health always may.
    fn admit_helper(&self, at: &At<'_>) -> Result<(), Error> {
        if at.path.starts_with("/grpc.health.") {
            return Ok(());
        }
        self.check_host(at.head, at.peer)?;
        self.charge(at, &self.anonymous, None)
    }

    async fn grpc_answer<B>(
        &self,
        at: &At<'_>,
        operation: Operation,
        version: Version,
        body: B,
    ) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let is_call =
            at.head.method == Method::POST && at.header(CONTENT_TYPE).is_some_and(is_grpc);
        if !is_call {
            let message = "gRPC is called with POST and its own content type";
            return Err(Error::new(ErrorKind::InvalidRequest, message).into());
        }
        self.admit_call(at).map_err(|(_, error)| error)?;
        self.settings.version_rule.check(version, at.said()?, None)?;
        let caller = self.caller(at).await?;
        self.charge(at, &caller, Some(operation))?;
        let limits = &self.settings.http;
        let body = body::read(body, limits.body + frames::HEAD, limits.body_time).await;
        let body = body.map_err(Error::from)?;
        let message = frames::only_message(&body, at.header(ENCODING))?;
        let request = read(operation, version, message)?;
        request.validate().map_err(Error::from)?;
        let asked = kept(&request);
        let dialect = Dialect::over_http(version);
        let answer = match self.ask(at, request, dialect, caller.clone()) {
            Ok(call) => self.service.call(call).await,
            Err(error) => Err(error),
        };
        let mut answer = match answer {
            // 0.3 has one method for the card: whoever asks it wants the best that it may have.
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
                let call = self.ask(at, Request::GetAgentCard, dialect, caller)?;
                self.service.call(call).await?
            }
            answer => answer?,
        };
        self.complete(&mut answer.reply, at, &asked);
        let CallResponse { reply, extensions, .. } = answer;
        let frames = match reply {
            Reply::Stream(stream) => Frames::stream(stream, version),
            reply => Frames::whole(write(version, &reply)?),
        };
        let response = head(Response::new(Body::Grpc(Box::new(frames))));
        Ok(respond::extended(response, &extensions, version))
    }
}

/// Reads the request of an operation.
fn read(operation: Operation, version: Version, bytes: Bytes) -> Result<Request, Error> {
    match version {
        Version::V1_0 => v1::read(operation, bytes),
        Version::V0_3 => v0_3::read(operation, bytes),
        Version::V0_1 => Err(Error::internal()),
    }
}

/// Writes a reply, as a message in its frame.
fn write(version: Version, reply: &Reply) -> Result<Bytes, Error> {
    match version {
        Version::V1_0 => v1::write(reply),
        Version::V0_3 => v0_3::write(reply),
        Version::V0_1 => Err(Error::internal()),
    }
}

/// Reads a message of the protobuf type `P` as what it means.
fn message<P, M>(bytes: Bytes) -> Result<M, Error>
where
    P: prost::Message + Default,
    M: TryFrom<P, Error: Into<Error>>,
{
    let message = P::decode(bytes).map_err(|_| {
        Error::new(ErrorKind::Parse, "the message is not protobuf of this method's request")
    })?;
    message.try_into().map_err(Into::into)
}

/// The answer to a call that failed before anything was sent: headers, and nothing else.
pub(super) fn refused(error: &Error, version: Version) -> Response<Body> {
    only_headers(trailers(Err((error, version))))
}

fn only_headers(trailers: HeaderMap) -> Response<Body> {
    let mut response = head(Response::new(Body::empty()));
    response.headers_mut().extend(trailers);
    response
}

fn head(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(GRPC));
    response
}

/// How a call ended, as trailers.
fn trailers(ended: Result<(), (&Error, Version)>) -> HeaderMap {
    let Err((error, version)) = ended else { return status(&Status::new(Code::Ok, "")) };
    let written = error.to_grpc(version);
    let code = Code::from_i32(written.code);
    let mut trailers = status(&Status::with_details(code, written.message, written.details.into()));
    if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::RateLimited) {
        trailers.insert(RETRY_AFTER, respond::retry_after(error));
    }
    trailers
}

/// A status, as trailers.
fn status(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(4);
    if status.add_header(&mut trailers).is_err() {
        // What cannot be said in a header is at least not said to be well.
        trailers.insert("grpc-status", HeaderValue::from_static("13"));
    }
    trailers
}
