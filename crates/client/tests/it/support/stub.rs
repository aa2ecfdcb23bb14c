//! A server with scripted responses, which records requests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server with scripted responses.
pub(crate) struct Stub {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
    connections: Arc<AtomicUsize>,
}

/// A request as received.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl RecordedRequest {
    /// Returns a header; `name` is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Returns the complete request, to search it for secrets.
    pub(crate) fn full_text(&self) -> String {
        format!("{} {}\n{}\n{}", self.method, self.path, self.headers, self.body)
    }
}

/// Bytes to send, and the state of the connection after them.
pub(crate) enum StubResponse {
    Close(String),
    Hang(String),
    /// The connection takes the next request after these bytes.
    KeepAlive(String),
    /// A stream with these events that ends a moment later, after which the connection takes the
    /// next request.
    ReusableStream(String),
}

impl StubResponse {
    /// Creates a response with this status, type and body.
    pub(crate) fn new(status: u16, content_type: &str, body: &str) -> Self {
        Self::with_headers(status, &format!("content-type: {content_type}\r\n"), body)
    }

    /// Creates a JSON response.
    pub(crate) fn json(body: impl ToString) -> Self {
        Self::new(200, "application/json", &body.to_string())
    }

    /// Creates a response with these headers, each with its line break.
    pub(crate) fn with_headers(status: u16, headers: &str, body: &str) -> Self {
        Self::Close(format!(
            "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len(),
        ))
    }

    /// Creates a response with these headers on a connection that stays open.
    pub(crate) fn keep_alive(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::KeepAlive(format!(
            "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}"
        ))
    }

    /// Creates the head of a stream and its first events; the stream ends with the connection.
    pub(crate) fn stream(body: &str) -> String {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}"
        )
    }
}

impl Stub {
    pub(crate) async fn start(
        respond: impl Fn(&RecordedRequest) -> StubResponse + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let (respond, log) = (Arc::new(respond), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::Relaxed);
                let (respond, log) = (Arc::clone(&respond), Arc::clone(&log));
                tokio::spawn(async move {
                    let mut stream = stream;
                    while let Some(request) = read_request(&mut stream).await {
                        log.lock().unwrap().push(request.clone());
                        if !write_response(&mut stream, respond(&request)).await {
                            break;
                        }
                    }
                });
            }
        });
        Self { address, requests, connections }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of connections.
    pub(crate) fn connection_count(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

/// Sends a response; returns whether the connection takes another request.
async fn write_response(stream: &mut TcpStream, response: StubResponse) -> bool {
    match response {
        StubResponse::Close(bytes) => {
            stream.write_all(bytes.as_bytes()).await.ok();
            false
        }
        StubResponse::KeepAlive(bytes) => stream.write_all(bytes.as_bytes()).await.is_ok(),
        StubResponse::Hang(bytes) => {
            stream.write_all(bytes.as_bytes()).await.ok();
            std::future::pending().await
        }
        StubResponse::ReusableStream(events) => {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked";
            let first_chunk = format!("{head}\r\n\r\n{:x}\r\n{events}\r\n", events.len());
            stream.write_all(first_chunk.as_bytes()).await.ok();
            tokio::time::sleep(Duration::from_millis(20)).await;
            stream.write_all(b"0\r\n\r\n").await.is_ok()
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<RecordedRequest> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
    let mut parts = line.split(' ').map(str::to_owned);
    let mut request = RecordedRequest {
        method: parts.next()?,
        path: parts.next()?,
        headers: headers.to_owned(),
        body: String::new(),
    };
    let length = request.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    while bytes.len() < head_end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    request.body = String::from_utf8_lossy(&bytes[head_end + 4..]).into_owned();
    Some(request)
}
