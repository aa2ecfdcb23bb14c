//! Writes frames.

use std::io::Write;

use memchr::memchr2;

use crate::revision::Revision;

/// A comment that keeps a connection from looking dead.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
/// The frame that some clients want at the end of a stream.
pub const DONE_EVENT: &[u8] = b"event: done\ndata: \n\n";
/// The line that some other clients want at the end of a stream. Not a frame at all.
pub const DONE_LINE: &[u8] = b"[DONE]\n\n";

/// What stands in a frame before its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameHead<'a> {
    /// Its identifier, which a client that comes back says it saw last.
    pub id: Option<Revision>,
    /// Its name. Only its first line is written.
    pub name: Option<&'a str>,
}

/// Writes one frame behind whatever is in `out`: its head, and the pieces of its data as one.
///
/// Each line of the data, however it ends, becomes a line of the frame.
///
/// ```
/// # use latimer_protocol::{Revision, binding::sse};
/// let mut out = Vec::new();
/// let head = sse::FrameHead { id: Some(Revision::new(7)), name: None };
/// sse::write_frame(&mut out, head, &[b"{\"a\":", b"1}"]);
/// assert_eq!(out, b"id: 7\ndata: {\"a\":1}\n\n");
/// ```
pub fn write_frame(out: &mut Vec<u8>, head: FrameHead<'_>, data: &[&[u8]]) {
    let length: usize = data.iter().map(|it| it.len()).sum();
    out.reserve(length + 48);
    if let Some(id) = head.id {
        // Writing to a vector cannot fail.
        let _ = writeln!(out, "id: {id}");
    }
    let name = head.name.and_then(|it| it.split(['\r', '\n']).next());
    if let Some(name) = name.filter(|it| !it.is_empty()) {
        write_field(out, b"event: ", &[name.as_bytes()]);
    }
    write_field(out, b"data: ", data);
    out.push(b'\n');
}

/// Writes a comment, which readers pass over, behind whatever is in `out`.
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    write_field(out, b": ", &[text.as_bytes()]);
    out.push(b'\n');
}

/// Writes `value` with `start` before each of its lines. A carriage return and a line feed in two
/// pieces are still one end of a line.
fn write_field(out: &mut Vec<u8>, prefix: &[u8], value: &[&[u8]]) {
    out.extend_from_slice(prefix);
    let mut after_cr = false;
    for chunk in value {
        let mut remainder = *chunk;
        while let Some(&first) = remainder.first() {
            if after_cr && first == b'\n' {
                remainder = &remainder[1..];
            }
            let end = memchr2(b'\r', b'\n', remainder);
            out.extend_from_slice(&remainder[..end.unwrap_or(remainder.len())]);
            after_cr = end.is_some_and(|end| remainder[end] == b'\r');
            let Some(end) = end else { break };
            out.push(b'\n');
            out.extend_from_slice(prefix);
            remainder = &remainder[end + 1..];
        }
    }
    out.push(b'\n');
}
