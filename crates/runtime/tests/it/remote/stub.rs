//! A server that answers with whatever a test wants, and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A server that is not one. Dropping it ends it.
pub(crate) struct Stub {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    _serving: JoinSet<()>,
}

/// A request, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Its first line and its headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// What is answered: the bytes, and whether the connection stays open behind them.
pub(crate) enum Answer {
    Close(String),
    Hang(String),
}

impl Answer {
    /// An answer of this status, type and body.
    pub(crate) fn of(status: u16, content_type: &str, body: &str) -> Self {
        Self::Close(format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            body.len(),
        ))
    }

    /// A stream of these events, which ends with its connection.
    pub(crate) fn stream(events: &[&str]) -> String {
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
    pub(crate) async fn start(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::at(listener, answer)
    }

    pub(crate) fn at(
        listener: TcpListener,
        answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answer, log) = (Arc::new(answer), Arc::clone(&asked));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                connections.spawn(serve(stream, answer, log));
            }
        });
        Self { address, asked, _serving: serving }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: Arc<impl Fn(&Asked) -> Answer>,
    log: Arc<Mutex<Vec<Asked>>>,
) {
    let Some(request) = read(&mut stream).await else { return };
    log.lock().unwrap().push(request.clone());
    let answer = answer(&request);
    let (Answer::Close(bytes) | Answer::Hang(bytes)) = &answer;
    stream.write_all(bytes.as_bytes()).await.ok();
    if matches!(answer, Answer::Hang(_)) {
        std::future::pending::<()>().await;
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
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
    Some(Asked { head, body })
}
