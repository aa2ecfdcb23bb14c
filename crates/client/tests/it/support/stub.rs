//! A server that answers with whatever a test wants, and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server that is not one.
pub(crate) struct Stub {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    opened: Arc<AtomicUsize>,
}

/// A request, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl Asked {
    /// A header by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Everything that was sent, for a look at what must not be in it.
    pub(crate) fn all(&self) -> String {
        format!("{} {}\n{}\n{}", self.method, self.path, self.headers, self.body)
    }
}

/// What is answered: the bytes, and whether the connection stays open behind them.
pub(crate) enum Answer {
    Close(String),
    Hang(String),
    /// A stream of this, whose end comes a moment later, and behind it whatever is asked next.
    GoOn(String),
}

impl Answer {
    /// An answer of this status, type and body.
    pub(crate) fn of(status: u16, content_type: &str, body: &str) -> Self {
        Self::with(status, &format!("content-type: {content_type}\r\n"), body)
    }

    /// JSON.
    pub(crate) fn json(body: impl ToString) -> Self {
        Self::of(200, "application/json", &body.to_string())
    }

    /// An answer with these headers, each with its line break.
    pub(crate) fn with(status: u16, headers: &str, body: &str) -> Self {
        Self::Close(format!(
            "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len(),
        ))
    }

    /// A stream that begins like this, and goes on until the connection closes.
    pub(crate) fn stream(body: &str) -> String {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}"
        )
    }
}

impl Stub {
    pub(crate) async fn start(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let opened = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&opened);
        let (answer, log) = (Arc::new(answer), Arc::clone(&asked));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counting.fetch_add(1, Ordering::Relaxed);
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                tokio::spawn(async move {
                    let mut stream = stream;
                    while let Some(request) = read(&mut stream).await {
                        log.lock().unwrap().push(request.clone());
                        if !give(&mut stream, answer(&request)).await {
                            break;
                        }
                    }
                });
            }
        });
        Self { address, asked, opened }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many connections there were.
    pub(crate) fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// Answers; false when the connection is to be closed.
async fn give(stream: &mut TcpStream, answer: Answer) -> bool {
    match answer {
        Answer::Close(bytes) => {
            stream.write_all(bytes.as_bytes()).await.ok();
            false
        }
        Answer::Hang(bytes) => {
            stream.write_all(bytes.as_bytes()).await.ok();
            std::future::pending().await
        }
        Answer::GoOn(events) => {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked";
            let begin = format!("{head}\r\n\r\n{:x}\r\n{events}\r\n", events.len());
            stream.write_all(begin.as_bytes()).await.ok();
            tokio::time::sleep(Duration::from_millis(20)).await;
            stream.write_all(b"0\r\n\r\n").await.is_ok()
        }
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
    let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
    let mut words = line.split(' ').map(str::to_owned);
    let mut asked = Asked {
        method: words.next()?,
        path: words.next()?,
        headers: headers.to_owned(),
        body: String::new(),
    };
    let length = asked.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    asked.body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
    Some(asked)
}
