//! Reads frames from bytes that come in any pieces.

use std::time::Duration;

use super::{DONE_MARKER, Frame};

/// The size of the largest frame that is read, unless told otherwise: 10 MiB.
pub const DEFAULT_MAX_FRAME_BYTES: usize = 10 * 1024 * 1024;

/// What is kept of a line's room for the next one.
const MAX_RETAINED_LINE_BYTES: usize = 16 * 1024;

/// Splits a stream of bytes into frames.
///
/// Takes lines that end in LF, CRLF or CR, a byte order mark, comments, several lines of data, and
/// fields it does not know. Two things beyond the standard: a frame with a name and no data is a
/// frame, and a bare `[DONE]` line is one with that data, so that [`Frame::is_end`] sees it.
///
/// Every byte is looked at once, and memory is bounded by the limit.
///
/// ```
/// # use latimer_protocol::binding::sse::Decoder;
/// let mut decoder = Decoder::new();
/// let mut frames = Vec::new();
/// for mut chunk in [&b"id: 1\nda"[..], b"ta: {}\n\ndata: [1]"] {
///     while let Some(frame) = decoder.read(&mut chunk)? {
///         frames.push(frame);
///     }
/// }
/// while let Some(frame) = decoder.finish() {
///     frames.push(frame);
/// }
/// assert_eq!(frames.len(), 2);
/// assert_eq!(frames[0].data, b"{}");
/// # Ok::<(), latimer_protocol::binding::sse::FrameTooLarge>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    /// The line that has begun and not ended.
    line: Vec<u8>,
    /// The frame that has begun and not ended.
    partial: PartialFrame,
    /// A frame that was found together with the one before it.
    queued: Option<Frame>,
    last_id: Option<String>,
    retry: Option<Duration>,
    after_cr: bool,
    started: bool,
    failed: bool,
}

/// A frame is larger than the limit. The stream cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of the stream is larger than {limit} bytes")]
pub struct FrameTooLarge {
    /// The limit.
    pub limit: usize,
}

#[derive(Debug, Default)]
struct PartialFrame {
    id: Option<String>,
    name: Option<String>,
    data: Option<Vec<u8>>,
}

impl PartialFrame {
    fn len(&self) -> usize {
        let text = |it: &Option<String>| it.as_ref().map_or(0, String::len);
        text(&self.id) + text(&self.name) + self.data.as_ref().map_or(0, Vec::len)
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder of frames up to [`DEFAULT_MAX_FRAME_BYTES`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_MAX_FRAME_BYTES)
    }

    /// A decoder of frames up to `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            partial: PartialFrame::default(),
            queued: None,
            last_id: None,
            retry: None,
            after_cr: false,
            started: false,
            failed: false,
        }
    }

    /// The next frame that `input` completes, and takes from `input` what was read. `None` when
    /// more is needed; `input` is then empty.
    ///
    /// # Errors
    /// When a frame is larger than the limit, and ever after.
    pub fn read(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, FrameTooLarge> {
        loop {
            if let Some(frame) = self.queued.take() {
                return Ok(Some(frame));
            }
            if self.after_cr && !input.is_empty() {
                self.after_cr = false;
                *input = input.strip_prefix(b"\n").unwrap_or(input);
            }
            let end = input.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (chunk, remainder) = input.split_at(end.unwrap_or(input.len()));
            self.check_size(chunk)?;
            let Some((terminator, remainder)) = remainder.split_first() else {
                self.line.extend_from_slice(chunk);
                *input = remainder;
                return Ok(None);
            };
            self.after_cr = *terminator == b'\r';
            *input = remainder;
            if let Some(frame) = self.complete_line(chunk) {
                return Ok(Some(frame));
            }
        }
    }

    /// What is left when the connection has closed in order; call it until it is `None`.
    ///
    /// Some servers leave out the empty line behind their last frame. When the connection broke
    /// instead, what is left is a piece of a frame: drop the decoder.
    pub fn finish(&mut self) -> Option<Frame> {
        if let Some(frame) = self.queued.take() {
            return Some(frame);
        }
        if self.failed {
            return None;
        }
        if !self.line.is_empty()
            && let Some(frame) = self.complete_line(b"")
        {
            return Some(frame);
        }
        self.queued.take().or_else(|| self.dispatch())
    }

    /// The identifier of the last whole frame that had one: what to resume after.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server asks to wait before coming back.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn check_size(&mut self, chunk: &[u8]) -> Result<(), FrameTooLarge> {
        self.failed |= self.partial.len() + self.line.len() + chunk.len() > self.limit;
        if self.failed {
            (self.line, self.partial) = (Vec::new(), PartialFrame::default());
            return Err(FrameTooLarge { limit: self.limit });
        }
        Ok(())
    }

    /// Ends the line that has begun with its last part. A line that came in one part is not copied.
    fn complete_line(&mut self, chunk: &[u8]) -> Option<Frame> {
        if self.line.is_empty() {
            return self.process_line(chunk);
        }
        self.line.extend_from_slice(chunk);
        let mut line = std::mem::take(&mut self.line);
        let frame = self.process_line(&line);
        line.clear();
        line.shrink_to(MAX_RETAINED_LINE_BYTES);
        self.line = line;
        frame
    }

    fn process_line(&mut self, line: &[u8]) -> Option<Frame> {
        let byte_order_mark = if self.started { "" } else { "\u{feff}" };
        self.started = true;
        let line = line.strip_prefix(byte_order_mark.as_bytes()).unwrap_or(line);
        if line.is_empty() {
            return self.dispatch();
        }
        if line == DONE_MARKER {
            let previous = self.dispatch();
            let done = Frame { data: DONE_MARKER.to_vec(), ..Frame::default() };
            return match previous {
                None => Some(done),
                Some(frame) => {
                    self.queued = Some(done);
                    Some(frame)
                }
            };
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        self.process_field(&line[..colon], value.strip_prefix(b" ").unwrap_or(value));
        None
    }

    fn process_field(&mut self, name: &[u8], value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"data" => match &mut self.partial.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.partial.data = Some(value.to_vec()),
            },
            b"event" => self.partial.name = Some(text()).filter(|it| !it.is_empty()),
            b"id" if !value.contains(&0) => self.partial.id = Some(text()),
            b"retry" => {
                let digits = value.iter().all(u8::is_ascii_digit);
                let delay = text().parse().ok().filter(|_| digits).map(Duration::from_millis);
                self.retry = delay.or(self.retry);
            }
            _ => {}
        }
    }

    /// Ends the frame that has begun, if there is one.
    fn dispatch(&mut self) -> Option<Frame> {
        let PartialFrame { id, name, data } = std::mem::take(&mut self.partial);
        let id = match id {
            // An empty identifier takes back the last one.
            Some(id) => {
                self.last_id = Some(id).filter(|it| !it.is_empty());
                self.last_id.clone()
            }
            None => None,
        };
        if data.is_none() && name.is_none() {
            return None;
        }
        Some(Frame { id, name, data: data.unwrap_or_default() })
    }
}
