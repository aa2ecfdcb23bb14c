//! Incremental decoder for server-sent events.

use std::time::Duration;

use super::{DONE_MARKER, Frame};

/// Default limit for the size of a frame, in bytes.
pub const DEFAULT_MAX_FRAME_BYTES: usize = 10 * 1024 * 1024;

/// Maximum capacity of the line buffer that is retained for the next line, in bytes.
const MAX_RETAINED_LINE_BYTES: usize = 16 * 1024;

/// Decodes a byte stream into frames.
///
/// Accepts LF, CRLF and CR line endings, a byte order mark, comments, multi-line data and unknown
/// fields. Two extensions of the standard: a frame with a name and no data is a frame, and a bare
/// `[DONE]` line becomes a frame with this data, so that [`Frame::is_end`] recognizes it.
///
/// Decoding time is linear in the input, and memory is bounded by the frame size limit.
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
    /// Incomplete line.
    line: Vec<u8>,
    /// Incomplete frame.
    partial: PartialFrame,
    /// Frame that was completed together with the previous one.
    queued: Option<Frame>,
    last_id: Option<String>,
    retry: Option<Duration>,
    after_cr: bool,
    started: bool,
    failed: bool,
}

/// A frame exceeds the size limit. The rest of the stream cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of the event stream exceeds {limit} bytes")]
pub struct FrameTooLarge {
    /// The limit, in bytes.
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
    /// Creates a decoder with a frame size limit of [`DEFAULT_MAX_FRAME_BYTES`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_MAX_FRAME_BYTES)
    }

    /// Creates a decoder with a frame size limit of `limit` bytes.
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

    /// Decodes the next frame that `input` completes and advances `input` past it. Returns `None`
    /// after consuming all of `input` if more is needed.
    ///
    /// # Errors
    /// Returns [`FrameTooLarge`] if a frame exceeds the limit, and for every later call.
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

    /// Returns the remaining frames after the connection has closed cleanly, one per call, then
    /// `None`.
    ///
    /// Some servers omit the empty line after the last frame. If the connection broke, the
    /// remainder may be incomplete and the decoder should be dropped instead.
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

    /// Returns the id of the last complete frame that had one, after which the stream can be
    /// resumed.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Returns the reconnection delay that the server requested.
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

    /// Completes the current line with `chunk`. A line that arrived in one chunk is not copied.
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

    /// Completes the current frame, if there is one.
    fn dispatch(&mut self) -> Option<Frame> {
        let PartialFrame { id, name, data } = std::mem::take(&mut self.partial);
        let id = match id {
            // An empty id clears the last one.
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
