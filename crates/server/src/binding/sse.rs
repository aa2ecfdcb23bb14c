//! Streams as server-sent events.
//!
//! Events that are ready at the same time are sent as one chunk. An event that is already encoded is
//! copied once.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use latimer_protocol::binding::jsonrpc::{self, Envelope, Id};
use latimer_protocol::binding::sse::{self, FrameHead};
use latimer_protocol::{Dialect, Error, EventStream, EventWriter, Request, StreamEvent};
use tokio::time::{Instant, Sleep};
use tracing::debug;

use crate::settings::StreamTerminator;

/// Size at which a chunk of events is sent; a single event may be larger.
const MAX_CHUNK_BYTES: usize = 64 * 1024;
/// Initial capacity of a chunk: enough for a few short events.
const INITIAL_CHUNK_BYTES: usize = 2048;

/// Response body with the events of one stream.
pub(crate) struct SseBody {
    stream: EventStream,
    writer: SseWriter,
    terminator: StreamTerminator,
    keep_alive: KeepAliveTimer,
    started: bool,
    finished: bool,
}

/// Timer for keep-alive comments. Created when a stream first waits for an event.
struct KeepAliveTimer {
    interval: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

/// Settings of all streams of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamOptions {
    pub(super) terminator: StreamTerminator,
    pub(super) keep_alive: Duration,
}

impl SseBody {
    pub(super) fn new(stream: EventStream, writer: SseWriter, options: StreamOptions) -> Self {
        let keep_alive = KeepAliveTimer { interval: options.keep_alive, timer: None };
        Self {
            stream,
            writer,
            terminator: options.terminator,
            keep_alive,
            started: false,
            finished: false,
        }
    }

    /// Returns whether everything was sent.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Polls for the next chunk: all events that are ready, or a comment when the timer expires.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.finished {
            return Poll::Ready(None);
        }
        let mut chunk = Vec::new();
        while chunk.len() < MAX_CHUNK_BYTES {
            match self.stream.as_mut().poll_next(context) {
                Poll::Ready(Some(Ok(event))) => {
                    if chunk.is_empty() {
                        chunk.reserve(INITIAL_CHUNK_BYTES);
                    }
                    self.writer.write(&mut chunk, &event);
                }
                Poll::Ready(Some(Err(error))) => self.fail(&mut chunk, &error),
                Poll::Ready(None) => self.finish(&mut chunk),
                Poll::Pending if chunk.is_empty() => {
                    // The first comment tells the client that the message was accepted.
                    if self.started {
                        ready!(self.keep_alive.poll(context));
                    }
                    chunk.extend_from_slice(sse::KEEP_ALIVE);
                    break;
                }
                Poll::Pending => break,
            }
            if self.finished {
                break;
            }
        }
        self.started = true;
        self.keep_alive.reset();
        Poll::Ready(Some(Bytes::from(chunk)).filter(|it| !it.is_empty()))
    }

    fn fail(&mut self, chunk: &mut Vec<u8>, error: &Error) {
        debug!(error = %error, "stream failed");
        self.writer.write_error(chunk, error);
        self.finish(chunk);
    }

    fn finish(&mut self, chunk: &mut Vec<u8>) {
        self.finished = true;
        chunk.extend_from_slice(match self.terminator {
            StreamTerminator::None => b"",
            StreamTerminator::DoneEvent => sse::DONE_EVENT,
            StreamTerminator::DoneLine => sse::DONE_LINE,
        });
    }
}

impl KeepAliveTimer {
    /// Restarts the timer, if it was created.
    fn reset(&mut self) {
        if let Some(timer) = &mut self.timer {
            timer.as_mut().reset(Instant::now() + self.interval);
        }
    }

    /// Polls until the interval has passed.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let interval = self.interval;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(interval)));
        timer.as_mut().poll(context)
    }
}

/// Encoder for the events of one stream.
#[derive(Debug)]
pub(super) struct SseWriter {
    dialect: Dialect,
    /// Encoder for dialects whose events depend on the reader. Unused in the others.
    event_writer: EventWriter,
    envelope: Option<(Envelope, Id<'static>)>,
}

impl SseWriter {
    /// Creates an encoder for the stream that `request` started. With an `id`, events are wrapped in
    /// JSON-RPC responses.
    pub(super) fn new(dialect: Dialect, request: &Request, id: Option<&Id<'_>>) -> Self {
        let event_writer = EventWriter::new(dialect, request, None);
        let envelope = id.map(|id| (Envelope::new(id), id.clone().into_owned()));
        Self { dialect, event_writer, envelope }
    }

    fn write(&mut self, out: &mut Vec<u8>, event: &StreamEvent) {
        let head = FrameHead { id: event.revision, name: None };
        if let Some(data) = event.event.encode_json(self.dialect, event.finality) {
            return self.write_frame(out, head, &data);
        }
        let written = self.event_writer.write(event.event.event(), event.finality);
        let last = written.len().saturating_sub(1);
        for (index, data) in written.iter().enumerate() {
            // Only the last part has the id: a reader resumes after complete events.
            self.write_frame(
                out,
                FrameHead { id: head.id.filter(|_| index == last), name: None },
                data,
            );
        }
    }

    /// Encodes an error as the data of an unnamed event, the only form that all clients read.
    pub(super) fn write_error(&self, out: &mut Vec<u8>, error: &Error) {
        let data = match &self.envelope {
            Some((_, id)) => jsonrpc::write_error(self.dialect.version(), id, error),
            None => self.dialect.write_error(error).body.to_string().into_bytes(),
        };
        sse::write_frame(out, FrameHead::default(), &[&data]);
    }

    fn write_frame(&self, out: &mut Vec<u8>, head: FrameHead<'_>, data: &[u8]) {
        match &self.envelope {
            Some((envelope, _)) => sse::write_frame(out, head, &envelope.wrap(data)),
            None => sse::write_frame(out, head, &[data]),
        }
    }
}

/// Encodes a stream whose only event is an error.
pub(super) fn single_error_event(dialect: Dialect, id: &Id<'_>, error: &Error) -> Vec<u8> {
    let mut out = Vec::new();
    let data = jsonrpc::write_error(dialect.version(), id, error);
    sse::write_frame(&mut out, FrameHead::default(), &[&data]);
    mem::take(&mut out)
}
