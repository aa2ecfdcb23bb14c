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
const PIECE: usize = 64 * 1024;
/// What a few short events need, so that most are written without moving the buffer.
const ROOM: usize = 2048;

/// The events of one stream, as the body of its answer.
pub(crate) struct Events {
    stream: EventStream,
    writer: Writer,
    terminator: StreamTerminator,
    silence: Silence,
    over: bool,
}

/// How long a stream may be silent.
struct Silence {
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

/// What is the same for all streams of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) terminator: StreamTerminator,
    pub(super) keep_alive: Duration,
}

impl Events {
    pub(super) fn new(stream: EventStream, writer: Writer, style: Style) -> Self {
        let silence = Silence { limit: style.keep_alive, timer: None };
        Self { stream, writer, terminator: style.terminator, silence, over: false }
    }

    /// Whether nothing follows.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// The next piece: all events that are ready, or a comment after a long silence.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.over {
            return Poll::Ready(None);
        }
        let mut piece = Vec::new();
        while piece.len() < PIECE {
            match self.stream.as_mut().poll_next(context) {
                Poll::Ready(Some(Ok(event))) => {
                    if piece.is_empty() {
                        piece.reserve(ROOM);
                    }
                    self.write(&mut piece, &event);
                }
                Poll::Ready(Some(Err(error))) => self.fail(&mut piece, &error),
                Poll::Ready(None) => self.end(&mut piece),
                Poll::Pending if piece.is_empty() => {
                    ready!(self.silence.poll(context));
                    piece.extend_from_slice(sse::KEEP_ALIVE);
                    break;
                }
                Poll::Pending => break,
            }
            if self.over {
                break;
            }
        }
        self.silence.start();
        Poll::Ready(Some(Bytes::from(piece)).filter(|it| !it.is_empty()))
    }

    fn write(&mut self, piece: &mut Vec<u8>, event: &StreamEvent) {
        if let Err(error) = self.writer.write(piece, event) {
            self.fail(piece, &error);
        }
    }

    fn fail(&mut self, piece: &mut Vec<u8>, error: &Error) {
        debug!(error = %error, "stream failed");
        self.writer.write_error(piece, error);
        self.end(piece);
    }

    fn end(&mut self, piece: &mut Vec<u8>) {
        self.over = true;
        piece.extend_from_slice(match self.terminator {
            StreamTerminator::None => b"",
            StreamTerminator::DoneEvent => sse::DONE_EVENT,
            StreamTerminator::DoneLine => sse::DONE_LINE,
        });
    }
}

impl Silence {
    /// Begins anew, if anybody has waited yet.
    fn start(&mut self) {
        if let Some(timer) = &mut self.timer {
            timer.as_mut().reset(Instant::now() + self.limit);
        }
    }

    /// Ready when it has lasted long enough.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        timer.as_mut().poll(context)
    }
}

/// Writes the events of one stream.
#[derive(Debug)]
pub(super) struct Writer {
    dialect: Dialect,
    /// Where an event is not the same for everybody.
    own: Option<EventWriter>,
    envelope: Option<(Envelope, Id<'static>)>,
}

impl Writer {
    /// For a stream that answers `request`, in the envelope of the request `id` if it has one.
    pub(super) fn new(dialect: Dialect, request: &Request, id: Option<&Id<'_>>) -> Self {
        let own = (!EventWriter::is_reader_independent(dialect))
            .then(|| EventWriter::new(dialect, request, None));
        let envelope = id.map(|id| (Envelope::new(id), id.clone().into_owned()));
        Self { dialect, own, envelope }
    }

    fn write(&mut self, out: &mut Vec<u8>, event: &StreamEvent) -> Result<(), Error> {
        let head = FrameHead { id: event.revision, name: None };
        if let Some(data) = event.event.encode_json(self.dialect, event.finality) {
            self.frame(out, head, &data);
            return Ok(());
        }
        let Some(own) = &mut self.own else { return Err(Error::internal()) };
        let written = own.write(event.event.event(), event.finality)?;
        let last = written.len().saturating_sub(1);
        for (index, data) in written.iter().enumerate() {
            // Whoever has seen only a part of an event has not seen it.
            self.frame(out, FrameHead { id: head.id.filter(|_| index == last), name: None }, data);
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

    fn frame(&self, out: &mut Vec<u8>, head: FrameHead<'_>, data: &[u8]) {
        match &self.envelope {
            Some((envelope, _)) => sse::write_frame(out, head, &envelope.wrap(data)),
            None => sse::write_frame(out, head, &[data]),
        }
    }
}

/// An error as the only event of a stream.
pub(super) fn only_error(dialect: Dialect, id: &Id<'_>, error: &Error) -> Vec<u8> {
    let mut out = Vec::new();
    let data = jsonrpc::write_error(dialect.version(), id, error);
    sse::write_frame(&mut out, FrameHead::default(), &[&data]);
    mem::take(&mut out)
}
