//! Where a browser comes back to, on this machine.

use std::time::Duration;

use latimer_protocol::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use url::Url;

use crate::error::Error;

/// How long a browser may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest request that is read, in bytes.
const LONGEST: u64 = 16 * 1024;

const DONE: &str = "You are logged in. This page can be closed.";
const REFUSED: &str = "The login was refused. This page can be closed.";
const UNKNOWN: &str = "This is not the page of a login.";

/// A port of this machine that waits for a login.
pub(super) struct Redirect {
    listener: TcpListener,
    uri: String,
}

impl Redirect {
    pub(super) async fn listen() -> Result<Self, Error> {
        let wrong = |error| Error::Setup(format!("no port to come back to from a login: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        Ok(Self { listener, uri: format!("http://{address}/callback") })
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// The code that a login ends with. Whoever comes without its state is sent away, and waited on
    /// no longer than it takes to say so.
    pub(super) async fn code(self, state: &str) -> Result<Secret, Error> {
        loop {
            let Ok((mut stream, _)) = self.listener.accept().await else { continue };
            let Ok(Some(url)) = timeout(PATIENCE, asked(&mut stream)).await else { continue };
            let said = |name: &str| {
                let mut pairs = url.query_pairs();
                pairs.find(|(it, _)| it == name).map(|(_, value)| value.into_owned())
            };
            if url.path() != "/callback" || said("state").as_deref() != Some(state) {
                answer(&mut stream, "404 Not Found", UNKNOWN).await;
                continue;
            }
            if let Some(code) = said("code") {
                answer(&mut stream, "200 OK", DONE).await;
                return Ok(Secret::new(code));
            }
            answer(&mut stream, "200 OK", REFUSED).await;
            let why = said("error").unwrap_or_else(|| "for no reason given".into());
            let why: String = why.chars().filter(|it| !it.is_control()).take(64).collect();
            return Err(Error::Credentials(format!("the login was refused: {why}")));
        }
    }
}

/// The address that a browser asks for.
async fn asked(stream: &mut TcpStream) -> Option<Url> {
    let mut bytes = Vec::new();
    let mut limited = stream.take(LONGEST);
    while !bytes.windows(4).any(|it| it == b"\r\n\r\n") {
        if limited.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8(bytes).ok()?;
    let mut words = head.lines().next()?.split(' ');
    let path = words.next().filter(|it| *it == "GET").and(words.next())?;
    Url::parse("http://localhost").ok()?.join(path).ok()
}

async fn answer(stream: &mut TcpStream, status: &str, words: &str) {
    let page = format!("<!doctype html><title>Login</title><p>{words}</p>");
    let length = page.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{page}"
    );
    // Whoever has gone does not need the page.
    drop(timeout(PATIENCE, stream.write_all(answer.as_bytes())).await);
}
