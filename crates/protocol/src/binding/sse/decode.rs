//! Reads frames from bytes that come in any pieces.

use std::time::Duration;

use super::{DONE, Frame};

/// The size of the largest frame that is read, unless told otherwise: 10 MiB.
pub const DEFAULT_LIMIT: usize = 10 * 1024 * 1024;

/// What is kept of a line's room for the next one.
const KEPT: usize = 16 * 1024;

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
/// # Ok::<(), latimer_protocol::binding::sse::TooLarge>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    /// The line that has begun and not ended.
    line: Vec<u8>,
    /// The frame that has begun and not ended.
    frame: Partial,
    /// A frame that was found together with the one before it.
    ready: Option<Frame>,
    last_id: Option<String>,
    retry: Option<Duration>,
    after_return: bool,
    begun: bool,
    failed: bool,
}

/// A frame is larger than the limit. The stream cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of the stream is larger than {limit} bytes")]
pub struct TooLarge {
    /// The limit.
    pub limit: usize,
}

#[derive(Debug, Default)]
struct Partial {
    id: Option<String>,
    name: Option<String>,
    data: Option<Vec<u8>>,
}

impl Partial {
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
    /// A decoder of frames up to [`DEFAULT_LIMIT`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// A decoder of frames up to `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            frame: Partial::default(),
            ready: None,
            last_id: None,
            retry: None,
            after_return: false,
            begun: false,
            failed: false,
        }
    }

    /// The next frame that `input` completes, and takes from `input` what was read. `None` when
    /// more is needed; `input` is then empty.
    ///
    /// # Errors
    /// When a frame is larger than the limit, and ever after.
    pub fn read(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, TooLarge> {
        loop {
            if let Some(frame) = self.ready.take() {
                return Ok(Some(frame));
            }
            if self.after_return && !input.is_empty() {
                self.after_return = false;
                *input = input.strip_prefix(b"\n").unwrap_or(input);
            }
            let end = input.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (part, rest) = input.split_at(end.unwrap_or(input.len()));
            self.check(part)?;
            let Some((terminator, rest)) = rest.split_first() else {
                self.line.extend_from_slice(part);
                *input = rest;
                return Ok(None);
            };
            self.after_return = *terminator == b'\r';
            *input = rest;
            if let Some(frame) = self.complete(part) {
                return Ok(Some(frame));
            }
        }
    }

    /// What is left when the connection has closed in order; call it until it is `None`.
    ///
    /// Some servers leave out the empty line behind their last frame. When the connection broke
    /// instead, what is left is a piece of a frame: drop the decoder.
    pub fn finish(&mut self) -> Option<Frame> {
        if let Some(frame) = self.ready.take() {
            return Some(frame);
        }
        if self.failed {
            return None;
        }
        if !self.line.is_empty()
            && let Some(frame) = self.complete(b"")
        {
            return Some(frame);
        }
        self.ready.take().or_else(|| self.dispatch())
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

    fn check(&mut self, part: &[u8]) -> Result<(), TooLarge> {
        self.failed |= self.frame.len() + self.line.len() + part.len() > self.limit;
        if self.failed {
            (self.line, self.frame) = (Vec::new(), Partial::default());
            return Err(TooLarge { limit: self.limit });
        }
        Ok(())
    }

    /// Ends the line that has begun with its last part. A line that came in one part is not copied.
    fn complete(&mut self, part: &[u8]) -> Option<Frame> {
        if self.line.is_empty() {
            return self.take(part);
        }
        self.line.extend_from_slice(part);
        let mut line = std::mem::take(&mut self.line);
        let frame = self.take(&line);
        line.clear();
        line.shrink_to(KEPT);
        self.line = line;
        frame
    }

    fn take(&mut self, line: &[u8]) -> Option<Frame> {
        let mark = if self.begun { "" } else { "\u{feff}" };
        self.begun = true;
        let line = line.strip_prefix(mark.as_bytes()).unwrap_or(line);
        if line.is_empty() {
            return self.dispatch();
        }
        if line == DONE {
            let before = self.dispatch();
            let done = Frame { data: DONE.to_vec(), ..Frame::default() };
            return match before {
                None => Some(done),
                Some(frame) => {
                    self.ready = Some(done);
                    Some(frame)
                }
            };
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        self.field(&line[..colon], value.strip_prefix(b" ").unwrap_or(value));
        None
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"data" => match &mut self.frame.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.frame.data = Some(value.to_vec()),
            },
            b"event" => self.frame.name = Some(text()).filter(|it| !it.is_empty()),
            b"id" if !value.contains(&0) => self.frame.id = Some(text()),
            b"retry" => {
                let digits = value.iter().all(u8::is_ascii_digit);
                let time = text().parse().ok().filter(|_| digits).map(Duration::from_millis);
                self.retry = time.or(self.retry);
            }
            _ => {}
        }
    }

    /// Ends the frame that has begun, if there is one.
    fn dispatch(&mut self) -> Option<Frame> {
        let Partial { id, name, data } = std::mem::take(&mut self.frame);
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
