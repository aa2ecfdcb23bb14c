//! Server-sent events: encoding and decoding of stream frames.
//!
//! A frame carries one payload as bytes. The decoder accepts the deviations of existing servers and
//! bounds its memory use.
//!
//! | module | content |
//! | --- | --- |
//! | `decode` | incremental decoder |
//! | `encode` | encoder for frames and comments |

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::{DEFAULT_MAX_FRAME_BYTES, Decoder, FrameTooLarge};
pub use encode::{DONE_EVENT, DONE_LINE, FrameHead, KEEP_ALIVE, write_comment, write_frame};

/// Media type of a stream.
pub const CONTENT_TYPE: &str = "text/event-stream";
/// Name of a frame that reports the failure of the stream.
pub const ERROR_EVENT: &str = "error";

/// String by which some servers end a stream, as the data of a frame or as a bare line.
const DONE_MARKER: &[u8] = b"[DONE]";

/// One decoded frame of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Event id, after which the stream can be resumed.
    pub id: Option<String>,
    /// Event name; usually absent.
    pub name: Option<String>,
    /// Data of the frame. Bytes, because the data may be invalid UTF-8, which the JSON decoder
    /// reports.
    pub data: Vec<u8>,
}

impl Frame {
    /// Returns whether the frame only marks the end of the stream. A2A has no such frame, so
    /// clients ignore it and rely on the end of the connection.
    #[must_use]
    pub fn is_end(&self) -> bool {
        let data = self.data.trim_ascii();
        data == DONE_MARKER || (data.is_empty() && self.name.as_deref() == Some("done"))
    }

    /// Returns whether the frame reports the failure of the stream. Its data is an error, not an
    /// event.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.name.as_deref() == Some(ERROR_EVENT)
    }
}
