//! Bodies: those that are read, within limits, and those that are written.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use latimer_protocol::{Error, ErrorKind};

use super::grpc::Frames;
use super::sse::Events;

/// The body of an answer.
pub(crate) enum Body {
    /// All of it at once; none when it was given away.
    Whole(Option<Bytes>),
    /// Server-sent events.
    Events(Box<Events>),
    /// Messages of gRPC, and its trailers.
    Grpc(Box<Frames>),
    /// What somebody else makes.
    Other(axum::body::Body),
}

impl Body {
    pub(super) fn empty() -> Self {
        Self::Whole(None)
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self::Whole(Some(bytes.into()).filter(|it| !it.is_empty()))
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
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|it| Ok(Frame::data(it)))),
            Self::Events(events) => events.poll(context).map(|it| it.map(|it| Ok(Frame::data(it)))),
            Self::Grpc(frames) => frames.poll(context).map(|it| it.map(Ok)),
            Self::Other(body) => Pin::new(body).poll_frame(context).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Events(events) => events.is_over(),
            Self::Grpc(frames) => frames.is_over(),
            Self::Other(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Events(_) | Self::Grpc(_) => SizeHint::default(),
            Self::Other(body) => body.size_hint(),
        }
    }
}

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is larger than this.
    TooLarge(usize),
    /// It takes longer than this.
    TooSlow(Duration),
    /// It ended before its end.
    Cut,
}

impl Unread {
    /// The HTTP status that says so, where the binding has statuses.
    pub(super) fn status(self) -> http::StatusCode {
        match self {
            Self::TooLarge(_) => http::StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow(_) => http::StatusCode::REQUEST_TIMEOUT,
            Self::Cut => http::StatusCode::BAD_REQUEST,
        }
    }
}

impl From<Unread> for Error {
    fn from(unread: Unread) -> Self {
        let invalid = |message: String| Self::new(ErrorKind::InvalidRequest, message);
        match unread {
            Unread::TooLarge(limit) => invalid(format!("the body is larger than {limit} bytes"))
                .with_metadata("limit", limit.to_string()),
            Unread::TooSlow(limit) => {
                invalid(format!("the body took longer than {} s to arrive", limit.as_secs_f32()))
            }
            Unread::Cut => invalid("the body ended too early".to_owned()),
        }
    }
}

/// Reads a body of at most `limit` bytes that arrives within `time`.
pub(super) async fn read<B>(body: B, limit: usize, time: Duration) -> Result<Bytes, Unread>
where
    B: HttpBody<Data = Bytes>,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(Unread::TooLarge(limit));
    }
    match tokio::time::timeout(time, collect(body, limit, announced)).await {
        Ok(read) => read,
        Err(_) => Err(Unread::TooSlow(time)),
    }
}

async fn collect<B>(body: B, limit: usize, announced: usize) -> Result<Bytes, Unread>
where
    B: HttpBody<Data = Bytes>,
{
    let mut body = pin!(body);
    // Most bodies come in one piece, which is then taken as it is.
    let mut first = Bytes::new();
    let mut all = Vec::new();
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(piece) = frame.map_err(|_| Unread::Cut)?.into_data() else { continue };
        if first.len().max(all.len()) + piece.len() > limit {
            return Err(Unread::TooLarge(limit));
        }
        if first.is_empty() && all.is_empty() {
            first = piece;
            continue;
        }
        if all.is_empty() {
            all.reserve(announced.max(first.len() + piece.len()));
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&piece);
    }
    Ok(if all.is_empty() { first } else { all.into() })
}
