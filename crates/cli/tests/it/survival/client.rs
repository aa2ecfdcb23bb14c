//! A small JSON-RPC client over plain sockets, which notices every cut.

use std::net::SocketAddr;
use std::time::Duration;

use latimer_protocol::binding::sse::Decoder;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// Why there is no answer: the connection was refused, or cut. Another try may have more luck.
#[derive(Debug)]
pub(super) struct Cut;

impl From<std::io::Error> for Cut {
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

    pub(super) async fn until_ready(&self) {
        for _ in 0..1_000 {
            if let Ok(mut stream) = self.request("GET", "/ready", "", None).await
                && stream.status == 200
            {
                // Only the status counts.
                let _ = stream.rest().await;
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the server is not ready after 20 s");
    }

    /// One call and its result, or the error it was answered with.
    pub(super) async fn call(
        &self,
        method: &str,
        params: Value,
    ) -> Result<Result<Value, Value>, Cut> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut response = self.request("POST", "/a2a", &body.to_string(), None).await?;
        let text = response.rest().await?;
        let answer: Value = serde_json::from_slice(&text).map_err(|_| Cut)?;
        Ok(match answer.get("error") {
            Some(error) if error["code"] == -31503 => return Err(Cut),
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        })
    }

    /// Tries until there is an answer.
    pub(super) async fn insist(&self, method: &str, params: Value) -> Result<Value, Value> {
        for _ in 0..1_000 {
            match self.call(method, params.clone()).await {
                Ok(answer) => return answer,
                Err(Cut) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
        panic!("no answer to {method}");
    }

    /// A stream of events.
    pub(super) async fn stream(
        &self,
        method: &str,
        params: Value,
        after: Option<&str>,
    ) -> Result<Events, Cut> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.request("POST", "/a2a", &body.to_string(), after).await?;
        Ok(Events { response, decoder: Decoder::new(), ready: Vec::new() })
    }

    async fn request(
        &self,
        method: &str,
        path: &str,
        body: &str,
        after: Option<&str>,
    ) -> Result<Response, Cut> {
        let mut stream = TcpStream::connect(self.address).await?;
        let resume = after.map(|it| format!("Last-Event-ID: {it}\r\n")).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nA2A-Version: 1.0\r\n{resume}\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            body.len(),
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        Response::read(BufReader::new(stream)).await
    }
}

/// A response whose body may still be on its way.
struct Response {
    status: u16,
    stream: BufReader<TcpStream>,
    /// What is left of a body of known length; none for one in chunks.
    length: Option<usize>,
}

impl Response {
    async fn read(mut stream: BufReader<TcpStream>) -> Result<Self, Cut> {
        let first = line(&mut stream).await?;
        let status = first.split(' ').nth(1).and_then(|it| it.parse().ok()).ok_or(Cut)?;
        let mut length = None;
        loop {
            let header = line(&mut stream).await?.to_ascii_lowercase();
            if header.is_empty() {
                return Ok(Self { status, stream, length });
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = Some(value.trim().parse().map_err(|_| Cut)?);
            }
        }
    }

    async fn rest(&mut self) -> Result<Vec<u8>, Cut> {
        if let Some(length) = self.length {
            let mut body = vec![0; length];
            self.stream.read_exact(&mut body).await?;
            return Ok(body);
        }
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend(chunk);
        }
        Ok(body)
    }

    /// The next chunk of a body in chunks; none at its proper end.
    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Cut> {
        let size = line(&mut self.stream).await?;
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| Cut)?;
        let mut chunk = vec![0; size];
        self.stream.read_exact(&mut chunk).await?;
        line(&mut self.stream).await?;
        Ok(Some(chunk).filter(|it| !it.is_empty()))
    }
}

async fn line(stream: &mut BufReader<TcpStream>) -> Result<String, Cut> {
    let mut line = Vec::new();
    loop {
        match stream.read_u8().await? {
            b'\n' => break,
            byte => line.push(byte),
        }
    }
    let text = String::from_utf8(line).map_err(|_| Cut)?;
    Ok(text.trim_end_matches('\r').to_owned())
}

/// The events of a stream.
pub(super) struct Events {
    response: Response,
    decoder: Decoder,
    ready: Vec<(Option<String>, Value)>,
}

impl Events {
    /// The next event with its id; none at the proper end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<(Option<String>, Value)>, Cut> {
        while self.ready.is_empty() {
            let Some(chunk) = self.response.chunk().await? else { return Ok(None) };
            let mut rest = &chunk[..];
            while let Some(frame) = self.decoder.read(&mut rest).map_err(|_| Cut)? {
                let data: Value = serde_json::from_slice(&frame.data).map_err(|_| Cut)?;
                if data["error"]["code"] == -31503 {
                    return Err(Cut);
                }
                assert!(data.get("error").is_none(), "{data}");
                self.ready.push((frame.id, data["result"].clone()));
            }
            self.ready.reverse();
        }
        Ok(self.ready.pop())
    }
}
