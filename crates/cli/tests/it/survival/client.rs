//! Minimal JSON-RPC client over plain sockets that detects every cut connection.

use std::net::SocketAddr;
use std::time::Duration;

use latimer_protocol::binding::sse::Decoder;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// The connection was refused or cut, or the server is shutting down. A retry may succeed.
#[derive(Debug)]
pub(super) struct ConnectionLost;

impl From<std::io::Error> for ConnectionLost {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

#[derive(Clone, Debug)]
pub(super) struct Client {
    address: SocketAddr,
}

impl Client {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    pub(super) async fn wait_until_ready(&self) {
        for _ in 0..1_000 {
            if let Ok(mut stream) = self.request("GET", "/ready", "", None).await
                && stream.status == 200
            {
                // Only the status is used, so errors of the body are ignored.
                let _ = stream.read_body().await;
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the server is not ready after 20 s");
    }

    /// Makes one call and returns its result or error.
    pub(super) async fn call(
        &self,
        method: &str,
        params: Value,
    ) -> Result<Result<Value, Value>, ConnectionLost> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut response = self.request("POST", "/a2a", &body.to_string(), None).await?;
        let text = response.read_body().await?;
        let reply: Value = serde_json::from_slice(&text).map_err(|_| ConnectionLost)?;
        Ok(match reply.get("error") {
            Some(error) if error["code"] == -31503 => return Err(ConnectionLost),
            Some(error) => Err(error.clone()),
            None => Ok(reply["result"].clone()),
        })
    }

    /// Repeats a call until it returns a result or an error.
    pub(super) async fn call_with_retry(
        &self,
        method: &str,
        params: Value,
    ) -> Result<Value, Value> {
        for _ in 0..1_000 {
            match self.call(method, params.clone()).await {
                Ok(result) => return result,
                Err(ConnectionLost) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
        panic!("no response to {method}");
    }

    /// Starts an event stream, resuming after an event id if given.
    pub(super) async fn stream(
        &self,
        method: &str,
        params: Value,
        after: Option<&str>,
    ) -> Result<EventStream, ConnectionLost> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.request("POST", "/a2a", &body.to_string(), after).await?;
        Ok(EventStream { response, decoder: Decoder::new(), ready: Vec::new() })
    }

    async fn request(
        &self,
        method: &str,
        path: &str,
        body: &str,
        after: Option<&str>,
    ) -> Result<Response, ConnectionLost> {
        let mut stream = TcpStream::connect(self.address).await?;
        let resume_header = after.map(|it| format!("Last-Event-ID: {it}\r\n")).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nA2A-Version: 1.0\r\n{resume_header}\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            body.len(),
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        Response::read(BufReader::new(stream)).await
    }
}

/// A response whose body has not been read.
struct Response {
    status: u16,
    stream: BufReader<TcpStream>,
    /// Length of the body; `None` if it is chunked.
    length: Option<usize>,
}

impl Response {
    async fn read(mut stream: BufReader<TcpStream>) -> Result<Self, ConnectionLost> {
        let status_line = read_line(&mut stream).await?;
        let status =
            status_line.split(' ').nth(1).and_then(|it| it.parse().ok()).ok_or(ConnectionLost)?;
        let mut length = None;
        loop {
            let header = read_line(&mut stream).await?.to_ascii_lowercase();
            if header.is_empty() {
                return Ok(Self { status, stream, length });
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse().map_err(|_| ConnectionLost)?);
            }
        }
    }

    async fn read_body(&mut self) -> Result<Vec<u8>, ConnectionLost> {
        if let Some(length) = self.length {
            let mut body = vec![0; length];
            self.stream.read_exact(&mut body).await?;
            return Ok(body);
        }
        let mut body = Vec::new();
        while let Some(chunk) = self.read_chunk().await? {
            body.extend(chunk);
        }
        Ok(body)
    }

    /// Returns the next chunk of a chunked body; `None` at its end.
    async fn read_chunk(&mut self) -> Result<Option<Vec<u8>>, ConnectionLost> {
        let size = read_line(&mut self.stream).await?;
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| ConnectionLost)?;
        let mut chunk = vec![0; size];
        self.stream.read_exact(&mut chunk).await?;
        read_line(&mut self.stream).await?;
        Ok(Some(chunk).filter(|it| !it.is_empty()))
    }
}

async fn read_line(stream: &mut BufReader<TcpStream>) -> Result<String, ConnectionLost> {
    let mut line = Vec::new();
    loop {
        match stream.read_u8().await? {
            b'\n' => break,
            byte => line.push(byte),
        }
    }
    let text = String::from_utf8(line).map_err(|_| ConnectionLost)?;
    Ok(text.trim_end_matches('\r').to_owned())
}

/// Events of a stream.
pub(super) struct EventStream {
    response: Response,
    decoder: Decoder,
    ready: Vec<(Option<String>, Value)>,
}

impl EventStream {
    /// Returns the next event with its id; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<(Option<String>, Value)>, ConnectionLost> {
        while self.ready.is_empty() {
            let Some(chunk) = self.response.read_chunk().await? else { return Ok(None) };
            let mut remaining = &chunk[..];
            while let Some(frame) = self.decoder.read(&mut remaining).map_err(|_| ConnectionLost)? {
                let data: Value =
                    serde_json::from_slice(&frame.data).map_err(|_| ConnectionLost)?;
                if data["error"]["code"] == -31503 {
                    return Err(ConnectionLost);
                }
                assert!(data.get("error").is_none(), "{data}");
                self.ready.push((frame.id, data["result"].clone()));
            }
            self.ready.reverse();
        }
        Ok(self.ready.pop())
    }
}
