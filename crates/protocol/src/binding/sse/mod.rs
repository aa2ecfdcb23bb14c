//! Server-sent events: the frames of a stream, written and read.
//!
//! A frame carries one payload as bytes; nobody here looks into it. The reader takes what servers
//! really send, within a bound on its memory.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::{DEFAULT_MAX_FRAME_BYTES, Decoder, FrameTooLarge};
pub use encode::{DONE_EVENT, DONE_LINE, FrameHead, KEEP_ALIVE, write_comment, write_frame};

/// The media type of a stream.
pub const CONTENT_TYPE: &str = "text/event-stream";
/// The name of a frame that says the stream failed.
pub const ERROR_EVENT: &str = "error";

/// The text that some servers end a stream with, as the data of a frame or as a bare line.
const DONE_MARKER: &[u8] = b"[DONE]";

/// One frame of a stream, as it was received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its identifier, to resume behind it.
    pub id: Option<String>,
    /// Its name; most have none.
    pub name: Option<String>,
    /// Its data. Kept as bytes: a text that is not UTF-8 is not JSON either, and to mend it would
    /// change what the sender said.
    pub data: Vec<u8>,
}

impl Frame {
    /// Whether it only says that the stream ends here. A2A has no such frame, and a client passes
    /// over it: the end is where the connection closes.
    #[must_use]
    pub fn is_end(&self) -> bool {
        let data = self.data.trim_ascii();
        data == DONE_MARKER || (data.is_empty() && self.name.as_deref() == Some("done"))
    }

    /// Whether it says that the stream failed; its data is then an error, not an event.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.name.as_deref() == Some(ERROR_EVENT)
    }
}
