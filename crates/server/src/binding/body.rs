//! Bodies: those that are read, within limits, and those that are written.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use latimer_protocol::{Error, ErrorKind};

use super::grpc::GrpcBody;
use super::sse::SseBody;

/// The body of an answer.
pub(crate) enum Body {
    /// All of it at once; none when it was given away.
    Full(Option<Bytes>),
    /// Server-sent events.
    Sse(Box<SseBody>),
    /// Messages of gRPC, and its trailers.
    Grpc(Box<GrpcBody>),
    /// What somebody else makes.
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
            Self::Grpc(frames) => frames.poll(context).map(|it| it.map(Ok)),
            Self::Other(body) => Pin::new(body).poll_frame(context).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_none(),
            Self::Sse(events) => events.is_finished(),
            Self::Grpc(frames) => frames.is_finished(),
            Self::Other(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Sse(_) | Self::Grpc(_) => SizeHint::default(),
            Self::Other(body) => body.size_hint(),
        }
    }
}

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It is larger than this.
    TooLarge(usize),
    /// It takes longer than this.
    TimedOut(Duration),
    /// It ended before its end.
    Truncated,
}

impl BodyError {
    /// The HTTP status that says so, where the binding has statuses.
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
                invalid(format!("the body took longer than {} s to arrive", limit.as_secs_f32()))
            }
            BodyError::Truncated => invalid("the body ended too early".to_owned()),
        }
    }
}

/// Reads a body of at most `limit` bytes that arrives within `time`.
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
    // Most bodies come in one piece, which is then taken as it is.
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
