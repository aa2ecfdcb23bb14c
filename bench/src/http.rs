//! The least HTTP/1.1 that a client needs: whatever it costs is taken from the load it can make.

use std::io;

use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// One connection, kept alive, with one exchange at a time.
#[derive(Debug)]
pub struct Connection {
    socket: TcpStream,
    /// What was read, from the head of the answer on.
    input: Vec<u8>,
    /// The body of an answer in chunks.
    body: Vec<u8>,
    chunks: Chunks,
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: &'a [u8],
    /// Whether the server closes the connection.
    pub closes: bool,
}

struct Head {
    status: u16,
    /// Where the body begins.
    end: usize,
    length: Option<usize>,
    closes: bool,
}

impl Connection {
    /// Connects; the system keeps at most `unread` bytes that nobody has read, if that is given.
    ///
    /// # Errors
    /// When nobody answers.
    pub async fn open(address: &str, unread: Option<u32>) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = unread {
            socket.set_recv_buffer_size(bytes)?;
        }
        let socket = socket.connect(address.parse().map_err(io::Error::other)?).await?;
        socket.set_nodelay(true)?;
        let (input, body) = (Vec::with_capacity(4 * 1024), Vec::new());
        Ok(Self { socket, input, body, chunks: Chunks::default() })
    }

    /// Asks, and reads the whole answer.
    ///
    /// # Errors
    /// When the connection breaks, or the answer is not one.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        let Head { status, end, length, closes } = self.ask(request).await?;
        if let Some(length) = length {
            while self.input.len() < end + length {
                self.read().await?;
            }
            return Ok(Answer { status, body: &self.input[end..end + length], closes });
        }
        self.body.clear();
        let mut at = end;
        while !self.chunks.feed(&self.input[at..], &mut self.body)? {
            at = self.input.len();
            self.read().await?;
        }
        Ok(Answer { status, body: &self.body, closes })
    }

    /// Asks, and reads the head of an answer that comes in chunks; [`Connection::more`] reads on.
    ///
    /// # Errors
    /// When the connection breaks, or the answer is not one.
    pub async fn begin(&mut self, request: &[u8]) -> io::Result<u16> {
        let head = self.ask(request).await?;
        self.input.drain(..head.end);
        Ok(head.status)
    }

    /// The same where there may be no stream: then the whole answer is returned.
    ///
    /// # Errors
    /// When the connection breaks, or the answer is not one.
    pub async fn begin_or_answer(&mut self, request: &[u8]) -> io::Result<Option<(u16, Vec<u8>)>> {
        let Head { status, end, length, .. } = self.ask(request).await?;
        let Some(length) = length else {
            self.input.drain(..end);
            return Ok(None);
        };
        while self.input.len() < end + length {
            self.read().await?;
        }
        Ok(Some((status, self.input[end..end + length].to_vec())))
    }

    /// Waits for more of the body, and puts it behind what is in `body`. False at its end.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn more(&mut self, body: &mut Vec<u8>) -> io::Result<bool> {
        if self.input.is_empty() {
            self.read().await?;
        }
        let ends = self.chunks.feed(&self.input, body)?;
        self.input.clear();
        Ok(!ends)
    }

    /// How many chunks came since the exchange began.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.chunks.count
    }

    async fn ask(&mut self, request: &[u8]) -> io::Result<Head> {
        self.input.clear();
        self.chunks = Chunks::default();
        self.socket.write_all(request).await?;
        loop {
            self.read().await?;
            if let Some(end) = memmem::find(&self.input, b"\r\n\r\n") {
                return Head::read(&self.input[..end], end + 4);
            }
        }
    }

    async fn read(&mut self) -> io::Result<()> {
        match self.socket.read_buf(&mut self.input).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

impl Head {
    fn read(bytes: &[u8], end: usize) -> io::Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first.split(' ').nth(1).and_then(|it| it.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("no status"))?;
        let mut head = Self { status, end, length: None, closes: false };
        for (name, value) in lines.filter_map(|it| it.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                head.length = value.trim().parse().ok();
            } else if name.eq_ignore_ascii_case("connection") {
                head.closes = value.trim().eq_ignore_ascii_case("close");
            }
        }
        Ok(head)
    }
}

/// Takes a body in chunks apart.
#[derive(Debug, Default)]
struct Chunks {
    state: Within,
    count: u64,
}

#[derive(Clone, Copy, Debug)]
enum Within {
    /// The line that says how long the next chunk is, as far as it was read.
    Size(usize),
    /// A chunk, with this many bytes to come, and the end of its line.
    Chunk(usize),
    /// The line behind a chunk, or behind all of them.
    Line { last: bool },
}

impl Default for Within {
    fn default() -> Self {
        Self::Size(0)
    }
}

impl Chunks {
    /// Puts what is in `input` of the body behind what is in `body`. True at the end of it.
    fn feed(&mut self, mut input: &[u8], body: &mut Vec<u8>) -> io::Result<bool> {
        while let Some((&byte, rest)) = input.split_first() {
            match self.state {
                Within::Chunk(left) => {
                    let (now, later) = input.split_at(left.min(input.len()));
                    body.extend_from_slice(now);
                    input = later;
                    self.state = match left - now.len() {
                        0 => Within::Line { last: false },
                        left => Within::Chunk(left),
                    };
                    continue;
                }
                Within::Size(size) => {
                    self.state = match (byte, char::from(byte).to_digit(16)) {
                        (_, Some(digit)) => Within::Size(size * 16 + digit as usize),
                        (b'\r', _) => Within::Size(size),
                        (b'\n', _) if size == 0 => Within::Line { last: true },
                        (b'\n', _) => {
                            self.count += 1;
                            Within::Chunk(size)
                        }
                        _ => return Err(io::Error::other("not the length of a chunk")),
                    };
                }
                Within::Line { last } => match (byte, last) {
                    (b'\n', true) => return Ok(true),
                    (b'\n', false) => self.state = Within::Size(0),
                    _ => {}
                },
            }
            input = rest;
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_put_together_wherever_they_are_cut() {
        let sent = b"4\r\nabcd\r\n1a\r\nefghijklmnopqrstuvwxyz0123\r\n0\r\n\r\n";
        for cut in 0..sent.len() {
            let (mut chunks, mut body) = (Chunks::default(), Vec::new());
            let (one, two) = sent.split_at(cut);
            assert!(!chunks.feed(one, &mut body).unwrap(), "cut at {cut}");
            assert!(chunks.feed(two, &mut body).unwrap(), "cut at {cut}");
            assert_eq!(body, b"abcdefghijklmnopqrstuvwxyz0123", "cut at {cut}");
            assert_eq!(chunks.count, 2, "cut at {cut}");
        }
    }
}
