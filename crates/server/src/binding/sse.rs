//! Streams as server-sent events.
//!
//! The body is written by hand: events that are ready together travel in one piece, an event that is
//! encoded is copied once, and a stream that is ready as a whole needs one piece for all of it.

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

/// How many bytes of events travel in one piece, unless one event is larger.
const MAX_CHUNK_BYTES: usize = 64 * 1024;
/// What a few short events need, so that most are written without moving the buffer.
const INITIAL_CHUNK_BYTES: usize = 2048;

/// The events of one stream, as the body of its answer.
pub(crate) struct SseBody {
    stream: EventStream,
    writer: SseWriter,
    terminator: StreamTerminator,
    keep_alive: KeepAliveTimer,
    finished: bool,
}

/// How long a stream may be silent.
struct KeepAliveTimer {
    interval: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

/// What is the same for all streams of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamOptions {
    pub(super) terminator: StreamTerminator,
    pub(super) keep_alive: Duration,
}

impl SseBody {
    pub(super) fn new(stream: EventStream, writer: SseWriter, options: StreamOptions) -> Self {
        let keep_alive = KeepAliveTimer { interval: options.keep_alive, timer: None };
        Self { stream, writer, terminator: options.terminator, keep_alive, finished: false }
    }

    /// Whether nothing follows.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// The next piece: all events that are ready, or a comment after a long silence.
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
                    self.write(&mut chunk, &event);
                }
                Poll::Ready(Some(Err(error))) => self.fail(&mut chunk, &error),
                Poll::Ready(None) => self.finish(&mut chunk),
                Poll::Pending if chunk.is_empty() => {
                    ready!(self.keep_alive.poll(context));
                    chunk.extend_from_slice(sse::KEEP_ALIVE);
                    break;
                }
                Poll::Pending => break,
            }
            if self.finished {
                break;
            }
        }
        self.keep_alive.reset();
        Poll::Ready(Some(Bytes::from(chunk)).filter(|it| !it.is_empty()))
    }

    fn write(&mut self, chunk: &mut Vec<u8>, event: &StreamEvent) {
        if let Err(error) = self.writer.write(chunk, event) {
            self.fail(chunk, &error);
        }
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
    /// Begins anew, if anybody has waited yet.
    fn reset(&mut self) {
        if let Some(timer) = &mut self.timer {
            timer.as_mut().reset(Instant::now() + self.interval);
        }
    }

    /// Ready when it has lasted long enough.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let interval = self.interval;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(interval)));
        timer.as_mut().poll(context)
    }
}

/// Writes the events of one stream.
#[derive(Debug)]
pub(super) struct SseWriter {
    dialect: Dialect,
    /// Where an event is not the same for everybody.
    event_writer: Option<EventWriter>,
    envelope: Option<(Envelope, Id<'static>)>,
}

impl SseWriter {
    /// For a stream that answers `request`, in the envelope of the request `id` if it has one.
    pub(super) fn new(dialect: Dialect, request: &Request, id: Option<&Id<'_>>) -> Self {
        let event_writer = (!EventWriter::is_reader_independent(dialect))
            .then(|| EventWriter::new(dialect, request, None));
        let envelope = id.map(|id| (Envelope::new(id), id.clone().into_owned()));
        Self { dialect, event_writer, envelope }
    }

    fn write(&mut self, out: &mut Vec<u8>, event: &StreamEvent) -> Result<(), Error> {
        let head = FrameHead { id: event.revision, name: None };
        if let Some(data) = event.event.encode_json(self.dialect, event.finality) {
            self.write_frame(out, head, &data);
            return Ok(());
        }
        let Some(event_writer) = &mut self.event_writer else { return Err(Error::internal()) };
        let written = event_writer.write(event.event.event(), event.finality);
        let last = written.len().saturating_sub(1);
        for (index, data) in written.iter().enumerate() {
            // Whoever has seen only a part of an event has not seen it.
            self.write_frame(
                out,
                FrameHead { id: head.id.filter(|_| index == last), name: None },
                data,
            );
        }
        Ok(())
    }

    /// Writes an error as the data of an event without a name: one client knows no other form.
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

/// An error as the only event of a stream.
pub(super) fn single_error_event(dialect: Dialect, id: &Id<'_>, error: &Error) -> Vec<u8> {
    let mut out = Vec::new();
    let data = jsonrpc::write_error(dialect.version(), id, error);
    sse::write_frame(&mut out, FrameHead::default(), &[&data]);
    mem::take(&mut out)
}
