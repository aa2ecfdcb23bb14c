//! Where a browser comes back to, on this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use http::Uri;
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

/// Where a browser comes back to unless it is said.
const USUAL: &str = "http://127.0.0.1/callback";

const DONE: &str = "You are logged in. This page can be closed.";
const REFUSED: &str = "The login was refused. This page can be closed.";
const UNKNOWN: &str = "This is not the page of a login.";

/// A port of this machine that waits for a login.
pub(super) struct Redirect {
    listener: TcpListener,
    uri: String,
    path: String,
}

impl Redirect {
    /// Waits at an address of this machine, or at a free port of it.
    pub(super) async fn listen(at: Option<&str>) -> Result<Self, Error> {
        let place = Place::read(at.unwrap_or(USUAL))?;
        let wrong = |error| Error::Setup(format!("no port to come back to from a login: {error}"));
        let listener = TcpListener::bind((place.address, place.port.unwrap_or(0))).await;
        let listener = listener.map_err(wrong)?;
        let port = listener.local_addr().map_err(wrong)?.port();
        Ok(Self { listener, uri: place.uri(port), path: place.path })
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
            if url.path() != self.path || said("state").as_deref() != Some(state) {
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

/// An address of this machine.
#[derive(Debug)]
struct Place {
    /// As it was written: an authorization server compares it letter by letter.
    text: String,
    /// The host, as it was written.
    host: String,
    address: IpAddr,
    port: Option<u16>,
    path: String,
}

impl Place {
    fn read(text: &str) -> Result<Self, Error> {
        let wrong = || {
            let problem = "the redirect URI is not an http URL of this machine, such as";
            Error::Setup(format!("{problem} http://127.0.0.1:8912/callback"))
        };
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        if uri.scheme_str() != Some("http") || text.contains(['?', '#', '@']) {
            return Err(wrong());
        }
        let host = uri.host().ok_or_else(wrong)?.to_owned();
        let address = match host.as_str() {
            "localhost" | "127.0.0.1" => Ipv4Addr::LOCALHOST.into(),
            "[::1]" => Ipv6Addr::LOCALHOST.into(),
            _ => return Err(wrong()),
        };
        let (port, path) = (uri.port_u16(), uri.path().to_owned());
        Ok(Self { text: text.to_owned(), host, address, port, path })
    }

    /// The address, with a port where none was written.
    fn uri(&self, port: u16) -> String {
        match self.port {
            Some(_) => self.text.clone(),
            None => format!("http://{}:{port}{}", self.host, self.path),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_come_back_to() {
        for (text, want) in [
            ("http://127.0.0.1/callback", Some("http://127.0.0.1:7/callback")),
            ("http://localhost:8912/back", Some("http://localhost:8912/back")),
            ("http://localhost:80/back", Some("http://localhost:80/back")),
            ("http://[::1]:8912", Some("http://[::1]:8912")),
            ("http://[::1]/", Some("http://[::1]:7/")),
            ("https://127.0.0.1:8912/", None),
            ("http://us.example/back", None),
            ("http://0.0.0.0:8912/", None),
            ("http://us@127.0.0.1:8912/", None),
            ("http://127.0.0.1:8912/?a=b", None),
            ("/callback", None),
        ] {
            let got = Place::read(text).map(|it| it.uri(7));
            assert_eq!(got.as_deref().ok(), want, "{text}");
        }
    }
}
