//! Minimal HTTP/1.1 client. A load generator shares its core with nothing else, so every cost of
//! the client lowers the load it can produce.

use std::io;

use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// Kept-alive connection with one exchange at a time.
#[derive(Debug)]
pub struct Connection {
    socket: TcpStream,
    /// Received bytes, starting at the head of the response.
    input: Vec<u8>,
    /// Decoded body of a chunked response.
    body: Vec<u8>,
    decoder: ChunkDecoder,
}

/// Complete response.
#[derive(Debug)]
pub struct Response<'a> {
    /// HTTP status code.
    pub status: u16,
    /// Decoded body.
    pub body: &'a [u8],
    /// Whether the server will close the connection.
    pub closes_connection: bool,
}

struct ResponseHead {
    status: u16,
    /// Offset of the body in the input.
    body_start: usize,
    length: Option<usize>,
    closes_connection: bool,
}

impl Connection {
    /// Opens a connection; `recv_buffer_bytes` limits the receive buffer of the socket.
    ///
    /// # Errors
    /// Fails if the address is invalid or the server does not accept the connection.
    pub async fn open(address: &str, recv_buffer_bytes: Option<u32>) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = recv_buffer_bytes {
            socket.set_recv_buffer_size(bytes)?;
        }
        let socket = socket.connect(address.parse().map_err(io::Error::other)?).await?;
        socket.set_nodelay(true)?;
        let (input, body) = (Vec::with_capacity(4 * 1024), Vec::new());
        Ok(Self { socket, input, body, decoder: ChunkDecoder::default() })
    }

    /// Sends an encoded request, and reads the complete response.
    ///
    /// # Errors
    /// Fails if the connection breaks or the response is not valid HTTP.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<Response<'_>> {
        let ResponseHead { status, body_start, length, closes_connection } =
            self.send_request(request).await?;
        if let Some(length) = length {
            while self.input.len() < body_start + length {
                self.fill_input().await?;
            }
            return Ok(Response {
                status,
                body: &self.input[body_start..body_start + length],
                closes_connection,
            });
        }
        self.body.clear();
        let mut decoded = body_start;
        while !self.decoder.decode(&self.input[decoded..], &mut self.body)? {
            decoded = self.input.len();
            self.fill_input().await?;
        }
        Ok(Response { status, body: &self.body, closes_connection })
    }

    /// Sends an encoded request, and returns the status of a chunked response.
    /// [`Connection::read_more`] reads its body.
    ///
    /// # Errors
    /// Fails if the connection breaks or the response is not valid HTTP.
    pub async fn start_stream(&mut self, request: &[u8]) -> io::Result<u16> {
        let head = self.send_request(request).await?;
        self.input.drain(..head.body_start);
        Ok(head.status)
    }

    /// Sends an encoded request. Returns `None` if the response is chunked, to be read with
    /// [`Connection::read_more`], and the complete status and body otherwise.
    ///
    /// # Errors
    /// Fails if the connection breaks or the response is not valid HTTP.
    pub async fn start_stream_or_read_response(
        &mut self,
        request: &[u8],
    ) -> io::Result<Option<(u16, Vec<u8>)>> {
        let ResponseHead { status, body_start, length, .. } = self.send_request(request).await?;
        let Some(length) = length else {
            self.input.drain(..body_start);
            return Ok(None);
        };
        while self.input.len() < body_start + length {
            self.fill_input().await?;
        }
        Ok(Some((status, self.input[body_start..body_start + length].to_vec())))
    }

    /// Waits for more of a chunked body, and appends it to `body`. Returns `false` at the end.
    ///
    /// # Errors
    /// Fails if the connection breaks or the encoding is invalid.
    pub async fn read_more(&mut self, body: &mut Vec<u8>) -> io::Result<bool> {
        if self.input.is_empty() {
            self.fill_input().await?;
        }
        let finished = self.decoder.decode(&self.input, body)?;
        self.input.clear();
        Ok(!finished)
    }

    /// Returns the number of chunks received since the last request.
    #[must_use]
    pub fn chunk_count(&self) -> u64 {
        self.decoder.count
    }

    async fn send_request(&mut self, request: &[u8]) -> io::Result<ResponseHead> {
        self.input.clear();
        self.decoder = ChunkDecoder::default();
        self.socket.write_all(request).await?;
        loop {
            self.fill_input().await?;
            if let Some(header_end) = memmem::find(&self.input, b"\r\n\r\n") {
                return ResponseHead::parse(&self.input[..header_end], header_end + 4);
            }
        }
    }

    async fn fill_input(&mut self) -> io::Result<()> {
        match self.socket.read_buf(&mut self.input).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

impl ResponseHead {
    fn parse(bytes: &[u8], body_start: usize) -> io::Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        let mut lines = text.split("\r\n");
        let status_line = lines.next().unwrap_or_default();
        let status = status_line.split(' ').nth(1).and_then(|it| it.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("the response has no status code"))?;
        let mut head = Self { status, body_start, length: None, closes_connection: false };
        for (name, value) in lines.filter_map(|it| it.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                head.length = value.trim().parse().ok();
            } else if name.eq_ignore_ascii_case("connection") {
                head.closes_connection = value.trim().eq_ignore_ascii_case("close");
            }
        }
        Ok(head)
    }
}

/// Decoder of the chunked transfer encoding.
#[derive(Debug, Default)]
struct ChunkDecoder {
    state: ChunkState,
    count: u64,
}

#[derive(Clone, Copy, Debug)]
enum ChunkState {
    /// Within the line with the size of a chunk; contains the size read so far.
    Size(usize),
    /// Within the data of a chunk, with this many bytes remaining.
    Data(usize),
    /// Within the line break after a chunk or after the last chunk.
    LineEnd { last: bool },
}

impl Default for ChunkState {
    fn default() -> Self {
        Self::Size(0)
    }
}

impl ChunkDecoder {
    /// Appends the body bytes in `input` to `body`. Returns whether the body is complete.
    fn decode(&mut self, mut input: &[u8], body: &mut Vec<u8>) -> io::Result<bool> {
        while let Some((&byte, rest)) = input.split_first() {
            match self.state {
                ChunkState::Data(remaining) => {
                    let (data, tail) = input.split_at(remaining.min(input.len()));
                    body.extend_from_slice(data);
                    input = tail;
                    self.state = match remaining - data.len() {
                        0 => ChunkState::LineEnd { last: false },
                        remaining => ChunkState::Data(remaining),
                    };
                    continue;
                }
                ChunkState::Size(size) => {
                    self.state = match (byte, char::from(byte).to_digit(16)) {
                        (_, Some(digit)) => ChunkState::Size(size * 16 + digit as usize),
                        (b'\r', _) => ChunkState::Size(size),
                        (b'\n', _) if size == 0 => ChunkState::LineEnd { last: true },
                        (b'\n', _) => {
                            self.count += 1;
                            ChunkState::Data(size)
                        }
                        _ => return Err(io::Error::other("invalid chunk size")),
                    };
                }
                ChunkState::LineEnd { last } => match (byte, last) {
                    (b'\n', true) => return Ok(true),
                    (b'\n', false) => self.state = ChunkState::Size(0),
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
    fn chunked_body_decodes_across_any_split() {
        let encoded = b"4\r\nabcd\r\n1a\r\nefghijklmnopqrstuvwxyz0123\r\n0\r\n\r\n";
        for cut in 0..encoded.len() {
            let (mut decoder, mut body) = (ChunkDecoder::default(), Vec::new());
            let (one, two) = encoded.split_at(cut);
            assert!(!decoder.decode(one, &mut body).unwrap(), "cut at {cut}");
            assert!(decoder.decode(two, &mut body).unwrap(), "cut at {cut}");
            assert_eq!(body, b"abcdefghijklmnopqrstuvwxyz0123", "cut at {cut}");
            assert_eq!(decoder.count, 2, "cut at {cut}");
        }
    }
}
