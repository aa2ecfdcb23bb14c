//! Encoder for server-sent events.

use std::io::Write;

use memchr::memchr2;

use crate::revision::Revision;

/// Comment that keeps an idle connection open.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
/// Frame that some clients expect at the end of a stream.
pub const DONE_EVENT: &[u8] = b"event: done\ndata: \n\n";
/// Line that some clients expect at the end of a stream. Not a valid frame.
pub const DONE_LINE: &[u8] = b"[DONE]\n\n";

/// Fields of a frame that precede its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameHead<'a> {
    /// Event id, which a reconnecting client sends as `Last-Event-ID`.
    pub id: Option<Revision>,
    /// Event name. Only its first line is written.
    pub name: Option<&'a str>,
}

/// Appends one frame to `out`. The slices in `data` are concatenated, and each line of the data
/// becomes a `data` field.
///
/// The data is JSON or ASCII text, and no character is split between two slices. U+0085, U+2028 and
/// U+2029, at which some clients split lines, are written as JSON escapes.
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
        write_field(out, b"event: ", &[name.as_bytes()], Vec::extend_from_slice);
    }
    write_field(out, b"data: ", data, extend_escaped);
    out.push(b'\n');
}

/// Appends a comment, which readers ignore, to `out`.
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    write_field(out, b": ", &[text.as_bytes()], Vec::extend_from_slice);
    out.push(b'\n');
}

/// Appends `value` with `prefix` before each line, each written by `write_line`. A CRLF that spans two
/// chunks is one line ending.
fn write_field(
    out: &mut Vec<u8>,
    prefix: &[u8],
    value: &[&[u8]],
    write_line: impl Fn(&mut Vec<u8>, &[u8]),
) {
    out.extend_from_slice(prefix);
    let mut after_cr = false;
    for chunk in value {
        let mut remainder = *chunk;
        while let Some(&first) = remainder.first() {
            if after_cr && first == b'\n' {
                remainder = &remainder[1..];
            }
            let end = memchr2(b'\r', b'\n', remainder);
            write_line(out, &remainder[..end.unwrap_or(remainder.len())]);
            after_cr = end.is_some_and(|end| remainder[end] == b'\r');
            let Some(end) = end else { break };
            out.push(b'\n');
            out.extend_from_slice(prefix);
            remainder = &remainder[end + 1..];
        }
    }
    out.push(b'\n');
}

/// Appends a line, with JSON escapes for the characters that only some clients take for line endings.
fn extend_escaped(out: &mut Vec<u8>, line: &[u8]) {
    let mut remainder = line;
    let mut from = 0;
    while let Some(found) = memchr2(0xC2, 0xE2, &remainder[from..]) {
        let at = from + found;
        let escape: &[u8] = match &remainder[at..] {
            [0xC2, 0x85, ..] => b"\\u0085",
            [0xE2, 0x80, 0xA8, ..] => b"\\u2028",
            [0xE2, 0x80, 0xA9, ..] => b"\\u2029",
            _ => {
                from = at + 1;
                continue;
            }
        };
        out.extend_from_slice(&remainder[..at]);
        out.extend_from_slice(escape);
        remainder = &remainder[at + if remainder[at] == 0xC2 { 2 } else { 3 }..];
        from = 0;
    }
    out.extend_from_slice(remainder);
}
