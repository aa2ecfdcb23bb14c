//! Request bodies, read within limits, and response bodies.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use latimer_protocol::{Error, ErrorKind};

#[cfg(feature = "grpc")]
use super::grpc::GrpcBody;
use super::sse::SseBody;

/// Body of a response.
pub(crate) enum Body {
    /// Complete body; `None` after it was sent.
    Full(Option<Bytes>),
    /// Server-sent events.
    Sse(Box<SseBody>),
    /// gRPC messages and trailers.
    #[cfg(feature = "grpc")]
    Grpc(Box<GrpcBody>),
    /// Body from another router, such as a merged route.
    Other(axum::body::Body),
}

impl Body {
    pub(super) fn empty() -> Self {
        Self::Full(None)
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self::Full(Some(bytes.into()).filter(|it| !it.is_empty()))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut *self {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|it| Ok(Frame::data(it)))),
            Self::Sse(events) => events.poll(context).map(|it| it.map(|it| Ok(Frame::data(it)))),
            #[cfg(feature = "grpc")]
            Self::Grpc(frames) => frames.poll(context).map(|it| it.map(Ok)),
            Self::Other(body) => Pin::new(body).poll_frame(context).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_none(),
            Self::Sse(events) => events.is_finished(),
            #[cfg(feature = "grpc")]
            Self::Grpc(frames) => frames.is_finished(),
            Self::Other(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Sse(_) => SizeHint::default(),
            #[cfg(feature = "grpc")]
            Self::Grpc(_) => SizeHint::default(),
            Self::Other(body) => body.size_hint(),
        }
    }
}

/// Reason that a request body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// The body exceeds this number of bytes.
    TooLarge(usize),
    /// The body did not arrive within this time.
    TimedOut(Duration),
    /// The connection closed before the end of the body.
    Truncated,
}

impl BodyError {
    /// Returns the HTTP status, for bindings that use statuses.
    pub(super) fn status(self) -> http::StatusCode {
        match self {
            Self::TooLarge(_) => http::StatusCode::PAYLOAD_TOO_LARGE,
            Self::TimedOut(_) => http::StatusCode::REQUEST_TIMEOUT,
            Self::Truncated => http::StatusCode::BAD_REQUEST,
        }
    }
}

impl From<BodyError> for Error {
    fn from(error: BodyError) -> Self {
        let invalid = |message: String| Self::new(ErrorKind::InvalidRequest, message);
        match error {
            BodyError::TooLarge(limit) => invalid(format!("the body is larger than {limit} bytes"))
                .with_metadata("limit", limit.to_string()),
            BodyError::TimedOut(limit) => {
                invalid(format!("the body took longer than {} s", limit.as_secs_f32()))
            }
            BodyError::Truncated => invalid("the body is incomplete".to_owned()),
        }
    }
}

/// Reads a body of at most `limit` bytes within `timeout`.
pub(super) async fn read<B>(body: B, limit: usize, timeout: Duration) -> Result<Bytes, BodyError>
where
    B: HttpBody<Data = Bytes>,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(BodyError::TooLarge(limit));
    }
    match tokio::time::timeout(timeout, collect(body, limit, announced)).await {
        Ok(result) => result,
        Err(_) => Err(BodyError::TimedOut(timeout)),
    }
}

async fn collect<B>(body: B, limit: usize, announced: usize) -> Result<Bytes, BodyError>
where
    B: HttpBody<Data = Bytes>,
{
    let mut body = pin!(body);
    // Most bodies arrive as one chunk, which is returned without a copy.
    let mut first = Bytes::new();
    let mut all = Vec::new();
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(chunk) = frame.map_err(|_| BodyError::Truncated)?.into_data() else { continue };
        if first.len().max(all.len()) + chunk.len() > limit {
            return Err(BodyError::TooLarge(limit));
        }
        if first.is_empty() && all.is_empty() {
            first = chunk;
            continue;
        }
        if all.is_empty() {
            all.reserve(announced.max(first.len() + chunk.len()));
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&chunk);
    }
    Ok(if all.is_empty() { first } else { all.into() })
}
