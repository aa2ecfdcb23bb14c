//! Cuts what a program writes into pieces of text.

/// No piece is longer than this, in bytes, so that no reader has to take more at a time.
const MAX_PIECE: usize = 64 * 1024;

/// Cuts bytes into texts: behind each delimiter, or wherever the bytes given at a time end. Never
/// within a character. What is no UTF-8 is replaced, as `String::from_utf8_lossy` does.
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    delimiter: Option<&'a [u8]>,
    rest: Vec<u8>,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(delimiter: Option<&'a [u8]>) -> Self {
        Self { delimiter, rest: Vec::new() }
    }

    /// Adds bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
    }

    /// The next piece that is whole.
    pub(super) fn next(&mut self) -> Option<String> {
        let end = match self.delimiter {
            Some(delimiter) => match find(&self.rest, delimiter) {
                Some(place) => (place + delimiter.len()).min(MAX_PIECE),
                None if self.rest.len() > MAX_PIECE => MAX_PIECE,
                None => 0,
            },
            None => self.rest.len().min(MAX_PIECE),
        };
        let end = whole_characters(&self.rest[..end]);
        (end > 0).then(|| self.cut(end))
    }

    /// What is left when there are no more bytes.
    pub(super) fn finish(mut self) -> Option<String> {
        let end = self.rest.len();
        (end > 0).then(|| self.cut(end))
    }

    fn cut(&mut self, end: usize) -> String {
        let text = String::from_utf8_lossy(&self.rest[..end]).into_owned();
        self.rest.drain(..end);
        text
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|it| it == wanted)
}

/// How many bytes there are up to a character that may still become whole.
fn whole_characters(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let place = bytes.len() - back;
        let needs = match bytes[place] {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        return if needs > back { place } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(delimiter: Option<&[u8]>, writes: &[&[u8]]) -> Vec<String> {
        let mut pieces = Pieces::new(delimiter);
        let mut all = Vec::new();
        for write in writes {
            pieces.push(write);
            while let Some(piece) = pieces.next() {
                all.push(piece);
            }
        }
        all.extend(pieces.finish());
        all
    }

    #[test]
    fn a_piece_ends_where_a_write_or_a_delimiter_ends() {
        let lines: Option<&[u8]> = Some(b"\n");
        for (delimiter, writes, want) in [
            (None, &[&b"ab"[..], b"c"][..], &["ab", "c"][..]),
            (None, &[], &[]),
            (lines, &[b"a\nb", b"c\nd"], &["a\n", "bc\n", "d"]),
            (lines, &[b"\n\n"], &["\n", "\n"]),
            (Some(b"--"), &[b"a-", b"-b"], &["a--", "b"]),
        ] {
            assert_eq!(cut(delimiter, writes), want, "{delimiter:?} {writes:?}");
        }
    }

    #[test]
    fn no_character_is_cut_in_two() {
        let text = "aé€😀z".repeat(3);
        for size in 1..9 {
            let writes: Vec<_> = text.as_bytes().chunks(size).collect();
            assert_eq!(cut(None, &writes).concat(), text, "{size} bytes at a time");
        }
        let long = "€".repeat(MAX_PIECE);
        let pieces = cut(None, &[long.as_bytes()]);
        assert!(pieces.iter().all(|it| it.len() <= MAX_PIECE));
        assert_eq!(pieces.concat(), long);
    }

    #[test]
    fn what_is_no_text_is_replaced_and_ends() {
        for (bytes, want) in [
            (&b"a\xffb"[..], "a\u{fffd}b"),
            (b"a\xe2\x82", "a\u{fffd}"),
            (b"\x80\x80\x80\x80", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xc0\xaf", "\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(cut(None, &[bytes]).concat(), want, "{bytes:?}");
        }
    }
}
