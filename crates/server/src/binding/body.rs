//! Request bodies, read within limits, and response bodies.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use http::header::{CONNECTION, EXPECT};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Version};
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

/// Body of a request, of which a handler may leave a part unread.
pub(crate) struct RequestBody<B> {
    /// `None` once the body was read or taken.
    body: Option<B>,
    /// Whether the rest cannot be read.
    is_broken: bool,
}

impl<B> RequestBody<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    pub(crate) fn new(body: B) -> Self {
        Self { body: Some(body), is_broken: false }
    }

    /// Returns the body, for a handler that reads it on its own.
    #[cfg(feature = "grpc")]
    pub(super) fn take(&mut self) -> Option<B> {
        self.body.take()
    }

    /// Reads a body of at most `limit` bytes within `timeout`.
    pub(super) async fn read(
        &mut self,
        limit: usize,
        timeout: Duration,
    ) -> Result<Bytes, BodyError> {
        let Some(body) = self.body.as_mut().filter(|it| !it.is_end_stream()) else {
            return Ok(Bytes::new());
        };
        let announced = announced_bytes(body);
        if announced > limit {
            return Err(BodyError::TooLarge(limit));
        }
        let result = match tokio::time::timeout(timeout, collect(body, limit, announced)).await {
            Ok(result) => result,
            Err(_) => Err(BodyError::TimedOut(timeout)),
        };
        match &result {
            Ok(_) => self.body = None,
            Err(BodyError::TooLarge(_)) => {}
            Err(BodyError::TimedOut(_) | BodyError::Truncated) => self.is_broken = true,
        }
        result
    }

    /// Adds `Connection: close` to a response over HTTP/1 whose request has an unread rest, unless
    /// the rest is small and arrives soon. Hyper closes such connections, and a client that does not
    /// know sends its next request on them.
    pub(crate) async fn finish(&mut self, head: &Parts, response: &mut HeaderMap) {
        let Some(body) = self.body.as_mut().filter(|it| !it.is_end_stream()) else { return };
        if head.version > Version::HTTP_11 {
            return;
        }
        // A client that waits for `100 Continue` has not sent the body, and reading would request it.
        let can_discard = !self.is_broken
            && !head.headers.contains_key(EXPECT)
            && announced_bytes(body) <= MAX_DISCARDED_BYTES;
        if can_discard {
            let discarded = Box::pin(collect(body, MAX_DISCARDED_BYTES, 0));
            if matches!(tokio::time::timeout(DISCARD_TIMEOUT, discarded).await, Ok(Ok(_))) {
                return;
            }
        }
        response.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Maximum size of the rest of a request that is read and discarded after its response.
const MAX_DISCARDED_BYTES: usize = 64 * 1024;
/// Maximum time in which the rest of a request is read and discarded.
const DISCARD_TIMEOUT: Duration = Duration::from_millis(500);

/// Returns the number of bytes that a body announces to have, at least.
fn announced_bytes(body: &impl HttpBody) -> usize {
    usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX)
}

async fn collect<B>(body: &mut B, limit: usize, announced: usize) -> Result<Bytes, BodyError>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    // Most bodies arrive as one chunk, which is returned without a copy.
    let mut first = Bytes::new();
    let mut all = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
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
