//! HTTP server with responses that a test defines. Records its requests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A running stub server. Dropping it stops the server.
pub(crate) struct Stub {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
    connection_count: Arc<AtomicUsize>,
    _server: JoinSet<()>,
}

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Bytes of a response, and whether the connection is closed or stays open after them.
pub(crate) enum StubResponse {
    Close(String),
    Hang(String),
    /// Bytes after which the connection takes the next request.
    KeepAlive(String),
}

impl StubResponse {
    /// Creates a response with this status, content type and body.
    pub(crate) fn new(status: u16, content_type: &str, body: &str) -> Self {
        Self::Close(format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
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

    /// Creates an event stream that ends when the connection is closed.
    pub(crate) fn event_stream(events: &[&str]) -> String {
        let events: String = events
            .iter()
            .map(|it| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{it}}}\n\n"))
            .collect();
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}"
        )
    }
}

impl Stub {
    pub(crate) async fn start(
        respond: impl Fn(&RecordedRequest) -> StubResponse + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on_listener(listener, respond)
    }

    pub(crate) fn on_listener(
        listener: TcpListener,
        respond: impl Fn(&RecordedRequest) -> StubResponse + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (respond, request_log) = (Arc::new(respond), Arc::clone(&requests));
        let connection_count = Arc::<AtomicUsize>::default();
        let connection_counter = Arc::clone(&connection_count);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connection_counter.fetch_add(1, Ordering::Relaxed);
                let (respond, request_log) = (Arc::clone(&respond), Arc::clone(&request_log));
                connections.spawn(serve(stream, respond, request_log));
            }
        });
        Self { address, requests, connection_count, _server: server }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn connection_count(&self) -> usize {
        self.connection_count.load(Ordering::Relaxed)
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    respond: Arc<impl Fn(&RecordedRequest) -> StubResponse>,
    request_log: Arc<Mutex<Vec<RecordedRequest>>>,
) {
    while let Some(request) = read_request(&mut stream).await {
        request_log.lock().unwrap().push(request.clone());
        let response = respond(&request);
        let (StubResponse::Close(bytes)
        | StubResponse::Hang(bytes)
        | StubResponse::KeepAlive(bytes)) = &response;
        stream.write_all(bytes.as_bytes()).await.ok();
        match response {
            StubResponse::Close(_) => return,
            StubResponse::Hang(_) => std::future::pending().await,
            StubResponse::KeepAlive(_) => {}
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<RecordedRequest> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    while bytes.len() < end + 4 + length.unwrap_or(0) {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
    Some(RecordedRequest { head, body })
}
