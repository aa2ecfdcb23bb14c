//! Splits the output of a program into chunks of text.

/// Maximum size of a chunk, so that readers receive events of bounded size.
const MAX_CHUNK_BYTES: usize = 64 * 1024;

/// Splits bytes into chunks of text: after each delimiter, or at the end of each write if there is
/// no delimiter. Never splits a character. Replaces invalid UTF-8 as `String::from_utf8_lossy`
/// does.
#[derive(Debug)]
pub(super) struct TextChunker<'a> {
    delimiter: Option<&'a [u8]>,
    buffer: Vec<u8>,
}

impl<'a> TextChunker<'a> {
    pub(super) fn new(delimiter: Option<&'a [u8]>) -> Self {
        Self { delimiter, buffer: Vec::new() }
    }

    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Removes and returns the next complete chunk.
    pub(super) fn next_chunk(&mut self) -> Option<String> {
        let end = match self.delimiter {
            Some(delimiter) => match find_subslice(&self.buffer, delimiter) {
                Some(index) => (index + delimiter.len()).min(MAX_CHUNK_BYTES),
                None if self.buffer.len() > MAX_CHUNK_BYTES => MAX_CHUNK_BYTES,
                None => 0,
            },
            None => self.buffer.len().min(MAX_CHUNK_BYTES),
        };
        let end = complete_chars_len(&self.buffer[..end]);
        (end > 0).then(|| self.take_text(end))
    }

    /// Returns the remaining bytes at the end of the output.
    pub(super) fn finish(mut self) -> Option<String> {
        let end = self.buffer.len();
        (end > 0).then(|| self.take_text(end))
    }

    fn take_text(&mut self, end: usize) -> String {
        let text = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end);
        text
    }
}

fn find_subslice(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|it| it == pattern)
}

/// Returns the length of `bytes` without an incomplete character at the end.
fn complete_chars_len(bytes: &[u8]) -> usize {
    for from_end in 1..=bytes.len().min(3) {
        let index = bytes.len() - from_end;
        let char_len = match bytes[index] {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if char_len > from_end { index } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk_all(delimiter: Option<&[u8]>, writes: &[&[u8]]) -> Vec<String> {
        let mut chunker = TextChunker::new(delimiter);
        let mut chunks = Vec::new();
        for write in writes {
            chunker.push(write);
            while let Some(chunk) = chunker.next_chunk() {
                chunks.push(chunk);
            }
        }
        chunks.extend(chunker.finish());
        chunks
    }

    #[test]
    fn chunk_ends_at_write_or_delimiter() {
        let lines: Option<&[u8]> = Some(b"\n");
        for (delimiter, writes, want) in [
            (None, &[&b"ab"[..], b"c"][..], &["ab", "c"][..]),
            (None, &[], &[]),
            (lines, &[b"a\nb", b"c\nd"], &["a\n", "bc\n", "d"]),
            (lines, &[b"\n\n"], &["\n", "\n"]),
            (Some(b"--"), &[b"a-", b"-b"], &["a--", "b"]),
        ] {
            assert_eq!(chunk_all(delimiter, writes), want, "{delimiter:?} {writes:?}");
        }
    }

    #[test]
    fn chunks_never_split_a_character() {
        let text = "aé€😀z".repeat(3);
        for size in 1..9 {
            let writes: Vec<_> = text.as_bytes().chunks(size).collect();
            assert_eq!(chunk_all(None, &writes).concat(), text, "{size} bytes at a time");
        }
        let long = "€".repeat(MAX_CHUNK_BYTES);
        let chunks = chunk_all(None, &[long.as_bytes()]);
        assert!(chunks.iter().all(|it| it.len() <= MAX_CHUNK_BYTES));
        assert_eq!(chunks.concat(), long);
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        for (bytes, want) in [
            (&b"a\xffb"[..], "a\u{fffd}b"),
            (b"a\xe2\x82", "a\u{fffd}"),
            (b"\x80\x80\x80\x80", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xc0\xaf", "\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(chunk_all(None, &[bytes]).concat(), want, "{bytes:?}");
        }
    }
}
