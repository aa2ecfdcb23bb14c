//! Request and response bodies.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use http_body::{Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;

use super::error::{BoxError, RequestError};

/// Body of a request, of any type.
pub(super) type RequestBody = UnsyncBoxBody<Bytes, BoxError>;

pub(super) fn boxed<B>(body: B) -> RequestBody
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

/// Body of a response, read as it arrives. Dropping it before the end closes an HTTP/1.1 connection
/// and resets an HTTP/2 stream.
#[derive(Debug)]
pub struct Body(Incoming);

impl Body {
    pub(super) fn new(incoming: Incoming) -> Self {
        Self(incoming)
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = RequestError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RequestError>>> {
        Pin::new(&mut self.0).poll_frame(context).map_err(RequestError::broken)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

/// Reads a response to its end. Fails if the body exceeds `limit` bytes.
pub(super) async fn read_to_end(
    response: Response<Body>,
    limit: usize,
) -> Result<Response<Bytes>, RequestError> {
    let (parts, body) = response.into_parts();
    let collected = Limited::new(body, limit).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() {
            return RequestError::TooLarge { limit };
        }
        error.downcast().map_or_else(RequestError::broken, |failure| *failure)
    })?;
    Ok(Response::from_parts(parts, collected.to_bytes()))
}
