//! Streams of server-sent events.

use std::collections::VecDeque;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use latimer_outbound::{Body, RequestError};
use latimer_protocol::binding::jsonrpc;
use latimer_protocol::binding::sse::{self, Decoder, Frame};
use latimer_protocol::{
    Dialect, ErrorKind, EventStream, Operation, Reply, SendMessageResponse, SharedEvent,
    StreamEvent, StreamResponse,
};
use tokio::time::timeout;

use super::http_channel::CallLimits;
use super::{error_response, stream_end};
use crate::error::Error;

/// Reads the response to a streaming request.
#[derive(Clone, Debug)]
pub(super) struct StreamReader {
    pub(super) dialect: Dialect,
    pub(super) origin: String,
    pub(super) limits: CallLimits,
    /// Kind of the error if nothing is served at the URL; `None` if the status 404 may mean that the
    /// task does not exist.
    pub(super) not_found_kind: Option<ErrorKind>,
}

impl StreamReader {
    /// Returns the events of a response. A response with one task or one message becomes a stream
    /// of it, because some servers never stream.
    ///
    /// # Errors
    /// The error in the response, or [`Error::InvalidResponse`] if it is not a stream.
    pub(super) async fn into_events(
        self,
        response: Response<Body>,
    ) -> Result<EventStream<Error>, Error> {
        let status = response.status();
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let is_event_stream = content_type
            .is_some_and(|it| it.trim_start().to_ascii_lowercase().starts_with(sse::CONTENT_TYPE));
        if status.is_success() && is_event_stream {
            return stream_end::wait_first_event(self.into_frame_events(response.into_body()))
                .await;
        }
        let body = self.read_body(response.into_body()).await?;
        if !status.is_success() {
            let version = self.dialect.version();
            let error = error_response::status_error(&self.origin, status, &body, version);
            return Err(error_response::refine_not_found(
                error,
                &body,
                version,
                self.not_found_kind,
            ));
        }
        let event = self.read_single_event(status, &body)?;
        let single = stream::iter([Ok(stream_event(event, None))]);
        Ok(stream_end::require_settled_end(Box::pin(single), self.origin))
    }

    /// Reads a response that is not a stream.
    async fn read_body(&self, body: Body) -> Result<Bytes, Error> {
        let request_error =
            |error| Error::from_request_error(&self.origin, error, self.limits.timeout);
        let collect = Limited::new(body, self.limits.max_body_bytes).collect();
        let collected = timeout(self.limits.timeout, collect)
            .await
            .map_err(|_| request_error(RequestError::Timeout))?;
        match collected {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) => Err(match error.downcast::<RequestError>() {
                Ok(error) => request_error(*error),
                Err(_) => {
                    request_error(RequestError::TooLarge { limit: self.limits.max_body_bytes })
                }
            }),
        }
    }

    /// Reads a response with one task or one message as an event.
    fn read_single_event(&self, status: StatusCode, body: &[u8]) -> Result<StreamResponse, Error> {
        let version = self.dialect.version();
        let Ok(response) = jsonrpc::Response::read(body) else {
            return Err(error_response::status_error(&self.origin, status, body, version));
        };
        let payload = match response.payload {
            jsonrpc::ResponsePayload::Error(_) => {
                return Err(error_response::parse_error(body, status.as_u16(), version).into());
            }
            jsonrpc::ResponsePayload::Result(payload) | jsonrpc::ResponsePayload::Bare(payload) => {
                payload
            }
        };
        match self.dialect.read_reply(Operation::SendMessage, payload) {
            Ok(Reply::SendMessage(SendMessageResponse::Task(task))) => {
                Ok(StreamResponse::Task(task.as_ref().clone()))
            }
            Ok(Reply::SendMessage(SendMessageResponse::Message(message))) => {
                Ok(StreamResponse::Message(message))
            }
            Ok(_) | Err(_) => Err(error_response::invalid_response(
                &self.origin,
                status,
                body,
                "it is not a stream of events",
            )),
        }
    }

    /// Decodes the frames of a stream into events.
    fn into_frame_events(self, body: Body) -> EventStream<Error> {
        let origin = self.origin.clone();
        let decoder = Decoder::with_limit(self.limits.max_body_bytes);
        let state =
            FrameReader { reader: self, body: Box::pin(body), decoder, ready: VecDeque::new() };
        let events = stream::unfold(Some(state), |state| async {
            let mut state = state?;
            match state.next().await {
                Ok(Some(event)) => Some((Ok(event), Some(state))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        stream_end::require_settled_end(events.boxed(), origin)
    }

    /// Decodes a frame; `None` for a frame that only marks the end.
    fn decode_frame(&self, frame: Frame) -> Result<Option<StreamEvent>, Error> {
        if frame.is_end() {
            return Ok(None);
        }
        let version = self.dialect.version();
        let status = StatusCode::INTERNAL_SERVER_ERROR.as_u16();
        if frame.is_error() {
            return Err(error_response::parse_error(&frame.data, status, version).into());
        }
        if let Some(event) = jsonrpc::read_event(self.dialect, &frame.data) {
            return Ok(Some(stream_event(event, frame.id.as_deref())));
        }
        let malformed = |problem: &dyn std::fmt::Display| {
            error_response::malformed(
                &self.origin,
                &format_args!("invalid event in the stream: {problem}"),
            )
        };
        let response = jsonrpc::Response::read(&frame.data).map_err(|error| malformed(&error))?;
        let payload = match response.payload {
            jsonrpc::ResponsePayload::Error(_) => {
                return Err(error_response::parse_error(&frame.data, status, version).into());
            }
            // Some servers use an envelope for the first event only, or over HTTP+JSON.
            jsonrpc::ResponsePayload::Result(payload) | jsonrpc::ResponsePayload::Bare(payload) => {
                payload
            }
        };
        let event = self.dialect.read_event(payload).map_err(|error| malformed(&error))?;
        Ok(Some(stream_event(event, frame.id.as_deref())))
    }
}

/// Creates an event; its id is the revision if it is a number, and unused otherwise.
fn stream_event(event: StreamResponse, id: Option<&str>) -> StreamEvent {
    let finality = stream_end::finality(&event);
    let revision = id.and_then(|id| id.parse().ok());
    StreamEvent { revision, event: SharedEvent::new(event), finality }
}

/// State of a stream that is being read.
struct FrameReader {
    reader: StreamReader,
    body: Pin<Box<Body>>,
    decoder: Decoder,
    /// Decoded events, and the error after them.
    ready: VecDeque<Result<StreamEvent, Error>>,
}

impl FrameReader {
    async fn next(&mut self) -> Result<Option<StreamEvent>, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return event.map(Some);
            }
            let Some(bytes) = self.next_bytes().await? else { return self.finish() };
            let mut remaining = bytes.as_ref();
            while let Some(frame) = self.decoder.read(&mut remaining).transpose() {
                let malformed = |error| error_response::malformed(&self.reader.origin, &error);
                let event = frame.map_err(malformed).and_then(|it| self.reader.decode_frame(it));
                let is_error = event.is_err();
                self.ready.extend(event.transpose());
                if is_error {
                    break;
                }
            }
        }
    }

    /// Returns the next bytes; `None` after a clean end.
    async fn next_bytes(&mut self) -> Result<Option<Bytes>, Error> {
        let limit = self.reader.limits.idle_timeout;
        let request_error = |error| Error::from_request_error(&self.reader.origin, error, limit);
        loop {
            let frame = timeout(limit, self.body.frame()).await;
            match frame.map_err(|_| request_error(RequestError::Timeout))? {
                None => return Ok(None),
                Some(frame) => match frame.map_err(request_error)?.into_data() {
                    Ok(bytes) => return Ok(Some(bytes)),
                    // Trailers carry no events.
                    Err(_) => continue,
                },
            }
        }
    }

    /// Reads what follows the last empty line: a complete event, or an incomplete one.
    fn finish(&mut self) -> Result<Option<StreamEvent>, Error> {
        while let Some(frame) = self.decoder.finish() {
            match self.reader.decode_frame(frame) {
                Ok(None) => {}
                Err(Error::InvalidResponse { origin, .. }) => {
                    return Err(Error::StreamInterrupted { origin });
                }
                event => return event,
            }
        }
        Ok(None)
    }
}
