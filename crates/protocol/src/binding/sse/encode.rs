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
pub struct Head<'a> {
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
/// let head = sse::Head { id: Some(Revision::new(7)), name: None };
/// sse::write(&mut out, head, &[b"{\"a\":", b"1}"]);
/// assert_eq!(out, b"id: 7\ndata: {\"a\":1}\n\n");
/// ```
pub fn write(out: &mut Vec<u8>, head: Head<'_>, data: &[&[u8]]) {
    let length: usize = data.iter().map(|it| it.len()).sum();
    out.reserve(length + 48);
    if let Some(id) = head.id {
        // Writing to a vector cannot fail.
        let _ = writeln!(out, "id: {id}");
    }
    let name = head.name.and_then(|it| it.split(['\r', '\n']).next());
    if let Some(name) = name.filter(|it| !it.is_empty()) {
        field(out, b"event: ", &[name.as_bytes()]);
    }
    field(out, b"data: ", data);
    out.push(b'\n');
}

/// Writes a comment, which readers pass over, behind whatever is in `out`.
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    field(out, b": ", &[text.as_bytes()]);
    out.push(b'\n');
}

/// Writes `value` with `start` before each of its lines. A carriage return and a line feed in two
/// pieces are still one end of a line.
fn field(out: &mut Vec<u8>, start: &[u8], value: &[&[u8]]) {
    out.extend_from_slice(start);
    let mut after_return = false;
    for piece in value {
        let mut rest = *piece;
        while let Some(&first) = rest.first() {
            if after_return && first == b'\n' {
                rest = &rest[1..];
            }
            let end = memchr2(b'\r', b'\n', rest);
            out.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            after_return = end.is_some_and(|end| rest[end] == b'\r');
            let Some(end) = end else { break };
            out.push(b'\n');
            out.extend_from_slice(start);
            rest = &rest[end + 1..];
        }
    }
    out.push(b'\n');
}
