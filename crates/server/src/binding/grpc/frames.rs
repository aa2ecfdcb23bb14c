//! Framing of gRPC messages.

use std::task::{Context, Poll};

use bytes::{BufMut, Bytes};
use http_body::Frame;
use latimer_protocol::binding::grpc::Package;
use latimer_protocol::{Error, ErrorKind, EventStream, StreamEvent};
use tracing::debug;

use super::{IDENTITY, Rejection, result_trailers};

/// Size of the header of a message: compression flag and length.
pub(super) const FRAME_HEADER_BYTES: usize = 5;
/// Size at which a chunk of messages is sent; a single message may be larger.
const MAX_CHUNK_BYTES: usize = 64 * 1024;

/// Returns the single message of a request body. `encoding` is the value of `grpc-encoding`.
pub(super) fn single_message(body: &Bytes, encoding: Option<&str>) -> Result<Bytes, Rejection> {
    let invalid = |message: &'static str| Error::new(ErrorKind::InvalidRequest, message).into();
    let Some((head, message)) = body.split_first_chunk::<FRAME_HEADER_BYTES>() else {
        return Err(invalid("the call has no message"));
    };
    let [compressed, length @ ..] = *head;
    if compressed != 0 {
        return Err(match encoding {
            None | Some(IDENTITY) => Rejection::MissingEncoding,
            Some(_) => Rejection::Compressed,
        });
    }
    if message.len() as u64 != u64::from(u32::from_be_bytes(length)) {
        return Err(invalid("the call must have exactly one message"));
    }
    Ok(body.slice(FRAME_HEADER_BYTES..))
}

/// Encodes a message with its frame header.
pub(super) fn encode_frame(message: &impl prost::Message) -> Result<Bytes, Error> {
    let length = message.encoded_len();
    let mut out = Vec::with_capacity(FRAME_HEADER_BYTES + length);
    put_frame_header(&mut out, length)?;
    // Fails only in a buffer that cannot grow, which a vector can.
    message.encode(&mut out).map_err(|_| Error::internal())?;
    Ok(out.into())
}

/// Appends the header of a message. Fails if the message exceeds 4 GiB, the limit of the framing.
fn put_frame_header(out: &mut Vec<u8>, length: usize) -> Result<(), Error> {
    out.put_u8(0);
    out.put_u32(u32::try_from(length).map_err(|_| Error::internal())?);
    Ok(())
}

/// Body of a gRPC response: messages and trailers.
pub(crate) struct GrpcBody {
    state: BodyState,
    package: Package,
}

/// Unsent part of a body.
enum BodyState {
    Message(Bytes),
    Events(EventStream),
    Trailers(Option<Error>),
    Done,
}

impl GrpcBody {
    /// Creates a body with one message.
    pub(super) fn unary(message: Bytes) -> Self {
        Self { state: BodyState::Message(message), package: Package::V1_0 }
    }

    /// Creates a body with one message per event.
    pub(super) fn streaming(stream: EventStream, package: Package) -> Self {
        Self { state: BodyState::Events(stream), package }
    }

    /// Returns whether everything was sent.
    pub(in crate::binding) fn is_finished(&self) -> bool {
        matches!(self.state, BodyState::Done)
    }

    /// Polls for the next frame: all messages that are ready, or the trailers.
    pub(in crate::binding) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Frame<Bytes>>> {
        match std::mem::replace(&mut self.state, BodyState::Done) {
            BodyState::Message(message) => {
                self.state = BodyState::Trailers(None);
                Poll::Ready(Some(Frame::data(message)))
            }
            BodyState::Events(stream) => self.poll_events(stream, context),
            BodyState::Trailers(error) => Poll::Ready(Some(self.trailers(error.as_ref()))),
            BodyState::Done => Poll::Ready(None),
        }
    }

    fn poll_events(
        &mut self,
        mut stream: EventStream,
        context: &mut Context<'_>,
    ) -> Poll<Option<Frame<Bytes>>> {
        let mut chunk = Vec::new();
        let ended = loop {
            match stream.as_mut().poll_next(context) {
                Poll::Ready(Some(Ok(event))) => match self.push_event(&mut chunk, &event) {
                    Ok(()) if chunk.len() < MAX_CHUNK_BYTES => {}
                    Ok(()) => break None,
                    Err(error) => break Some(Some(error)),
                },
                Poll::Ready(Some(Err(error))) => break Some(Some(error)),
                Poll::Ready(None) => break Some(None),
                Poll::Pending => break None,
            }
        };
        match ended {
            None => self.state = BodyState::Events(stream),
            Some(error) if chunk.is_empty() => {
                return Poll::Ready(Some(self.trailers(error.as_ref())));
            }
            Some(error) => self.state = BodyState::Trailers(error),
        }
        match chunk.is_empty() {
            true => Poll::Pending,
            false => Poll::Ready(Some(Frame::data(chunk.into()))),
        }
    }

    fn push_event(&self, chunk: &mut Vec<u8>, event: &StreamEvent) -> Result<(), Error> {
        let message = event.event.encode_protobuf(self.package, event.finality);
        chunk.reserve(FRAME_HEADER_BYTES + message.len());
        put_frame_header(chunk, message.len())?;
        chunk.extend_from_slice(&message);
        Ok(())
    }

    fn trailers(&self, error: Option<&Error>) -> Frame<Bytes> {
        if let Some(error) = error {
            debug!(error = %error, "stream failed");
        }
        Frame::trailers(result_trailers(
            error.map_or(Ok(()), |it| Err((it, self.package.version()))),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_must_have_one_uncompressed_message() {
        let encoded =
            |bytes: &'static [u8], encoding| single_message(&Bytes::from_static(bytes), encoding);
        let message = |bytes: &'static [u8]| encoded(bytes, None);
        assert_eq!(message(b"\0\0\0\0\x02ab").unwrap(), b"ab"[..]);
        assert_eq!(message(b"\0\0\0\0\0").unwrap(), b""[..]);
        // The header permits compression but does not require it.
        assert_eq!(encoded(b"\0\0\0\0\x01a", Some("gzip")).unwrap(), b"a"[..]);
        let compressed = |encoding| encoded(b"\x01\0\0\0\x01a", encoding).unwrap_err();
        assert!(matches!(compressed(Some("gzip")), Rejection::Compressed));
        assert!(matches!(compressed(Some("identity")), Rejection::MissingEncoding));
        assert!(matches!(compressed(None), Rejection::MissingEncoding));
        for bytes in [
            &b""[..],
            b"\0\0\0\0",
            b"\x01\0\0\0\0",
            b"\0\0\0\0\x02a",
            b"\0\0\0\0\x01ab",
            b"\0\xff\xff\xff\xff",
        ] {
            assert!(message(bytes).is_err(), "{bytes:?}");
        }
    }
}
