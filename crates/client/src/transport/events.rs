//! Server-sent events, as they come in from an agent.

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
    Dialect, ErrorKind, Operation, Reply, SendMessageResponse, SharedEvent, StreamEvent,
    StreamResponse,
};
use tokio::time::timeout;

use super::wire::Limits;
use super::{Events, ending, page};
use crate::error::Error;

/// How the answer to a request for a stream is read.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) dialect: Dialect,
    pub(super) origin: String,
    pub(super) limits: Limits,
    /// What is missing where there is nothing at the address; none where it may be the task.
    pub(super) missing: Option<ErrorKind>,
}

impl Reading {
    /// The events of an answer.
    ///
    /// # Errors
    /// When the answer is an error, or anything else but a stream. A reply that is one task or one
    /// message is a stream of it: some servers do not stream whatever they are asked for.
    pub(super) async fn events(self, response: Response<Body>) -> Result<Events, Error> {
        let status = response.status();
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let streams = content_type
            .is_some_and(|it| it.trim_start().to_ascii_lowercase().starts_with(sse::CONTENT_TYPE));
        if status.is_success() && streams {
            return ending::begun(self.frames(response.into_body())).await;
        }
        let body = self.whole(response.into_body()).await?;
        if !status.is_success() {
            let version = self.dialect.version();
            let error = page::failure(&self.origin, status, &body, version);
            return Err(page::told_apart(error, &body, version, self.missing));
        }
        let event = self.only_event(status, &body)?;
        let only = stream::iter([Ok(streamed(event, None))]);
        Ok(ending::until_the_end(Box::pin(only), self.origin))
    }

    /// The whole of an answer that should have been a stream.
    async fn whole(&self, body: Body) -> Result<Bytes, Error> {
        let failed = |failure| Error::of(&self.origin, failure, self.limits.call);
        let read = Limited::new(body, self.limits.body).collect();
        let read =
            timeout(self.limits.call, read).await.map_err(|_| failed(RequestError::Timeout))?;
        match read {
            Ok(read) => Ok(read.to_bytes()),
            Err(error) => Err(match error.downcast::<RequestError>() {
                Ok(failure) => failed(*failure),
                Err(_) => failed(RequestError::TooLarge { limit: self.limits.body }),
            }),
        }
    }

    fn only_event(&self, status: StatusCode, body: &[u8]) -> Result<StreamResponse, Error> {
        let version = self.dialect.version();
        let Ok(response) = jsonrpc::Response::read(body) else {
            return Err(page::failure(&self.origin, status, body, version));
        };
        let payload = match response.payload {
            jsonrpc::ResponsePayload::Error(_) => {
                return Err(page::said(body, status.as_u16(), version).into());
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
            Ok(_) | Err(_) => {
                Err(page::unreadable(&self.origin, status, body, "it is not a stream of events"))
            }
        }
    }

    /// The frames of a stream, as the events they are.
    fn frames(self, body: Body) -> Events {
        let origin = self.origin.clone();
        let decoder = Decoder::with_limit(self.limits.body);
        let state = Frames { reading: self, body: Box::pin(body), decoder, ready: VecDeque::new() };
        let events = stream::unfold(Some(state), |state| async {
            let mut state = state?;
            match state.next().await {
                Ok(Some(event)) => Some((Ok(event), Some(state))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        ending::until_the_end(events.boxed(), origin)
    }

    /// The event of a frame; none for one that only says that there are no more.
    fn event(&self, frame: Frame) -> Result<Option<StreamEvent>, Error> {
        if frame.is_end() {
            return Ok(None);
        }
        let version = self.dialect.version();
        let status = StatusCode::INTERNAL_SERVER_ERROR.as_u16();
        if frame.is_error() {
            return Err(page::said(&frame.data, status, version).into());
        }
        if let Some(event) = jsonrpc::read_event(self.dialect, &frame.data) {
            return Ok(Some(streamed(event, frame.id.as_deref())));
        }
        let unreadable = |problem: &dyn std::fmt::Display| {
            page::malformed(&self.origin, &format_args!("an event of its stream: {problem}"))
        };
        let response = jsonrpc::Response::read(&frame.data).map_err(|error| unreadable(&error))?;
        let payload = match response.payload {
            jsonrpc::ResponsePayload::Error(_) => {
                return Err(page::said(&frame.data, status, version).into());
            }
            // Some servers put an envelope around the first event only, or around those of HTTP+JSON.
            jsonrpc::ResponsePayload::Result(payload) | jsonrpc::ResponsePayload::Bare(payload) => {
                payload
            }
        };
        let event = self.dialect.read_event(payload).map_err(|error| unreadable(&error))?;
        Ok(Some(streamed(event, frame.id.as_deref())))
    }
}

/// An event, with its number if its server gives numbers. Others give names, which are of no use.
fn streamed(event: StreamResponse, id: Option<&str>) -> StreamEvent {
    let then = ending::then(&event);
    let revision = id.and_then(|id| id.parse().ok());
    StreamEvent { revision, event: SharedEvent::new(event), finality: then }
}

/// A stream in the middle of being read.
struct Frames {
    reading: Reading,
    body: Pin<Box<Body>>,
    decoder: Decoder,
    /// Events in their order, and behind them what went wrong.
    ready: VecDeque<Result<StreamEvent, Error>>,
}

impl Frames {
    async fn next(&mut self) -> Result<Option<StreamEvent>, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return event.map(Some);
            }
            let Some(bytes) = self.more().await? else { return self.last() };
            let mut rest = bytes.as_ref();
            while let Some(frame) = self.decoder.read(&mut rest).transpose() {
                let malformed = |error| page::malformed(&self.reading.origin, &error);
                let event = frame.map_err(malformed).and_then(|it| self.reading.event(it));
                let failed = event.is_err();
                self.ready.extend(event.transpose());
                if failed {
                    break;
                }
            }
        }
    }

    /// The next bytes; none when the connection has closed in order.
    async fn more(&mut self) -> Result<Option<Bytes>, Error> {
        let limit = self.reading.limits.idle;
        let failed = |failure| Error::of(&self.reading.origin, failure, limit);
        loop {
            let frame = timeout(limit, self.body.frame()).await;
            match frame.map_err(|_| failed(RequestError::Timeout))? {
                None => return Ok(None),
                Some(frame) => match frame.map_err(failed)?.into_data() {
                    Ok(bytes) => return Ok(Some(bytes)),
                    // Trailers, which say nothing.
                    Err(_) => continue,
                },
            }
        }
    }

    /// What a server left without the empty line behind it: a whole event, or a part of one.
    fn last(&mut self) -> Result<Option<StreamEvent>, Error> {
        while let Some(frame) = self.decoder.finish() {
            match self.reading.event(frame) {
                Ok(None) => {}
                Err(Error::Unreadable { origin, .. }) => return Err(Error::Cut { origin }),
                event => return event,
            }
        }
        Ok(None)
    }
}
